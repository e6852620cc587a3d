package message

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
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
	f := tree.Fields{Object: part}
	kind, _ := f.Text("type")
	switch kind {
	case "text", "reasoning":
		text, ok := f.Text("text")
		if !ok {
			text, ok = f.Text(kind) // version 4
		}
		if ok && kind == "text" {
			return llm.Text{Text: text, Opaque: f.Rest()}
		}
		if ok {
			return llm.Reasoning{Text: text, Opaque: f.Rest()}
		}
	case "tool-call":
		return llm.ToolCall{ID: f.Scalar("toolCallId"), Name: f.Scalar("toolName"), Arguments: tree.String(f.First("input", "args")), ProviderExecuted: f.IsTrue("providerExecuted"), Opaque: f.Rest()}
	case "tool-result", "tool-error":
		if f.IsTrue("providerExecuted") {
			return Unknown(providerOutput, string(part))
		}
		r := llm.ToolResult{ID: f.Scalar("toolCallId"), Name: f.Scalar("toolName"), IsError: kind == "tool-error" || tree.IsTrue(part, "isError")}
		if kind == "tool-error" {
			r.Content = TextParts(f.First("error"))
		} else {
			r.Content = TextParts(f.First("output", "result"))
		}
		_ = f.First("input", "args") // of the call
		r.Opaque = f.Rest()
		return r
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
			f := tree.Fields{Object: output}
			r.Content, r.IsError = resultOutput(&f)
			r.Opaque = withMember(r.Opaque, "output", f.Rest())
		}
		return r
	}
	if m, ok := sdkFile(kind, part); ok {
		return m
	}
	return nil
}

