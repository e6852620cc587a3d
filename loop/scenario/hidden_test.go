package scenario_test

import (
	"slices"
	"testing"

	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/scenario"
)

// A scenario of messages with characters that control a terminal or the direction of text, or have no width, has none of
// them, and the same messages.
func TestHiddenCharacters(t *testing.T) {
	for _, text := range []string{
		"a\u202eb", "\u2066", "\x1b[2J", "\u0085 \u2028\u2029", "\ufeffx", "plain\nlines\u200f\n", "  \u202d", "- \u061c", "\u202e: x", "\u009b31m", "a\u200bb\u00ad", "\U000e0061x", "- \u2060",
	} {
		messages := []llm.Message{
			llm.User(text), llm.Assistant(llm.ToolCall{ID: "c1", Name: "find", Arguments: `{"q":"` + "\u202e" + `"}`}),
			{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Text{Text: text}}}}}, llm.Assistant(llm.Text{Text: text}),
		}
		made, err := scenario.FromMessages("r", messages)
		if err != nil {
			t.Fatal(err)
		}
		if at := slices.IndexFunc([]rune(string(made)), visible.Hidden); at >= 0 {
			t.Errorf("%q: the file has %q:\n%s", text, []rune(string(made))[at], made)
		}
		f, err := scenario.Parse("x.txtar", made)
		if err != nil {
			t.Errorf("%q: %v\n%s", text, err, made)
			continue
		}
		if got := f.Script.Input[0].Text(); got != text {
			t.Errorf("the input is %q, want %q", got, text)
		}
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil {
			t.Fatal(err)
		}
		if last := o.Run.Messages[len(o.Run.Messages)-1].Text(); last != text {
			t.Errorf("the last message is %q, want %q", last, text)
		}
	}
}
