package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// TestCompleteCall compares a call that arrives as one event with the same call that arrives as
// deltas.
func TestCompleteCall(t *testing.T) {
	same := func(id string) (string, bool) { return id, false }
	opaque := json.RawMessage(`{"s":1}`)
	for name, c := range map[string]struct {
		mint func(string) (string, bool)
		in   llm.ToolCall
		want llm.ToolCall
	}{
		"as it came": {nil, llm.ToolCall{ID: "a", Name: "n", Arguments: `{"x":1}`, Opaque: opaque}, llm.ToolCall{ID: "a", Name: "n", Arguments: `{"x":1}`, Opaque: opaque}},
		"not JSON":   {same, llm.ToolCall{ID: "a", Arguments: `{"x":`}, llm.ToolCall{ID: "a", Arguments: `{"x":`}},
		"repaired":   {same, llm.ToolCall{ID: "a", Arguments: `{"x":1}{"x":1}`}, llm.ToolCall{ID: "a", Arguments: `{"x":1}`}},
		"another id": {func(string) (string, bool) { return "b", false }, llm.ToolCall{ID: "a"}, llm.ToolCall{ID: "b"}},
		"generated":  {func(string) (string, bool) { return "b", true }, llm.ToolCall{ID: "a"}, llm.ToolCall{ID: "b", IDGenerated: true, ProviderID: "a"}},
		"generated again": {
			func(id string) (string, bool) { return id, true }, llm.ToolCall{ID: "a"}, llm.ToolCall{ID: "a", IDGenerated: true, ProviderID: "a"},
		},
		"of a loop's making":         {same, llm.ToolCall{ID: "a", IDGenerated: true}, llm.ToolCall{ID: "a"}},
		"with another provider's id": {same, llm.ToolCall{ID: "a", ProviderID: "p"}, llm.ToolCall{ID: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			acc := llm.Accumulator{NewID: c.mint}
			acc.Add(llm.PartDone{Part: c.in})
			turn := acc.Response()
			if diff := cmp.Diff([]llm.Part{c.want}, turn.Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			acc.Reset()
			acc.Add(llm.TextDelta{Text: "next"})
			if diff := cmp.Diff([]llm.Part{llm.Text{Text: "next"}}, acc.Response().Parts); diff != "" {
				t.Errorf("parts of the next response (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	a, b := llm.ToolCall{ID: "a"}, llm.ToolCall{ID: "b"}
	theirs := llm.ToolCall{ID: "x", ProviderExecuted: true}
	for name, c := range map[string]struct {
		parts []llm.Part
		want  []llm.ToolCall
	}{
		"none":                {nil, nil},
		"only the provider's": {[]llm.Part{llm.Text{}, theirs}, nil},
		"some":                {[]llm.Part{theirs, a, llm.Text{Text: "x"}, b, theirs}, []llm.ToolCall{a, b}},
	} {
		t.Run(name, func(t *testing.T) {
			turn := llm.Response{Parts: c.parts}
			if diff := cmp.Diff(c.want, turn.Calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, turn.Message().Calls()); diff != "" {
				t.Errorf("calls of the message (-want +got):\n%s", diff)
			}
		})
	}
}
