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

// deciding are hooks of which one, at a place, gives a decision the n-th time.
func deciding(place string, n int, d loop.Decision) loop.Policy {
	at := func(here string) (loop.Decision, error) {
		if here == place {
			if n--; n == 0 {
				return d, nil
			}
		}
		return loop.Decision{}, nil
	}
	return policy("p", loop.Hooks{
		BeforeStep: func(context.Context, *loop.StepInfo) (loop.Decision, error) { return at("before") },
		AfterModel: func(context.Context, *loop.StepInfo, *llm.Turn) (loop.Decision, error) { return at("model") },
		Batch:      func(context.Context, *loop.StepInfo, []*loop.Planned) (loop.Decision, error) { return at("batch") },
		AfterStep:  func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) { return at("after") },
	})
}

// A policy's decision has a cause of its own in the trace and in the result, and
// never one that only the loop can see. Whatever it says, the trace holds.
func TestCausesOfDecisions(t *testing.T) {
	causes := map[trace.Cause]trace.Cause{ // given, and as a stop's cause recorded
		"": "policy", "policy": "policy", "own": "own", "budget": "budget", "hand_off": "hand_off", "end_hook": "end_hook", "approval": "approval",
		"calls": "policy", "none": "policy", "cap": "policy", "stop_condition": "policy", "guard": "policy", "client_tools": "policy",
		"forced": "policy", "malformed_call": "policy", "cancel": "policy", "deadline": "policy", "error": "policy", "continued_turn": "policy", "stopped": "policy",
	}
	for given, want := range causes {
		for _, action := range []trace.Action{trace.GoOn, trace.Stop, trace.ForceFinal, trace.Suspend} {
			if action == trace.Suspend && given == "" {
				want = trace.CauseApproval
			}
			for _, place := range []string{"before", "model", "batch", "after"} {
				for n, m := range []llm.Model{inTurn(text("1"), text("2"), text("3")), inTurn(calls("a#1"), calls("a#2"), text("3"), text("4"))} {
					name := fmt.Sprintf("%s %s (%s), time %d", place, action, given, n+1)
					p := deciding(place, n+1, loop.Decision{Action: action, Cause: given, Note: "me"})
					res, events := decided(t, m, p)
					holds(t, name, events)
					if stopped := res.Note == "me"; stopped && res.Stop != want {
						t.Errorf("%s: stop %q, want %q", name, res.Stop, want)
					}
				}
			}
		}
	}
}

// Actions that a hook cannot decide on change nothing.
func TestOtherActions(t *testing.T) {
	for _, action := range []trace.Action{trace.End, trace.Suspend, "odd"} {
		for _, place := range []string{"before", "model", "batch", "after"} {
			name := fmt.Sprintf("%s %s", place, action)
			if name == "batch suspend" {
				continue // which it can
			}
			res, events := decided(t, inTurn(calls("a"), text("done")), deciding(place, 1, loop.Decision{Action: action, Cause: "own"}))
			holds(t, name, events)
			if res.Stop != trace.CauseNone || res.Text != "done" {
				t.Errorf("%s: got %q, stop %q", name, res.Text, res.Stop)
			}
		}
	}
}

// decided runs an agent with a policy, without a look at its goroutines, of which
// there are none: these are many runs.
func decided(t *testing.T, m llm.Model, p loop.Policy) (*loop.Result, []trace.Event) {
	t.Helper()
	var mem trace.Memory
	a := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, MaxSteps: 4, Policies: []loop.Policy{p}, Sink: &mem})
	res, err := a.Run(t.Context(), loop.Ask("go"))
	if err != nil {
		t.Error(err)
	}
	return res, mem.Events()
}

// A turn without calls that a policy goes on from says so with the policy's cause.
func TestCausesOfGoingOn(t *testing.T) {
	for given, want := range map[trace.Cause]trace.Cause{
		"": "end_hook", "continued_turn": "continued_turn", "own": "own", "hand_off": "hand_off", "none": "policy", "calls": "policy", "guard": "policy",
	} {
		var mem trace.Memory
		_, err := held(t, string(given), inTurn(text("1"), text("2")), loop.Config{
			Policies: []loop.Policy{deciding("model", 1, loop.Decision{Action: trace.GoOn, Cause: given, Note: "me", Messages: []llm.Message{llm.User("more")}})}, Sink: &mem,
		})
		got := of[trace.Decision](mem.Events())[0]
		if diff := cmp.Diff(trace.Decision{Action: trace.GoOn, Cause: want, By: "p", Note: "me"}, got); diff != "" || err != nil {
			t.Errorf("%q: %v; decision (-want +got):\n%s", given, err, diff)
		}
	}
}

// Tools that policies offer are such as can be sent, whoever puts them there and
// whatever the call is for.
func TestToolsOfPoliciesAreChecked(t *testing.T) {
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
		"an empty schema": {[]llm.Tool{{Name: "a", Parameters: []byte{}}}, "not a JSON object"},
	} {
		wrap := func(purpose trace.Purpose) loop.Policy {
			return around("mine", func(ctx context.Context, next loop.ModelFunc, call *loop.ModelCall) (*llm.Turn, error) {
				req := *call.Request
				req.Tools = c.tools
				return next(ctx, &loop.ModelCall{Request: &req, Purpose: purpose})
			})
		}
		before := policy("mine", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.Decision, error) {
			s.Request.Tools = c.tools
			return loop.Decision{}, nil
		}})
		for who, p := range map[string]loop.Policy{"a wrap": wrap(trace.PurposeAnswer), "a judge": wrap(trace.PurposeJudge), "before the step": before} {
			_, err := held(t, who+", "+name, model(text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, Policies: []loop.Policy{p}})
			var pe *loop.PolicyError
			switch {
			case c.want == "" && err != nil, c.want != "" && !errors.As(err, &pe):
				t.Errorf("%s, %s: got %v", who, name, err)
			case c.want != "" && pe.Policy != "mine" && pe.Policy != "(before the step)":
				t.Errorf("%s, %s: blamed %s", who, name, pe.Policy)
			case c.want != "" && (!strings.Contains(err.Error(), "its request cannot be sent: ") || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s, %s: got %v, want %q", who, name, err, c.want)
			}
		}
	}
}