// resultOutput reads the output of a result of a tool.
func resultOutput(output *tree.Fields) (content []llm.Part, isError bool) {
	value := tree.Member(output.Object, "value")
	kind := tree.Scalar(output.Object, "type")
	switch {
	case kind == "execution-denied":
		_, _ = output.Text("type")
		reason, _ := output.Text("reason")
		return []llm.Part{llm.Text{Text: cmp.Or(reason, executionDenied)}}, true
	case value == nil || !slices.Contains([]string{"text", "json", "error-text", "error-json", "content"}, kind):
		content = TextParts(output.Object)
		output.Object = nil
		return content, false
	}
	_, _ = output.Text("type")
	_ = output.First("value")
	if kind != "content" || value[0] != '[' {
		return TextParts(value), strings.HasPrefix(kind, "error-")
	}
	for _, part := range tree.Elements(value) {
		content = append(content, SDKPart(part))
	}
	return content, false
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
	if !AreStrings(part, "url", "data", "image", "mediaType", "mimeType", "filename") {
		return m, false
	}
	f := tree.Fields{Object: part}
	_, _ = f.Text("type")
	url, data, mediaType := "", "", ""
	if file := tree.Member(part, "file"); len(file) > 0 && file[0] == '{' { // of a result
		inner := tree.Fields{Object: file}
		data, mediaType = inner.Scalar(inner.Name("base64", "base64Data")), inner.Scalar(inner.Name("mediaType", "mimeType"))
		m.Opaque = inner.Rest()
		_ = f.First("file")
	} else {
		url, data = f.Scalar("url"), f.Scalar(f.Name("data", "image"))
		mediaType, m.Name = f.Scalar(f.Name("mediaType", "mimeType")), f.Scalar("filename")
	}
	image := Image(cmp.Or(url, data), withMember(f.Rest(), "file", m.Opaque))
	image.Name, image.MediaType = m.Name, cmp.Or(image.MediaType, mediaType)
	if b, ok := decodeBase64(data); ok && data != "" {
		image.Data, image.URL = b, ""
	}
	return image, url != "" || data != ""
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
	var parts, read []llm.Part
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
			parts, read = append(parts, p), append(read, p)
		}
	}
	if other := otherInvocations(f.invocations, read); f.uiParts != "" && other != nil {
		f.rest.Add("toolInvocations", other.JSON())
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

// otherInvocations returns the invocations whose call or result is not among the parts, which repeat them with all their
// members; nil for none.
func otherInvocations(invocations string, parts []llm.Part) (list tree.List) {
	if invocations == "" {
		return nil
	}
	key := func(p llm.Part) string {
		return Key(p) + jsonval.Canonical(string(tree.Without(llm.PartOpaque(p), "part")))
	}
	keys := map[string]bool{}
	for _, p := range parts {
		keys[key(p)] = true
	}
	for _, raw := range tree.Elements(json.RawMessage(invocations)) {
		if slices.ContainsFunc(invocation(raw, tree.Scalar(raw, "toolName")), func(p llm.Part) bool { return !keys[key(p)] }) {
			list.Add(raw)
		}
	}
	return list
}

// Key returns a string that is equal for two parts that are the same call, or the same result of one.
func Key(p llm.Part) string {
	switch p := p.(type) {
	case llm.ToolCall:
		return strings.Join([]string{"call", p.ID, p.Name, jsonval.Canonical(p.Arguments)}, "\x00")
	case llm.ToolResult:
		key := "result\x00" + p.ID
		for _, content := range p.Content {
			key += "\x00" + Key(content)
		}
		return key
	case llm.Text:
		return jsonval.Canonical(p.Text)
	case llm.Unknown:
		return jsonval.Canonical(string(p.Raw))
	default:
		return ""
	}
}

func uiPart(part json.RawMessage) []llm.Part {
	kind := tree.Scalar(part, "type")
	name, isTool := strings.CutPrefix(kind, "tool-")
	if raw := tree.Member(part, "toolInvocation"); len(raw) > 0 && raw[0] == '{' { // version 4
		parts := invocation(raw, tree.Scalar(raw, "toolName"))
		switch p := parts[0].(type) {
		case llm.ToolCall:
			names := []string{"toolInvocation", "type"}
			if kind != "tool-invocation" {
				names = names[:1]
			}
			p.Opaque = withMember(p.Opaque, "part", tree.Without(part, names...))
			parts[0] = p
		case llm.Unknown:
			parts[0] = Unknown(p.Kind, string(part))
		default: // invocation returns no other part first
		}
		return parts
	}
	switch {
	case kind == "tool-invocation" && tree.Member(part, "toolCallId") == nil: // without its invocation
		return []llm.Part{Unknown("ai-sdk."+kind, string(part))}
	case kind == "dynamic-tool":
		return invocation(part, tree.Scalar(part, "toolName"))
	case isTool:
		return invocation(part, name)
	}
	return []llm.Part{SDKPart(part)}
}

// uiStates are the states of a call (packages/ai/src/ui/ui-messages.ts; the last three of version 4).
var uiStates = []string{
	"input-streaming", "input-available", "approval-requested", "approval-responded", "output-available", "output-error", "output-denied",
	"partial-call", "call", "result",
}

// invocation reads a call of a tool and its result, if it has one. The result of a call that the provider
// runs is content of the assistant, as the AI SDK sends it.
func invocation(raw json.RawMessage, name string) []llm.Part {
	state := tree.Scalar(raw, "state")
	if state != "" && !slices.Contains(uiStates, state) {
		return []llm.Part{Unknown("ai-sdk.state "+state, string(raw))}
	}
	f := tree.Fields{Object: raw}
	_, _ = f.Text("type")
	_ = f.Scalar("toolName")
	call := llm.ToolCall{ID: f.Scalar("toolCallId"), Name: name, Arguments: tree.String(f.First("input", "rawInput", "args")), ProviderExecuted: f.IsTrue("providerExecuted")}
	result := llm.ToolResult{ID: call.ID, Name: name}
	hasResult := true
	var output json.RawMessage
	switch state {
	case "output-available", "result":
		output = f.First("output", "result")
		result.Content = TextParts(output)
	case "output-error":
		output = f.First("errorText")
		result.Content, result.IsError = TextParts(output), true
	case "output-denied":
		result.Content, result.IsError = denied(tree.Member(raw, "approval", "reason")), true
	default:
		hasResult = false
	}
	call.Opaque = f.Rest()
	switch {
	case call.ProviderExecuted && output != nil:
		var o tree.Object
		o.Text("toolCallId", call.ID)
		o.Add("output", output)
		return []llm.Part{call, Unknown(providerOutput, string(o.JSON()))}
	case !call.ProviderExecuted && hasResult:
		return []llm.Part{call, result}
	}
	return []llm.Part{call}
}
