package llm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// TestMissingCalls expects a warning for a finish reason that implies calls if the response has
// no call to run, and for no other finish reason.
func TestMissingCalls(t *testing.T) {
	finish := func(r llm.FinishReason) llm.Event { return llm.Finish{Reason: r} }
	for name, c := range map[string]struct {
		events []llm.Event
		want   []string
	}{
		"no call":             {[]llm.Event{llm.TextDelta{Text: "x"}, finish(llm.FinishToolCalls)}, []string{llm.WarnNoCalls}},
		"nothing at all":      {[]llm.Event{finish(llm.FinishToolCalls)}, []string{llm.WarnNoCalls}},
		"the provider's call": {[]llm.Event{llm.PartDone{Part: llm.ToolCall{ID: "a", ProviderExecuted: true}}, finish(llm.FinishToolCalls)}, []string{llm.WarnNoCalls}},
		"a call":              {[]llm.Event{llm.ToolCallStart{ID: "a"}, llm.ToolCallEnd{ID: "a"}, finish(llm.FinishToolCalls)}, nil},
		"a complete call":     {[]llm.Event{llm.PartDone{Part: llm.ToolCall{ID: "a"}}, finish(llm.FinishToolCalls)}, nil},
		"a call after it":     {[]llm.Event{finish(llm.FinishToolCalls), llm.PartDone{Part: llm.ToolCall{ID: "a"}}}, nil},
		"another reason":      {[]llm.Event{finish(llm.FinishStop)}, nil},
		"another at last":     {[]llm.Event{finish(llm.FinishToolCalls), finish(llm.FinishStop)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var acc llm.Accumulator
			for _, ev := range c.events {
				acc.Add(ev)
			}
			var got []string
			for _, w := range acc.Response().Warnings {
				got = append(got, w.Code)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
