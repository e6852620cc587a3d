package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// deciding returns middleware whose hook at a place returns a decision the n-th time.
func deciding(place string, n int, d loop.Decision) loop.Middleware {
	at := func(here string) (loop.Decision, error) {
		if here == place {
			if n--; n == 0 {
				return d, nil
			}
		}
		return loop.Decision{}, nil
	}
	return named("p", loop.Hooks{
		BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
			d, err := at("before")
			return loop.StepChange{Decision: d}, err
		},
		AfterModel:  func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) { return at("model") },
		BeforeTools: editCalls(func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error) { return at("batch") }),
		AfterStep:   func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) { return at("after") },
	})
}

// The decision of middleware has its own reason in the trace and in the result. It is never a
// reason that is reserved for the loop. The trace contains any other reason unchanged.
func TestDecisionReasons(t *testing.T) {
	causes := map[trace.Reason]trace.Reason{ // given, and as a stop's cause recorded
		"": "middleware", "middleware": "middleware", "own": "own", "budget": "budget", "handoff": "handoff", "end_hook": "end_hook", "approval": "approval",
		"tool_calls": "middleware", "end_turn": "middleware", "max_steps": "middleware", "stop_condition": "middleware", "runaway_guard": "middleware", "client_tools": "middleware",
		"forced": "middleware", "malformed_call": "middleware", "cancel": "middleware", "deadline": "middleware", "error": "middleware", "continued_turn": "middleware", "stopped": "middleware",
	}
	for given, want := range causes {
		for _, action := range []trace.Action{trace.Continue, trace.Stop, trace.ForceFinal, trace.Suspend} {
			if action == trace.Suspend && given == "" {
				want = trace.ReasonApproval
			}
			for _, place := range []string{"before", "model", "batch", "after"} {
				for n, m := range []llm.Model{inTurn(text("1"), text("2"), text("3")), inTurn(calls("a#1"), calls("a#2"), text("3"), text("4"))} {
					name := fmt.Sprintf("%s %s (%s), time %d", place, action, given, n+1)
					p := deciding(place, n+1, loop.Decision{Action: action, Reason: given, Note: "me"})
					res, events := decided(t, m, p)
					checkInvariants(t, name, events)
					if stopped := res.Note == "me"; stopped && res.StopReason != want {
						t.Errorf("%s: stop %q, want %q", name, res.StopReason, want)
					}
				}
			}
		}
	}
}

// Actions that a hook must not return have no effect.
func TestDecisionActions(t *testing.T) {
	for _, action := range []trace.Action{trace.End, trace.Suspend, "odd"} {
		for _, place := range []string{"before", "model", "batch", "after"} {
			name := fmt.Sprintf("%s %s", place, action)
			if name == "batch suspend" {
				continue // which it can
			}
			res, events := decided(t, inTurn(calls("a"), text("done")), deciding(place, 1, loop.Decision{Action: action, Reason: "own"}))
			checkInvariants(t, name, events)
			if res.StopReason != trace.ReasonEndTurn || res.Text != "done" {
				t.Errorf("%s: got %q, stop %q", name, res.Text, res.StopReason)
			}
		}
	}
}

// decided runs an agent with middleware. It does not check for leaked goroutines.
func decided(t *testing.T, m llm.Model, p loop.Middleware) (*loop.Result, []trace.Event) {
	t.Helper()
	var mem trace.Memory
	a := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, MaxSteps: 4, Middleware: []loop.Middleware{p}, Sink: &mem})
	res, err := a.Run(t.Context(), loop.Prompt("go"))
	if err != nil {
		t.Error(err)
	}
	return res, mem.Events()
}

// If middleware continues after a response without calls, the decision has its reason.
func TestContinueReasons(t *testing.T) {
	for given, want := range map[trace.Reason]trace.Reason{
		"": "end_hook", "continued_turn": "continued_turn", "own": "own", "handoff": "handoff", "end_turn": "middleware", "tool_calls": "middleware", "runaway_guard": "middleware",
	} {
		var mem trace.Memory
		_, err := runChecked(t, string(given), inTurn(text("1"), text("2")), loop.Config{
			Middleware: []loop.Middleware{deciding("model", 1, loop.Decision{Action: trace.Continue, Reason: given, Note: "me", Messages: []llm.Message{llm.User("more")}})}, Sink: &mem,
		})
		got := of[trace.Decision](mem.Events())[0]
		if diff := cmp.Diff(trace.Decision{Action: trace.Continue, Reason: want, By: "p", Note: "me"}, got); diff != "" || err != nil {
			t.Errorf("%q: %v; decision (-want +got):\n%s", given, err, diff)
		}
	}
}

// The loop checks the tools that middleware sets, in each hook and for each purpose.
func TestRequestToolsAreChecked(t *testing.T) {
	object := []byte(` {"type":"object"}`)
	for name, c := range map[string]struct {
		tools []llm.Tool
		want  string
	}{
		"none":            {nil, ""},
		"another":         {[]llm.Tool{{Name: "b", Parameters: object}}, ""},
		"without schema":  {[]llm.Tool{{Name: "a"}, {Name: "b"}}, ""},
		"twice":           {[]llm.Tool{{Name: "b"}, {Name: "a"}, {Name: "b"}}, `Tools[2] has the name "b", as one before it`},
		"nameless":        {[]llm.Tool{{Name: "a"}, {}}, "Tools[1] has no name"},
		"a schema of any": {[]llm.Tool{{Name: "a", Parameters: []byte("true")}}, `Tools[0] ("a") has Parameters that are not a JSON object`},
		"a broken schema": {[]llm.Tool{{Name: "a", Parameters: []byte(`{"type"`)}}, "not a JSON object"},
		"builtin":         {[]llm.Tool{{Name: "b", Builtin: object}}, ""},
		"a broken tool":   {[]llm.Tool{{Name: "b", Builtin: []byte(`{"type"`)}}, `Tools[0] ("b") has a Builtin that is not a JSON object`},
		"an empty schema": {[]llm.Tool{{Name: "a", Parameters: []byte{}}}, "not a JSON object"},
	} {
		wrap := func(purpose trace.Purpose) loop.Middleware {
			return around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
				req := *call.Request
				req.Tools = c.tools
				return next(ctx, loop.ModelCall{Request: &req, Purpose: purpose})
			})
		}
		before := named("mine", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			s.Request.Tools = c.tools
			return loop.StepChange{Request: s.Request}, nil
		}})
		for who, p := range map[string]loop.Middleware{"a wrap": wrap(trace.PurposeAnswer), "a grader": wrap(trace.PurposeGrade), "before the step": before} {
			_, err := runChecked(t, who+", "+name, model(text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}})
			var pe *loop.MiddlewareError
			switch {
			case c.want == "" && err != nil, c.want != "" && !errors.As(err, &pe):
				t.Errorf("%s, %s: got %v", who, name, err)
			case c.want != "" && pe.Middleware != "mine" && pe.Middleware != "(before the step)":
				t.Errorf("%s, %s: blamed %s", who, name, pe.Middleware)
			case c.want != "" && (!strings.Contains(err.Error(), "its request cannot be sent: ") || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s, %s: got %v, want %q", who, name, err, c.want)
			}
		}
	}
}
