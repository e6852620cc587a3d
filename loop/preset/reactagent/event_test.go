package reactagent_test

import (
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/trace"
)

// RA-38: the JSON of each type of event has exactly its own members.
func TestEventJSON(t *testing.T) {
	for _, c := range []struct {
		event reactagent.Event
		want  string
	}{
		{reactagent.Event{Type: "token", Text: "<a>", Name: "x"}, `{"type":"token","text":"<a>"}`},
		{reactagent.Event{Type: "toolStarted", Name: "a", Input: json.RawMessage(`{"n":1}`), ID: "c1"}, `{"type":"toolStarted","name":"a","input":{"n":1},"id":"c1"}`},
		{reactagent.Event{Type: "toolCompleted", Name: "a", Result: json.RawMessage(`"A"`), ID: "c1"}, `{"type":"toolCompleted","name":"a","result":"A","id":"c1"}`},
		{reactagent.Event{Type: "toolCompleted", Name: "a", Result: json.RawMessage(`1`), ID: "c1", IsError: true}, `{"type":"toolCompleted","name":"a","result":1,"id":"c1","isError":true}`},
		{reactagent.Event{Type: "completed"}, `{"type":"completed"}`},
		{reactagent.Event{Type: "failed", Err: errors.New("boom")}, `{"type":"failed","error":"boom"}`},
	} {
		got, err := c.event.MarshalJSON()
		if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.event.Type, err, diff)
		}
	}
}

func seq(bodies ...trace.Body) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for i, b := range bodies {
			ev := trace.Event{Seq: i, Body: b}
			if d, ok := b.(trace.ModelResponse); ok && d.Model == "other" {
				ev.Purpose = trace.PurposeSummary
			}
			if d, ok := b.(trace.ModelDelta); ok && d.Name == "other" {
				ev.Purpose = trace.PurposeSummary
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// lines returns the events that result from bodies.
func lines(t *testing.T, bodies ...trace.Body) []string {
	t.Helper()
	var out []string
	for e := range reactagent.Parts(seq(bodies...)) {
		line, err := e.MarshalJSON()
		if err != nil {
			t.Error(err)
		}
		out = append(out, string(line))
	}
	return out
}

func result(id, text string) llm.ToolResult {
	return llm.ToolResult{ID: id, Name: "a", Content: []llm.Part{llm.Text{Text: text}}}
}

// RA-20: starts are in call order, also for calls with a result but no tool run. RA-28:
// skipped steps and calls that a cancel interrupts have no events. The text of a summary
// has no events.
func TestPartsUnusualSteps(t *testing.T) {
	turn := trace.ModelResponse{Message: llm.Assistant(
		llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"x`}, llm.ToolCall{ID: "c2", Name: "a"}, llm.ToolCall{ID: "c3", Name: "a", Arguments: "{}"},
		llm.ToolCall{ID: "c4", Name: "a"}, llm.ToolCall{ID: "c5", Name: "a", Arguments: "{}"},
	)}
	got := lines(t,
		trace.ModelDelta{Type: trace.DeltaText, Text: "short", Name: "other"}, trace.ModelDelta{Type: trace.DeltaReasoning, Text: "hm"}, turn,
		trace.ModelResponse{Model: "other"},
		trace.ToolSkip{ToolCallID: "c4", Name: "a", Reason: "duplicate", Result: result("c4", "no")},
		trace.ToolSkip{ToolCallID: "c2", Name: "a", Reason: "denied", Result: result("c2", "")},
		trace.ToolSkip{ToolCallID: "c0", Name: "a", Reason: "denied", Result: result("c0", "of no call")},
		trace.ToolStart{ToolCallID: "c1", Name: "a", Arguments: "{}"}, trace.ToolStart{ToolCallID: "c3", Name: "a", Arguments: "{}"},
		trace.ToolEnd{ToolCallID: "c1", Result: result("c1", "one")},
		trace.ToolSkip{ToolCallID: "c5", Name: "a", Reason: "cancelled", Result: result("c5", "no")},
		trace.ToolEnd{ToolCallID: "c3", Result: result("c3", "[3]")},
		trace.RunEnd{Error: &trace.Error{Message: "boom"}},
	)
	want := []string{
		`{"type":"toolStarted","name":"a","input":{},"id":"c1"}`,
		`{"type":"toolStarted","name":"a","input":{},"id":"c2"}`,
		`{"type":"toolCompleted","name":"a","result":"","id":"c2"}`,
		`{"type":"toolStarted","name":"a","input":{},"id":"c3"}`,
		`{"type":"toolCompleted","name":"a","result":"one","id":"c1"}`,
		`{"type":"toolCompleted","name":"a","result":[3],"id":"c3"}`,
		`{"type":"failed","error":"boom"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// RA-20: each call starts and ends, whatever its outcome or the reason for its result is.
func TestPartsOfEachOutcome(t *testing.T) {
	turn := trace.ModelResponse{Message: llm.Assistant(llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"n":1}`})}
	failed := result("c1", "no")
	failed.IsError = true
	want := []string{`{"type":"toolStarted","name":"a","input":{"n":1},"id":"c1"}`, `{"type":"toolCompleted","name":"a","result":"no","id":"c1","isError":true}`}
	for _, outcome := range []trace.Outcome{trace.OutcomeError, trace.OutcomePanic, trace.OutcomeTimeout, trace.OutcomeCanceled, trace.OutcomeNotRun} {
		got := lines(t, turn, trace.ToolStart{ToolCallID: "c1", Name: "a", Arguments: `{"n":1}`}, trace.ToolEnd{ToolCallID: "c1", Outcome: outcome, Result: failed})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", outcome, diff)
		}
	}
	for _, reason := range []string{trace.SkipUnknownTool, trace.SkipMalformedArguments, trace.SkipInvalidArguments, trace.SkipTruncated, trace.SkipDenied, "answered"} {
		got := lines(t, turn, trace.ToolSkip{ToolCallID: "c1", Name: "a", Reason: reason, Result: failed})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", reason, diff)
		}
	}
}

