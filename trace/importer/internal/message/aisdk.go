package message

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// The AI SDK (github.com/vercel/ai) has two forms of messages. A ModelMessage has parts as
// its content (packages/provider-utils/src/types/content-part.ts). A UIMessage has parts in
// a member of their own (packages/ai/src/ui/ui-messages.ts): a call and its result are one
// part, and a message may have several steps. Version 4 had toolInvocations before parts.

// executionDenied is the result that the AI SDK sends for a call that was not approved.
const executionDenied = "Tool execution denied."

// SDKPart reads a part of a message or a step of the AI SDK. A part of a kind that llm does
// not have is kept whole; see [Unknown].
func SDKPart(part json.RawMessage) llm.Part {
	kind := tree.Scalar(part, "type")
	text, isText := tree.Text(tree.First(part, "text", kind)) // version 4 has the kind for reasoning
	rest := tree.Without(part, "type", "text", kind, "toolCallId", "toolName", "input", "args", "output", "result", "error", "providerExecuted")
	id, name := tree.Scalar(part, "toolCallId"), tree.Scalar(part, "toolName")
	switch {
	case kind == "text" && isText:
		return llm.Text{Text: text, Opaque: rest}
	case kind == "reasoning" && isText:
		return llm.Reasoning{Text: text, Opaque: rest}
	case kind == "tool-call":
		return llm.ToolCall{ID: id, Name: name, Arguments: tree.String(tree.First(part, "input", "args")), ProviderExecuted: tree.IsTrue(part, "providerExecuted"), Opaque: rest}
	case kind == "tool-result":
		return llm.ToolResult{ID: id, Name: name, Content: TextParts(tree.First(part, "output", "result")), IsError: tree.IsTrue(part, "isError"), Opaque: rest}
	case kind == "tool-error":
		return llm.ToolResult{ID: id, Name: name, Content: TextParts(tree.Member(part, "error")), IsError: true, Opaque: rest}
	}
	if m, ok := sdkFile(kind, part); ok {
		return m
	}
	return Unknown("ai-sdk."+kind, string(part))
}

// TextParts returns a value as the content of a result; nil for nil.
func TextParts(raw json.RawMessage) []llm.Part {
	if raw == nil {
		return nil
	}
	return []llm.Part{llm.Text{Text: tree.String(raw)}}
}

// AddStep appends the parts of a step as a message, and the results of its calls as another.
func AddStep(messages []llm.Message, role llm.Role, parts []llm.Part) []llm.Message {
	others, results := Separate(parts)
	if others != nil {
		messages = append(messages, llm.Message{Role: role, Parts: others})
	}
	if results != nil {
		messages = append(messages, llm.Message{Role: llm.RoleTool, Parts: results})
	}
	return messages
}

// Separate returns the results of tools, which are a message of their own, and the others.
func Separate(parts []llm.Part) (others, results []llm.Part) {
	for _, p := range parts {
		if _, ok := p.(llm.ToolResult); ok {
			results = append(results, p)
		} else {
			others = append(others, p)
		}
	}
	return others, results
}

// modelPart reads a part of a ModelMessage that is not a text; nil if it is of no kind of
// the AI SDK.
func modelPart(kind string, part json.RawMessage) llm.Part {
	switch kind {
	case "tool-call", "reasoning":
		return SDKPart(part)
	case "tool-result":
		r, ok := SDKPart(part).(llm.ToolResult)
		if output := tree.Member(part, "output"); ok && output != nil {
			r.Content, r.IsError = resultOutput(output)
		}
		return r
	}
	if m, ok := sdkFile(kind, part); ok {
		return m
	}
	return nil
}

func resultOutput(output json.RawMessage) (content []llm.Part, isError bool) {
	value := tree.Member(output, "value")
	switch tree.Scalar(output, "type") {
	case "text", "json":
		return TextParts(value), false
	case "error-text", "error-json":
		return TextParts(value), true
	case "execution-denied":
		return denied(tree.Member(output, "reason")), true
	case "content":
		for _, part := range tree.Elements(value) {
			content = append(content, SDKPart(part))
		}
		return content, false
	}
	return TextParts(output), false
}

func denied(reason json.RawMessage) []llm.Part {
	return []llm.Part{llm.Text{Text: cmp.Or(tree.Scalar(reason), executionDenied)}}
}

