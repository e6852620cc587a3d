package llm_test

import (
	"testing"

	"github.com/looptape/looptape/llm"
)

// A complete call ends where it comes, also between the start and the end of another one.
func TestOrderByEndOfCompleteCall(t *testing.T) {
	a := llm.Accumulator{OrderByEnd: true}
	for _, ev := range []llm.Event{
		llm.ToolCallStart{ID: "c1", Name: "a"},
		llm.ToolCallStart{ID: "c2", Name: "a"},
		llm.PartDone{Part: llm.ToolCall{ID: "c3", Name: "a", Arguments: "{}"}},
		llm.ToolCallEnd{ID: "c2"}, llm.ToolCallEnd{ID: "c1"},
	} {
		a.Add(ev)
	}
	ids := ""
	for _, c := range a.Response().Calls() {
		ids += c.ID
	}
	if ids != "c3c2c1" {
		t.Errorf("got %s, want the order of the ends", ids)
	}
}