// A call with a result but no tool run starts and ends, also as the first call of its
// step.
func TestPartsSkippedCall(t *testing.T) {
	turn := trace.ModelResponse{Message: llm.Assistant(llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"n":1}`})}
	got := lines(t, turn, trace.ToolSkip{ToolCallID: "c1", Name: "a", Reason: "denied", Result: result("c1", "no")})
	want := []string{`{"type":"toolStarted","name":"a","input":{"n":1},"id":"c1"}`, `{"type":"toolCompleted","name":"a","result":"no","id":"c1"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Waiting events of a step do not affect the next step, even if its call ids are equal.
func TestPartsTwoSteps(t *testing.T) {
	turn := trace.ModelResponse{Message: llm.Assistant(llm.ToolCall{ID: "c1", Name: "a"}, llm.ToolCall{ID: "c2", Name: "b"})}
	start := func(id, name, args string) trace.Body {
		return trace.ToolStart{ToolCallID: id, Name: name, Arguments: args}
	}
	got := lines(t, turn, start("c1", "a", "1"), start("c2", "b", "2"), turn, start("c2", "b", "3"), start("c1", "a", "4"))
	event := func(name, args, id string) string {
		return `{"type":"toolStarted","name":"` + name + `","input":` + args + `,"id":"` + id + `"}`
	}
	want := []string{event("a", "1", "c1"), event("b", "2", "c2"), event("a", "4", "c1"), event("b", "3", "c2")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// No event follows after the caller has stopped the iteration.
func TestPartsStopEarly(t *testing.T) {
	n := 0
	for range reactagent.Parts(seq(trace.ModelDelta{Type: trace.DeltaText, Text: "a"}, trace.ModelDelta{Type: trace.DeltaText, Text: "b"})) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d", n)
	}
}

// A trace without a response, such as a partial trace, does not cause a panic.
func TestPartsWithoutResponse(t *testing.T) {
	got := lines(t, trace.ToolStart{ToolCallID: "c1", Name: "a", Arguments: "{}"}, trace.ToolEnd{ToolCallID: "c1", Result: result("c1", "x")}, trace.RunEnd{})
	if diff := cmp.Diff([]string{`{"type":"toolStarted","name":"a","input":{},"id":"c1"}`, `{"type":"toolCompleted","name":"a","result":"x","id":"c1"}`, `{"type":"completed"}`}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// RA-36: for a trace with the runs of sub-agents, the events are those of the outer run.
// It is completed once.
func TestPartsOfNestedRuns(t *testing.T) {
	turn := trace.ModelResponse{Message: llm.Assistant(llm.ToolCall{ID: "c1", Name: "task"})}
	inner := trace.ModelResponse{Message: llm.Assistant(llm.ToolCall{ID: "c1", Name: "a"})}
	events := []trace.Event{
		{Run: "r1", Body: turn}, {Run: "r1", Body: trace.ToolStart{ToolCallID: "c1", Name: "task", Arguments: "{}"}},
		{Run: "r1/c1", Body: inner}, {Run: "r1/c1", Body: trace.ToolStart{ToolCallID: "c1", Name: "a"}},
		{Run: "r1/c1", Body: trace.ToolEnd{ToolCallID: "c1", Result: result("c1", "x")}}, {Run: "r1/c1", Body: trace.RunEnd{}},
		{Run: "r1", Body: trace.ToolEnd{ToolCallID: "c1", Result: result("c1", "y")}}, {Run: "r1", Body: trace.RunEnd{}},
	}
	var got []string
	for e := range reactagent.Parts(func(yield func(trace.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}) {
		got = append(got, e.Type+" "+e.Name+string(e.Result))
	}
	if diff := cmp.Diff([]string{"toolStarted task", `toolCompleted a"y"`, "completed "}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
