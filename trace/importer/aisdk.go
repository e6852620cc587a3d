package importer

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// generated reads a result of generateText of the AI SDK: an object with StepResults as
// its steps (packages/ai/src/generate-text in github.com/vercel/ai), or of the only step.
// Since version 5 a step has its content as a list of parts, before that as text,
// toolCalls and toolResults. What was asked is not in it; if its prompt or its messages
// were put beside, they come first.
func generated(d *jsonio.Dec, run *Run) {
	raw := run.object(d)
	run.Name = nameOf(run.Meta, run.Name)
	run.tell()
	run.ask(valueOf(run.Meta, nil, usual.prompt))
	if steps := run.Meta["steps"]; steps != nil {
		for _, step := range elementsOf(steps) {
			run.Messages = addStep(run.Messages, llm.RoleAssistant, stepParts(step))
		}
	} else {
		run.Messages = addStep(run.Messages, llm.RoleAssistant, stepParts(raw))
	}
	run.Answer = scalar(run.Meta["text"])
	if n := len(run.Messages); run.Answer == "" && n > 0 && run.Messages[n-1].Role == llm.RoleAssistant {
		run.Answer = run.Messages[n-1].Text()
	}
}

// addStep appends what was said in a step, and what its calls came to, as messages.
func addStep(messages []llm.Message, role llm.Role, parts []llm.Part) []llm.Message {
	said, results := separate(parts)
	if said != nil {
		messages = append(messages, llm.Message{Role: role, Parts: said})
	}
	if results != nil {
		messages = append(messages, llm.Message{Role: llm.RoleTool, Parts: results})
	}
	return messages
}

// separate parts what was said from results of tools, which are a message of their own.
func separate(parts []llm.Part) (said, results []llm.Part) {
	for _, p := range parts {
		if _, ok := p.(llm.ToolResult); ok {
			results = append(results, p)
		} else {
			said = append(said, p)
		}
	}
	return said, results
}

// stepParts reads a step.
func stepParts(step json.RawMessage) (parts []llm.Part) {
	content := memberOf(step, "content")
	for _, part := range elementsOf(content) {
		parts = append(parts, sdkPart(part))
	}
	if content != nil {
		return parts
	}
	if text := scalar(memberOf(step, "reasoning")); text != "" {
		parts = append(parts, llm.Reasoning{Text: text})
	}
	if text := scalar(memberOf(step, "text")); text != "" {
		parts = append(parts, llm.Text{Text: text})
	}
	for _, name := range []string{"toolCalls", "toolResults"} {
		for _, part := range elementsOf(memberOf(step, name)) {
			parts = append(parts, sdkPart(part))
		}
	}
	return parts
}

// sdkPart reads a part of a message or a step of the AI SDK. One that llm has no word for
// is kept whole, as the "value" of an llm.Unknown whose own kind begins with "ai-sdk.".
func sdkPart(part json.RawMessage) llm.Part {
	kind := scalar(memberOf(part, "type"))
	text, isText := textOf(either(part, "text", kind)) // the latter for reasoning of version 4
	rest := without(part, "type", "text", kind, "toolCallId", "toolName", "input", "args", "output", "result", "error", "providerExecuted")
	id, name := scalar(memberOf(part, "toolCallId")), scalar(memberOf(part, "toolName"))
	switch {
	case kind == "text" && isText:
		return llm.Text{Text: text, Opaque: rest}
	case kind == "reasoning" && isText:
		return llm.Reasoning{Text: text, Opaque: rest}
	case kind == "tool-call":
		own := string(memberOf(part, "providerExecuted")) == "true"
		return llm.ToolCall{ID: id, Name: name, Arguments: asText(either(part, "input", "args")), ProviderExecuted: own, Opaque: rest}
	case kind == "tool-result":
		return llm.ToolResult{ID: id, Name: name, Content: texts(either(part, "output", "result")), IsError: string(memberOf(part, "isError")) == "true", Opaque: rest}
	case kind == "tool-error":
		return llm.ToolResult{ID: id, Name: name, Content: texts(memberOf(part, "error")), IsError: true, Opaque: rest}
	}
	if m, ok := sdkFile(kind, part); ok {
		return m
	}
	return unknown("ai-sdk."+kind, string(part))
}

// texts returns a value as the content of a result.
func texts(raw json.RawMessage) []llm.Part {
	if raw == nil {
		return nil
	}
	return []llm.Part{llm.Text{Text: asText(raw)}}
}

// either returns the first member that is there.
func either(raw json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		if value := memberOf(raw, name); value != nil {
			return value
		}
	}
	return nil
}

// without returns an object without some members; nil if there are no others.
func without(raw json.RawMessage, names ...string) json.RawMessage {
	var rest opaque
	for key, value := range membersOf(raw) {
		if !slices.Contains(names, key) {
			rest.raw(key, string(value))
		}
	}
	return rest.json()
}
