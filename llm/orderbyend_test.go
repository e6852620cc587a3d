package llm_test

import (
	"slices"
	"testing"

	"github.com/looptape/looptape/llm"
)

// Calls are in the order of their ends, also two. A complete call ends where it comes, also between
// the start and the end of another one.
func TestOrderByEnd(t *testing.T) {
	two := []llm.Event{llm.ToolCallStart{ID: "c1", Name: "a"}, llm.ToolCallStart{ID: "c2", Name: "a"}}
	ends := []llm.Event{llm.ToolCallEnd{ID: "c2"}, llm.ToolCallEnd{ID: "c1"}}
	complete := llm.PartDone{Part: llm.ToolCall{ID: "c3", Name: "a", Arguments: "{}"}}
	for want, events := range map[string][]llm.Event{
		"c2c1":   slices.Concat(two, ends),
		"c3c2c1": slices.Concat(two, []llm.Event{complete}, ends),
	} {
		a := llm.Accumulator{OrderByEnd: true}
		for _, ev := range events {
			a.Add(ev)
		}
		ids := ""
		for _, c := range a.Response().Calls() {
			ids += c.ID
		}
		if ids != want {
			t.Errorf("got %s, want %s, the order of the ends", ids, want)
		}
	}
}
