package loop_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// agentTool is a tool that runs an agent for each input, one after another.
func agentTool(a *loop.Agent, inputs ...loop.Input) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		text := ""
		for _, in := range inputs {
			res, err := a.Run(ctx, in)
			if err != nil {
				return "", err
			}
			text += res.Text
		}
		return text, nil
	}
}

// Runs that tools start are named after the calls that they serve, so that they
// may share a sink, and their canonical trace is the same each time.
func TestNamesOfNestedRuns(t *testing.T) {
	for _, width := range []int{1, 3} {
		clock := fake.NewClock()
		mem := &trace.Memory{}
		inner := func(responses ...fake.Response) *loop.Agent {
			return newAgent(t, inTurn(responses...), loop.Config{Tools: []loop.Tool{echo("echo")}, Sink: mem, Clock: clock})
		}
		named, of2 := loop.Prompt("x"), loop.Prompt("x")
		named.ID, of2.Parent = "mine", &trace.Parent{Run: "other", ToolCallID: "c7"}
		two := tool("two", agentTool(inner(text("a"), text("b"), text("c")), loop.Prompt("x"), named, loop.Prompt("x")))
		calls1 := tool("calls", agentTool(inner(calls("echo"), text("d")), loop.Prompt("x")))
		other := tool("other", agentTool(inner(text("e")), of2))
		deepest := inner(text("f"))
		deeper := newAgent(t, inTurn(calls("in"), text("g")), loop.Config{Tools: []loop.Tool{tool("in", agentTool(deepest, loop.Prompt("x")))}, Sink: mem, Clock: clock})
		deep := tool("deep", agentTool(deeper, loop.Prompt("x")))
		outer := newAgent(t, model(calls("two", "calls", "other", "deep"), calls("echo#e"), text("done")), loop.Config{
			Tools: []loop.Tool{two, calls1, other, deep, echo("echo")}, Sink: mem, Clock: clock, Concurrency: width,
		})
		if _, err := outer.Run(t.Context(), loop.Prompt("go")); err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, "nested", mem.Events())
		parents := map[string]trace.Parent{}
		for _, ev := range mem.Events() {
			if b, ok := ev.Body.(trace.RunStart); ok && b.Parent != nil {
				parents[ev.Run] = *b.Parent
			} else if ok {
				parents[ev.Run] = trace.Parent{}
			}
		}
		want := map[string]trace.Parent{
			"r1": {}, "r1/c1": {Run: "r1", ToolCallID: "c1"}, "mine": {Run: "r1", ToolCallID: "c1"}, "r1/c1.2": {Run: "r1", ToolCallID: "c1"}, "r1/c2": {Run: "r1", ToolCallID: "c2"},
			"other/c7": {Run: "other", ToolCallID: "c7"}, "r1/c4": {Run: "r1", ToolCallID: "c4"}, "r1/c4/c1": {Run: "r1/c4", ToolCallID: "c1"},
		}
		if diff := cmp.Diff(want, parents); diff != "" {
			t.Errorf("concurrency %d: runs and parents (-want +got):\n%s", width, diff)
		}
	}
}

// Without a reader of the outer run, the inner one is like any other.
func TestNamesBelowUnrecordedRun(t *testing.T) {
	mem := &trace.Memory{}
	inner := newAgent(t, inTurn(text("a")), loop.Config{Sink: mem})
	outer := newAgent(t, model(calls("sub"), text("done")), loop.Config{Tools: []loop.Tool{tool("sub", agentTool(inner, loop.Prompt("x")))}})
	if _, err := outer.Run(t.Context(), loop.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	if ev := mem.Events()[0]; ev.Run != "r1" || ev.Body.(trace.RunStart).Parent != nil {
		t.Errorf("got the run %q, %+v", ev.Run, ev.Body)
	}
}

// In a nested run, CallFromContext does not return the call of the outer run.
func TestCallFromContextInNestedRun(t *testing.T) {
	type none struct{}
	seen := map[string]string{}
	note := func(place string, ctx context.Context) {
		c, ok := loop.CallFromContext(ctx)
		if kept := ctx.Value(foreignKey{}); ok != (c.ID != "") || kept != "kept" {
			t.Errorf("%s: got %+v, %t, and the value %v", place, c, ok, kept)
		}
		seen[place] = c.ID
	}
	typed := func(place string, f func(ctx context.Context) (string, error)) loop.Tool {
		x, err := loop.NewTool(place, "", func(ctx context.Context, _ none) (string, error) {
			note(place, ctx)
			return f(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	raw := tool("raw", func(ctx context.Context) (string, error) { note("raw", ctx); return "", nil })
	inner := newAgent(t, model(calls("raw#i1", "typed#i2"), text("a")), loop.Config{
		Tools: []loop.Tool{raw, typed("typed", func(context.Context) (string, error) { return "", nil })}, Clock: fake.NewClock(),
		Middleware: []loop.Middleware{named("p", loop.Hooks{BeforeStep: func(ctx context.Context, _ *loop.StepInfo) (loop.StepChange, error) {
			note("hook", ctx)
			return loop.StepChange{}, ctx.Err()
		}})},
	})
	outer := newAgent(t, model(calls("outer#o1"), text("done")), loop.Config{Tools: []loop.Tool{typed("outer", agentTool(inner, loop.Prompt("x")))}})
	if _, err := outer.Run(context.WithValue(t.Context(), foreignKey{}, "kept"), loop.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"outer": "o1", "hook": "", "raw": "", "typed": "i2"}, seen); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
