package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

func TestFollow(t *testing.T) {
	sig := json.RawMessage(`{"signature":"s"}`)
	call := llm.ToolCall{ID: "call_1", Name: "a", Arguments: `{"x":1}`}
	other := llm.ToolCall{ID: "call_2", Name: "a", Arguments: `{"x":2}`}
	text := llm.Text{Text: "I will look."}
	thought := llm.Reasoning{Text: "hm", Opaque: sig}
	assistant := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }
	results := llm.ToolResults(llm.ToolResult{ID: "call_1", Content: []llm.Part{text}})
	image := llm.Media{MediaType: "image/png", Data: []byte{1}}
	for name, c := range map[string]struct {
		said llm.Message
		next []llm.Message
		want string // the invariant and what the message has; empty if all is well
	}{
		"echoed":             {assistant(thought, text, call), []llm.Message{assistant(thought, text, call), results}, ""},
		"empty":              {assistant(llm.Text{}), []llm.Message{llm.User("more")}, ""},
		"spaces":             {assistant(text), []llm.Message{assistant(llm.Text{Text: " I will look.\n"}), llm.User("more")}, ""},
		"arguments repaired": {assistant(llm.ToolCall{ID: "call_1", Name: "a", Arguments: `{"x`}), []llm.Message{assistant(llm.ToolCall{ID: "call_1", Name: "a", Arguments: "{}"})}, ""},
		"name repaired":      {assistant(llm.ToolCall{ID: "call_1", Arguments: `{}`}), []llm.Message{assistant(llm.ToolCall{ID: "call_1", Name: "unknown", Arguments: "{}"})}, ""},
		"thoughts omitted":   {assistant(llm.Reasoning{Text: "hm"}, text), []llm.Message{assistant(text)}, ""},
		"nothing":            {assistant(text), nil, `INV-05 the response is missing, which has the text "I will look."`},
		"not echoed":         {assistant(llm.Text{}, call), []llm.Message{results}, `INV-05 the response is missing, which has the call "call_1"`},
		"only thoughts":      {assistant(thought), []llm.Message{llm.User("x")}, "INV-05 the response is missing, which has other content"},
		"call omitted":       {assistant(text, call), []llm.Message{assistant(text)}, "INV-01 the response is sent back with 0 of its 1 calls"},
		"call added":         {assistant(text), []llm.Message{assistant(text, call)}, "INV-01 the response is sent back with 1 calls, but the model made 0"},
		"call renamed":       {assistant(call), []llm.Message{assistant(llm.ToolCall{ID: "call_1", Name: "b", Arguments: `{"x":1}`})}, `INV-05 the response is sent back with the call "call_1" of another tool`},
		"other arguments":    {assistant(call), []llm.Message{assistant(llm.ToolCall{ID: "call_1", Name: "a", Arguments: `{"x":2}`})}, `INV-05 the response is sent back with other arguments of the call "call_1"`},
		"another order":      {assistant(call, text, other), []llm.Message{assistant(text, other, call)}, "INV-05 the response is sent back with its calls in another order"},
		"words moved":        {assistant(call, text, other), []llm.Message{assistant(text, call, other)}, ""},
		"other text":         {assistant(text, call), []llm.Message{assistant(llm.Text{Text: "I"}, call)}, "INV-05 the response is sent back with another text"},
		"other media":        {assistant(image), []llm.Message{assistant(llm.Media{MediaType: "image/png", Data: []byte{2}})}, "INV-05 the response is sent back with other media"},
		"media omitted":      {assistant(text, image), []llm.Message{assistant(text)}, "INV-05 the response is sent back with other media"},
		"signature lost":     {assistant(thought, call), []llm.Message{assistant(call)}, "INV-22 the response is sent back with"},
		"signature moved":    {assistant(thought, call), []llm.Message{assistant(call, thought)}, "INV-22 the response is sent back with"},
		"thought moved":      {assistant(text, thought, call), []llm.Message{assistant(thought, text, call)}, "INV-22 the response is sent back with"},
		"text before it":     {assistant(text, thought, call), []llm.Message{assistant(llm.Text{Text: "I"}, thought, call)}, "INV-05 the response is sent back with another text"},
		"signature, text":    {assistant(thought, text), []llm.Message{assistant(llm.Reasoning{Text: "hm"}, llm.Text{Text: "x"})}, "INV-22 the response is sent back with"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range (&check.List{Run: "r"}).Follow(4, c.said, c.next) {
				if v.Run != "r" || v.Event != 4 || v.Hint == "" {
					t.Errorf("the violation is %+v", v)
				}
				got = append(got, v.Invariant+" "+v.Message)
			}
			switch text := strings.Join(got, "; "); {
			case c.want == "" && text != "", !strings.HasPrefix(text, c.want), len(got) > 1:
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

// Encrypted reasoning of Bedrock that comes back changed is an error, as a signature is.
func TestFollowRedactedReasoning(t *testing.T) {
	redacted := func(data string) llm.Message {
		return llm.Assistant(llm.Reasoning{Opaque: json.RawMessage(`{"reasoningContent":{"redactedContent":"` + data + `"}}`)}, llm.Text{Text: "x"})
	}
	list := check.List{Run: "r", Protocol: "bedrock-converse"}
	if got := list.Follow(1, redacted("AAAA"), []llm.Message{redacted("BBBB")}); len(got) != 1 || got[0].Invariant != "INV-22" || got[0].Note {
		t.Errorf("changed: violations %v, want an error of INV-22", got)
	}
	if got := list.Follow(1, redacted("AAAA"), []llm.Message{redacted("AAAA")}); len(got) != 0 {
		t.Errorf("unchanged: violations %v", got)
	}
}
