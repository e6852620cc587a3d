package loop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// A sink of hooks gets the events that a sink of the Input gets, in each combination with other sinks.
func TestHookSink(t *testing.T) {
	for name, other := range map[string]trace.Sink{"alone": nil, "with the sink of the Input": &trace.Memory{}} {
		t.Run(name, func(t *testing.T) {
			clock := fake.NewClock()
			slow := tool("slow", func(ctx context.Context) (string, error) { return "ok", clock.Sleep(ctx, 5) })
			var got trace.Memory
			agent := newAgent(t, model(calls("slow"), text("done")), loop.Config{
				Tools: []loop.Tool{slow}, Clock: clock, Middleware: []loop.Middleware{named("p", loop.Hooks{Sink: &got}), named("q", loop.Hooks{})},
			})
			in := loop.Prompt("go")
			in.Sink = other
			if _, err := agent.Run(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			checkInvariants(t, name, got.Events())
			want := "run.start step.start model.config model.request model.response decision tool.start tool.end step.end " +
				"step.start model.request model.response decision step.end run.end"
			if diff := cmp.Diff(want, kinds(got.Events())); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if end := got.Events()[len(got.Events())-1]; end.At != 5 {
				t.Errorf("the run ends at %v, want 5ns", end.At)
			}
			if memory, ok := other.(*trace.Memory); ok {
				if diff := cmp.Diff(memory.Events(), got.Events()); diff != "" {
					t.Errorf("the sinks differ (-Input +hooks):\n%s", diff)
				}
			}
		})
	}
}

// The sink of hooks makes tools record their runs below their calls, as other sinks do.
func TestHookSinkNests(t *testing.T) {
	var outer, inner trace.Memory
	sub := newAgent(t, model(text("sub")), loop.Config{Middleware: []loop.Middleware{named("p", loop.Hooks{Sink: &inner})}})
	ask := tool("ask", func(ctx context.Context) (string, error) {
		res, err := sub.Run(ctx, loop.Prompt("sub"))
		return res.Text, err
	})
	agent := newAgent(t, model(calls("ask"), text("done")), loop.Config{Tools: []loop.Tool{ask}, Middleware: []loop.Middleware{named("p", loop.Hooks{Sink: &outer})}})
	if _, err := agent.Run(t.Context(), loop.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	call := of[trace.ToolStart](outer.Events())[0]
	want := &trace.Parent{Run: outer.Events()[0].Run, ToolCallID: call.ToolCallID}
	if diff := cmp.Diff(want, of[trace.RunStart](inner.Events())[0].Parent); diff != "" {
		t.Errorf("parent (-want +got):\n%s", diff)
	}
}

// A run that fails before its first hook is called is in the sinks of the middleware before the failure.
func TestHookSinkOfFailedHooks(t *testing.T) {
	var got trace.Memory
	agent := newAgent(t, model(text("x")), loop.Config{Middleware: []loop.Middleware{
		named("first", loop.Hooks{Sink: &got}),
		{Name: "broken", New: func(loop.RunInfo) loop.Hooks { panic("no hooks") }},
	}})
	if _, err := agent.Run(t.Context(), loop.Prompt("go")); err == nil {
		t.Error("no error")
	}
	if got := kinds(got.Events()); got != "run.start decision run.end" {
		t.Errorf("got the events %s", got)
	}
}

func TestHookSinkError(t *testing.T) {
	full := errors.New("full")
	_, events, err := ran(t, model(text("x")), loop.Config{Middleware: []loop.Middleware{
		named("p", loop.Hooks{Sink: trace.SinkFunc(func(trace.Event) error { return full })}),
	}})
	if _, isSink := errors.AsType[*loop.SinkError](err); !isSink || !errors.Is(err, full) {
		t.Errorf("got the error %v, want a SinkError of the sink's", err)
	}
	if got := kinds(events); got != "run.start step.start model.config model.request model.response decision step.end run.end" {
		t.Errorf("got the events %s", got)
	}
}

// RunInfo has the context that the run was started with.
func TestRunInfoContext(t *testing.T) {
	type key struct{}
	var got any
	agent := newAgent(t, model(text("x")), loop.Config{Middleware: []loop.Middleware{{Name: "p", New: func(info loop.RunInfo) loop.Hooks {
		got = info.Context.Value(key{})
		return loop.Hooks{}
	}}}})
	if _, err := agent.Run(context.WithValue(t.Context(), key{}, "v"), loop.Prompt("go")); err != nil || got != "v" {
		t.Errorf("got the value %v, error %v", got, err)
	}
}
