package runs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// sample returns a run with one step and two calls.
func sample() []trace.Event {
	event := func(seq, step, attempt int, b trace.Body) trace.Event {
		return trace.Event{Seq: seq, Run: "r1", Step: step, Attempt: attempt, Body: b}
	}
	result := func(id string) trace.ToolEnd {
		return trace.ToolEnd{ToolCallID: id, Outcome: trace.OutcomeOK, Result: llm.ToolResult{ID: id, Name: "get_order", Content: []llm.Part{llm.Text{Text: "pending"}}}}
	}
	call := func(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "get_order", Arguments: "{}"} }
	return []trace.Event{
		event(0, trace.NoStep, 0, trace.RunStart{Clock: trace.ClockVirtual}),
		event(1, 0, 0, trace.StepStart{}),
		event(2, 0, 1, trace.ModelConfig{Model: "m-large"}),
		event(3, 0, 1, trace.ModelRequest{NewMessages: []llm.Message{llm.User("Where is my order?")}}),
		event(4, 0, 1, trace.ModelResponse{Message: llm.Assistant(call("call_0000a"), call("call_0000b"))}),
		event(5, 0, 0, trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls, ToolCalls: 2}),
		event(6, 0, 0, trace.ToolStart{ToolCallID: "call_0000a", Name: "get_order", Arguments: "{}"}),
		event(7, 0, 0, trace.ToolStart{ToolCallID: "call_0000b", Name: "get_order", Arguments: "{}"}),
		event(8, 0, 0, result("call_0000a")),
		event(9, 0, 0, result("call_0000b")),
		event(10, 0, 0, trace.StepEnd{}),
		event(11, trace.NoStep, 0, trace.RunEnd{StopReason: trace.ReasonMaxSteps}),
	}
}

func TestDiff(t *testing.T) {
	evs := sample()
	if d, found := diff(evs, sample()); found {
		t.Errorf("equal runs: %v", d)
	}
	changed := sample()
	changed[8].Body = trace.ToolStart{ToolCallID: "x", Name: "y", Arguments: "{}"}
	d, found := diff(evs, changed)
	if !found || d.Index != 8 || d.A != &evs[8] || d.B != &changed[8] {
		t.Errorf("got %+v, %v, want event 8", d, found)
	}
	shorter := func(s string) string { // the lines' beginnings
		var b strings.Builder
		for line := range strings.Lines(s) {
			b.WriteString(strings.TrimSpace(line[:min(len(line), 30)]) + "\n")
		}
		return b.String()
	}
	want := `run r1, event 8, step 0
decision        0   continue
tool.start      0   call_000
tool.start      0   call_000
- tool.end        0   call_000
- tool.end        0   call_000
- step.end        0
+ tool.start      0   x y {}
+ tool.end        0   call_000
+ step.end        0
`
	if lines := cmp.Diff(want, shorter(d.String())); lines != "" {
		t.Errorf("text (-want +got):\n%s", lines)
	}
	for _, c := range []struct {
		name string
		a, b []trace.Event
		want string
	}{
		{"a has ended", evs[:1], evs[:3], "run r1, event 1, step 0\nrun.start       r1  clock=vi\n+ step.start      0\n+ model.config    0   model=m-\n"},
		{"b is empty", evs[1:2], nil, "run r1, event 1, step 0\n- step.start      r1:0\n"},
		{"at the start, out of steps", evs[:1], evs[1:2], "run r1, event 0\n- run.start       r1  clock=vi\n+ step.start      r1:0\n"},
	} {
		d, found := diff(c.a, c.b)
		if lines := cmp.Diff(c.want, shorter(d.String())); !found || lines != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, found, lines)
		}
		if (d.A == nil) != (d.Index >= len(c.a)) || (d.B == nil) != (d.Index >= len(c.b)) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}
