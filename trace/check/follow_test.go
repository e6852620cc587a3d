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
	says := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }
	results := llm.ToolResults(llm.ToolResult{ID: "call_1", Content: []llm.Part{text}})
	image := llm.Media{MediaType: "image/png", Data: []byte{1}}
	for name, c := range map[string]struct {
		said llm.Message
		next []llm.Message
		want string // the invariant and what the message has; empty if all is well
	}{
		"echoed":             {says(thought, text, call), []llm.Message{says(thought, text, call), results}, ""},
		"empty":              {says(llm.Text{}), []llm.Message{llm.User("more")}, ""},
		"spaces":             {says(text), []llm.Message{says(llm.Text{Text: " I will look.\n"}), llm.User("more")}, ""},
		"arguments repaired": {says(llm.ToolCall{ID: "call_1", Name: "a", Arguments: `{"x`}), []llm.Message{says(llm.ToolCall{ID: "call_1", Name: "a", Arguments: "{}"})}, ""},
		"name repaired":      {says(llm.ToolCall{ID: "call_1", Arguments: `{}`}), []llm.Message{says(llm.ToolCall{ID: "call_1", Name: "unknown", Arguments: "{}"})}, ""},
		"thoughts omitted":   {says(llm.Reasoning{Text: "hm"}, text), []llm.Message{says(text)}, ""},
		"nothing":            {says(text), nil, `INV-05 the response is missing, which has the text "I will look."`},
		"not echoed":         {says(llm.Text{}, call), []llm.Message{results}, `INV-05 the response is missing, which has the call "call_1"`},
		"only thoughts":      {says(thought), []llm.Message{llm.User("x")}, "INV-05 the response is missing, which has other content"},
		"call omitted":       {says(text, call), []llm.Message{says(text)}, "INV-01 the response is sent back with 0 of its 1 calls"},
		"call added":         {says(text), []llm.Message{says(text, call)}, "INV-01 the response is sent back with 1 calls, but the model made 0"},
		"call renamed":       {says(call), []llm.Message{says(llm.ToolCall{ID: "call_1", Name: "b", Arguments: `{"x":1}`})}, `INV-05 the response is sent back with the call "call_1" of another tool`},
		"other arguments":    {says(call), []llm.Message{says(llm.ToolCall{ID: "call_1", Name: "a", Arguments: `{"x":2}`})}, `INV-05 the response is sent back with other arguments of the call "call_1"`},
		"another order":      {says(call, text, other), []llm.Message{says(text, other, call)}, "INV-05 the response is sent back with its calls in another order"},
		"words moved":        {says(call, text, other), []llm.Message{says(text, call, other)}, ""},
		"other text":         {says(text, call), []llm.Message{says(llm.Text{Text: "I"}, call)}, "INV-05 the response is sent back with another text"},
		"other media":        {says(image), []llm.Message{says(llm.Media{MediaType: "image/png", Data: []byte{2}})}, "INV-05 the response is sent back with other media"},
		"media omitted":      {says(text, image), []llm.Message{says(text)}, "INV-05 the response is sent back with other media"},
		"signature lost":     {says(thought, call), []llm.Message{says(call)}, "INV-22 the response is sent back with"},
		"signature moved":    {says(thought, call), []llm.Message{says(call, thought)}, "INV-22 the response is sent back with"},
		"thought moved":      {says(text, thought, call), []llm.Message{says(thought, text, call)}, "INV-22 the response is sent back with"},
		"text before it":     {says(text, thought, call), []llm.Message{says(llm.Text{Text: "I"}, thought, call)}, "INV-05 the response is sent back with another text"},
		"signature, text":    {says(thought, text), []llm.Message{says(llm.Reasoning{Text: "hm"}, llm.Text{Text: "x"})}, "INV-22 the response is sent back with"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range check.NewList("r").Follow(4, c.said, c.next) {
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
