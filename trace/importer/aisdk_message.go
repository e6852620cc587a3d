package importer

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// The messages of the AI SDK are ModelMessages, which hold parts as their content
// (packages/provider-utils/src/types/content-part.ts in github.com/vercel/ai), and those
// of its user interface, UIMessages, which have parts beside it
// (packages/ai/src/ui/ui-messages.ts): a call of a tool and its result are one part there,
// and a message may go over several steps. Before there were parts, in version 4, they
// had toolInvocations.

// denied is the result of a call that nobody allowed, as the AI SDK tells it the model.
const denied = "Tool execution denied."

// modelPart reads a part of a ModelMessage that is no text; nil is none.
func modelPart(kind string, part json.RawMessage) llm.Part {
	switch kind {
	case "tool-call", "reasoning":
		return sdkPart(part)
	case "tool-result":
		r, ok := sdkPart(part).(llm.ToolResult)
		if output := memberOf(part, "output"); ok && output != nil {
			r.Content, r.IsError = outcome(output)
		}
		return r
	}
	if m, ok := sdkFile(kind, part); ok {
		return m
	}
	return nil
}

// outcome reads what a result says in a ModelMessage, a ToolResultOutput.
func outcome(output json.RawMessage) (content []llm.Part, isError bool) {
	value := memberOf(output, "value")
	switch scalar(memberOf(output, "type")) {
	case "text", "json":
		return texts(value), false
	case "error-text", "error-json":
		return texts(value), true
	case "execution-denied":
		return []llm.Part{llm.Text{Text: cmp.Or(scalar(memberOf(output, "reason")), denied)}}, true
	case "content":
		for _, part := range elementsOf(value) {
			content = append(content, sdkPart(part))
		}
		return content, false
	}
	return texts(output), false
}

// sdkFile reads a part with a file: its content in base64, or where it is.
func sdkFile(kind string, part json.RawMessage) (m llm.Media, ok bool) {
	switch kind {
	case "file", "image", "media", "file-data", "image-data", "file-url", "image-url":
	default:
		return m, false
	}
	url, data := scalar(memberOf(part, "url")), scalar(either(part, "data", "image"))
	mediaType := scalar(either(part, "mediaType", "mimeType"))
	rest := without(part, "type", "url", "data", "image", "mediaType", "mimeType", "filename")
	if made := memberOf(part, "file"); made != nil { // of a result
		data, mediaType = scalar(either(made, "base64", "base64Data")), scalar(either(made, "mediaType", "mimeType"))
		rest = without(part, "type", "file")
	}
	m = picture(cmp.Or(url, data), rest)
	if b, ok := decoded(data); ok && data != "" {
		m.Data, m.URL = b, ""
	}
	m.MediaType, m.Name = cmp.Or(m.MediaType, mediaType), scalar(memberOf(part, "filename"))
	return m, url != "" || data != ""
}

// isShown reports whether what comes next are parts of a UIMessage: other parts, such as
// those of the Gemini API, have no type.
func isShown(d *jsonio.Dec) bool {
	ahead := *d
	return scalar(memberOf(elementOf(json.RawMessage(ahead.Raw()), "0"), "type")) != ""
}

// addShown appends the messages of a UIMessage, of which the first has what is said of
// all. Each step is a message of its own, and the results of its calls are one behind it.
func (c *conversation) addShown(messages []llm.Message, role llm.Role, f fields) []llm.Message {
	before := len(messages)
	var parts []llm.Part
	var text, reasoning string
	step := func() {
		messages = addStep(messages, role, parts)
		parts = nil
	}
	for _, part := range elementsOf(json.RawMessage(f.shown)) {
		if scalar(memberOf(part, "type")) == "step-start" {
			step()
			continue
		}
		for _, p := range uiPart(part) {
			switch p := p.(type) {
			case llm.Text:
				text += p.Text
			case llm.Reasoning:
				reasoning += p.Text
			default: // has no text that stands beside the parts, too
			}
			parts = append(parts, p)
		}
	}
	if f.shown == "" {
		number := ""
		for _, call := range elementsOf(json.RawMessage(f.invocations)) {
			if n := scalar(memberOf(call, "step")); n != number {
				step()
				number = n
			}
			parts = append(parts, invocation(call, scalar(memberOf(call, "toolName")))...)
		}
	}
	step()
	// Version 4 has the texts of the parts as content and reasoning, too.
	if empty(f.content) || text == (llm.Message{Parts: f.content}).Text() {
		f.content = nil
	}
	if reasoning == f.reasoning {
		f.reasoning = ""
	}
	messages = addStep(messages, role, c.parts(f))
	if len(messages) == before {
		messages = append(messages, llm.Message{Role: role})
	}
	messages[before].Opaque = f.rest.json()
	return messages
}

// uiPart reads a part of a UIMessage: a call is one, or two with its result.
func uiPart(part json.RawMessage) []llm.Part {
	kind := scalar(memberOf(part, "type"))
	name, isTool := strings.CutPrefix(kind, "tool-")
	if call := memberOf(part, "toolInvocation"); call != nil { // of version 4
		return invocation(call, scalar(memberOf(call, "toolName")))
	}
	switch {
	case kind == "dynamic-tool":
		return invocation(part, scalar(memberOf(part, "toolName")))
	case isTool:
		return invocation(part, name)
	}
	return []llm.Part{sdkPart(part)}
}

// invocation reads a call of a tool, and its result if it has one.
func invocation(raw json.RawMessage, name string) []llm.Part {
	id := scalar(memberOf(raw, "toolCallId"))
	call := llm.ToolCall{
		ID: id, Name: name, Arguments: asText(either(raw, "input", "rawInput", "args")),
		ProviderExecuted: string(memberOf(raw, "providerExecuted")) == "true",
		Opaque:           without(raw, "type", "toolCallId", "toolName", "input", "rawInput", "args", "output", "result", "errorText", "providerExecuted"),
	}
	result := llm.ToolResult{ID: id, Name: name}
	switch scalar(memberOf(raw, "state")) {
	case "output-available", "result":
		result.Content = texts(either(raw, "output", "result"))
	case "output-error":
		result.Content, result.IsError = texts(memberOf(raw, "errorText")), true
	case "output-denied":
		result.Content, result.IsError = []llm.Part{llm.Text{Text: cmp.Or(scalar(memberOf(raw, "approval", "reason")), denied)}}, true
	default:
		return []llm.Part{call}
	}
	return []llm.Part{call, result}
}