// sdkFile reads a part with a file: its content in base64, or its URL.
func sdkFile(kind string, part json.RawMessage) (m llm.Media, ok bool) {
	switch kind {
	case "file", "image", "media", "file-data", "image-data", "file-url", "image-url":
	default:
		return m, false
	}
	url, data := tree.Scalar(part, "url"), tree.Scalar(tree.First(part, "data", "image"))
	mediaType := tree.Scalar(tree.First(part, "mediaType", "mimeType"))
	rest := tree.Without(part, "type", "url", "data", "image", "mediaType", "mimeType", "filename")
	if file := tree.Member(part, "file"); file != nil { // of a result
		data, mediaType = tree.Scalar(tree.First(file, "base64", "base64Data")), tree.Scalar(tree.First(file, "mediaType", "mimeType"))
		rest = tree.Without(part, "type", "file")
	}
	m = Image(cmp.Or(url, data), rest)
	if b, ok := decodeBase64(data); ok && data != "" {
		m.Data, m.URL = b, ""
	}
	m.MediaType, m.Name = cmp.Or(m.MediaType, mediaType), tree.Scalar(part, "filename")
	return m, url != "" || data != ""
}

// isUI reports whether the next value is the parts of a UIMessage. Parts of the Gemini API
// have no type.
func isUI(d *jsonio.Dec) bool {
	ahead := *d
	return tree.Scalar(tree.Element(json.RawMessage(ahead.Raw()), "0"), "type") != ""
}

// addUI appends the messages of a UIMessage: one for each step, followed by one with the
// results of its calls. The first has the other members of the UIMessage.
func (r *Reader) addUI(messages []llm.Message, role llm.Role, f fields) []llm.Message {
	before := len(messages)
	var parts []llm.Part
	var text, reasoning string
	endStep := func() {
		messages = AddStep(messages, role, parts)
		parts = nil
	}
	for _, part := range tree.Elements(json.RawMessage(f.uiParts)) {
		if tree.Scalar(part, "type") == "step-start" {
			endStep()
			continue
		}
		for _, p := range uiPart(part) {
			switch p := p.(type) {
			case llm.Text:
				text += p.Text
			case llm.Reasoning:
				reasoning += p.Text
			default: // only texts are repeated outside the parts
			}
			parts = append(parts, p)
		}
	}
	if f.uiParts == "" {
		step := ""
		for _, call := range tree.Elements(json.RawMessage(f.invocations)) {
			if n := tree.Scalar(call, "step"); n != step {
				endStep()
				step = n
			}
			parts = append(parts, invocation(call, tree.Scalar(call, "toolName"))...)
		}
	}
	endStep()
	// Version 4 repeats the texts of the parts as content and reasoning.
	if isEmpty(f.content) || text == (llm.Message{Parts: f.content}).Text() {
		f.content = nil
	}
	if reasoning == f.reasoning {
		f.reasoning = ""
	}
	messages = AddStep(messages, role, r.parts(f))
	if len(messages) == before {
		messages = append(messages, llm.Message{Role: role})
	}
	messages[before].Opaque = f.rest.JSON()
	return messages
}

func uiPart(part json.RawMessage) []llm.Part {
	kind := tree.Scalar(part, "type")
	name, isTool := strings.CutPrefix(kind, "tool-")
	if call := tree.Member(part, "toolInvocation"); call != nil { // version 4
		return invocation(call, tree.Scalar(call, "toolName"))
	}
	switch {
	case kind == "dynamic-tool":
		return invocation(part, tree.Scalar(part, "toolName"))
	case isTool:
		return invocation(part, name)
	}
	return []llm.Part{SDKPart(part)}
}

// invocation reads a call of a tool and its result, if it has one.
func invocation(raw json.RawMessage, name string) []llm.Part {
	id := tree.Scalar(raw, "toolCallId")
	call := llm.ToolCall{
		ID: id, Name: name, Arguments: tree.String(tree.First(raw, "input", "rawInput", "args")),
		ProviderExecuted: tree.IsTrue(raw, "providerExecuted"),
		Opaque:           tree.Without(raw, "type", "toolCallId", "toolName", "input", "rawInput", "args", "output", "result", "errorText", "providerExecuted"),
	}
	result := llm.ToolResult{ID: id, Name: name}
	switch tree.Scalar(raw, "state") {
	case "output-available", "result":
		result.Content = TextParts(tree.First(raw, "output", "result"))
	case "output-error":
		result.Content, result.IsError = TextParts(tree.Member(raw, "errorText")), true
	case "output-denied":
		result.Content, result.IsError = denied(tree.Member(raw, "approval", "reason")), true
	default:
		return []llm.Part{call}
	}
	return []llm.Part{call, result}
}
