package llmtest

import (
	"context"
	"encoding/json"
	"math"

	"github.com/looptape/looptape/llm"
)

// invalidCases send invalid requests. The model may fail or respond, but must not panic or
// hang.
func invalidCases() (all []*testcase) {
	hi := []llm.Message{llm.User("Hi.")}
	list := func(parts ...llm.Part) []llm.Message {
		var messages []llm.Message
		for _, r := range []llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleTool, llm.RoleSystem} {
			messages = append(messages, llm.Message{Role: r, Parts: parts})
		}
		return messages
	}
	notJSON := json.RawMessage("{")
	for _, invalid := range []struct {
		name string
		req  *llm.Request
	}{
		{"no request", nil},
		{"an empty request", &llm.Request{}},
		{"no messages", &llm.Request{Model: modelA}},
		{"an empty message", &llm.Request{Model: modelA, Messages: []llm.Message{{}}}},
		{"messages without parts", &llm.Request{Model: modelA, Messages: list()}},
		{"nil parts", &llm.Request{Model: modelA, Messages: list(nil)}},
		{"empty parts", &llm.Request{Model: modelA, Messages: list(
			llm.Text{}, llm.Reasoning{}, llm.Media{}, llm.ToolCall{}, llm.ToolResult{}, llm.Unknown{},
		)}},
		{"a result with a nil part", &llm.Request{Model: modelA, Messages: list(llm.ToolResult{ID: "call_1", Content: []llm.Part{nil}})}},
		{"opaque data that is not JSON", &llm.Request{Model: modelA, Messages: list(
			llm.Text{Text: "a", Opaque: notJSON}, llm.Reasoning{Text: "b", Opaque: notJSON}, llm.Media{MediaType: "image/png", Data: []byte{1}, Opaque: notJSON},
			llm.ToolCall{ID: "call_1", Name: "f", Arguments: "{", Opaque: notJSON}, llm.ToolResult{ID: "call_1", Opaque: notJSON}, llm.Unknown{Kind: "k", Raw: notJSON},
		)}},
		{"text that is not UTF-8", &llm.Request{Model: modelA, System: llm.SystemText("\xff"), Messages: list(llm.Text{Text: "\xff"}, llm.ToolCall{ID: "\xff", Name: "\xff", Arguments: "\xff"})}},
		{"an unknown role", &llm.Request{Model: modelA, Messages: []llm.Message{{Role: "nobody", Parts: hi[0].Parts}}}},
		{"empty tools", &llm.Request{Model: modelA, Messages: hi, Tools: []llm.Tool{{}, {}, {Name: "f", Parameters: notJSON}}}},
		{"a choice of an unknown tool", &llm.Request{Model: modelA, Messages: hi, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool}}},
		{"settings out of range", &llm.Request{Model: modelA, Messages: hi, Settings: llm.Settings{
			MaxTokens: -1, Temperature: new(math.NaN()), TopP: new(math.Inf(1)), StopSequences: []string{""}, OutputSchema: notJSON,
		}}},
		{"extra that is not JSON", &llm.Request{Model: modelA, Messages: hi, Extra: map[string]json.RawMessage{"": notJSON, "model": nil}}},
		{"a model name that is not a path", &llm.Request{Model: "a/../b?c=\x00 %zz", Messages: hi}},
	} {
		text := content{parts: []llm.Part{someText}}.script(0)
		all = append(all, &testcase{property: NoPanic, name: invalid.name, script: map[string]Response{modelA: text, modelB: text}, do: func(w *caseRun) {
			w.stream(context.Background(), invalid.req, nil)
			if invalid.req != nil {
				again := *invalid.req
				again.ResponseMode = llm.NonStreaming
				w.stream(context.Background(), &again, nil)
			}
			w.complete(w.request(modelB))
		}})
	}
	return all
}
