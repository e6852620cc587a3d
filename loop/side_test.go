package loop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// summary returns a model call for a summary.
func summary(m llm.Model) loop.ModelCall {
	return loop.ModelCall{Purpose: trace.PurposeSummary, Model: m, Request: &llm.Request{Messages: []llm.Message{llm.User("sum up")}}}
}

// Middleware calls a model in each hook before and after the model call. The trace contains
// the calls, their usage counts, and the run does not get their responses.
func TestCallModel(t *testing.T) {
	for _, where := range []string{"BeforeStep", "AfterModel", "Batch", "AfterStep"} {
		other := inTurn(fake.Response{Text: "short", Usage: llm.Usage{InputTokens: 3, OutputTokens: 1}}, fake.Response{Text: "shorter"})
		var got []string
		ask := func(at string, ctx context.Context, s *loop.StepInfo) error {
			if at != where || s.Step > 0 {
				return nil
			}
			var responses [2]*llm.Response // which the policy may keep
			for i := range responses {
				response, err := s.CallModel(ctx, summary(other))
				if err != nil {
					return err
				}
				responses[i] = response
			}
			got = append(got, responses[0].Text(), responses[1].Text())
			return nil
		}
		p := named("p", loop.Hooks{
			BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				return loop.StepChange{}, ask("BeforeStep", ctx, s)
			},
			AfterModel: func(ctx context.Context, s *loop.StepInfo, response *llm.Response) (loop.Decision, error) {
				defer func() { got = append(got, response.Text()) }()
				return loop.Decision{}, ask("AfterModel", ctx, s)
			},
			BeforeTools: editCalls(func(ctx context.Context, s *loop.StepInfo, _ []*loop.PlannedCall) (loop.Decision, error) {
				return loop.Decision{}, ask("Batch", ctx, s)
			}),
			AfterStep: func(ctx context.Context, s *loop.StepInfo, _ *loop.Step) (loop.Decision, error) {
				return loop.Decision{}, ask("AfterStep", ctx, s)
			},
		})
		first := calls("a")
		first.Text = "let me see"
		res, err := runChecked(t, where, model(first, text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}})
		want := []string{"let me see", "short", "shorter", "done"}
		if where == "BeforeStep" || where == "AfterModel" {
			want = []string{"short", "shorter", "let me see", "done"}
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || res.ModelCalls != 4 || res.UsageBy[trace.PurposeSummary].InputTokens != 3 || len(res.Messages) != 3 {
			t.Errorf("%s: got %+v, %v; texts (-want +got):\n%s", where, res, err, diff)
		}
	}
}

// If the call of middleware begins a step and a later hook stops the run, the step ends.
func TestCallModelThenStop(t *testing.T) {
	for name, want := range map[string]string{
		"stop":   "run.start step.start model.config model.request model.response decision step.end run.end",
		"error":  "run.start step.start model.config model.request model.response decision step.end run.end",
		"cancel": "run.start step.start model.config model.request model.response cancelled decision step.end run.end",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first := named("first", loop.Hooks{BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			_, err := s.CallModel(ctx, summary(model(text("x"))))
			return loop.StepChange{}, err
		}})
		second := named("second", loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
			switch name {
			case "stop":
				return loop.StepChange{Decision: loop.Decision{Action: trace.Stop, Reason: "enough"}}, nil
			case "error":
				return loop.StepChange{}, errors.New("boom")
			}
			cancel()
			return loop.StepChange{}, nil
		}})
		var mem trace.Memory
		a := newAgent(t, model(), loop.Config{Middleware: []loop.Middleware{first, second}, Sink: &mem})
		res, err := a.Run(ctx, loop.Prompt("go"))
		checkInvariants(t, name, mem.Events())
		if got := kinds(mem.Events()); got != want || (err == nil) != (name == "stop") || res.ModelCalls != 1 {
			t.Errorf("%s: got %s, %+v, %v", name, got, res, err)
		}
	}
}

// A model call by middleware is retried like the calls for the response.
func TestCallModelRetries(t *testing.T) {
	passing := fake.Response{Error: &fake.Failure{Status: 429}}
	other := inTurn(passing, text("short"))
	p := named("p", loop.Hooks{BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		response, err := s.CallModel(ctx, summary(other))
		if err == nil && response.Text() != "short" {
			err = errors.New(response.Text())
		}
		return loop.StepChange{}, err
	}})
	clock := fake.NewClock()
	res, err := runChecked(t, "retry", model(text("done")), loop.Config{Middleware: []loop.Middleware{p}, Clock: clock, Retry: loop.Retry{Max: 1, Base: time.Second}})
	if err != nil || res.ModelCalls != 3 {
		t.Errorf("got %+v, %v", res, err)
	}
}

// A model call of middleware fails where it is not allowed.
func TestCallModelNotAllowed(t *testing.T) {
	var s *loop.StepInfo
	got := map[string]error{}
	try := func(where string, call loop.ModelCall) { _, got[where] = s.CallModel(context.Background(), call) }
	p := named("p", loop.Hooks{
		BeforeStep: func(_ context.Context, now *loop.StepInfo) (loop.StepChange, error) {
			s = now
			try("for the response", loop.ModelCall{Request: &llm.Request{}})
			try("of nothing", loop.ModelCall{Purpose: trace.PurposeGrade})
			return loop.StepChange{}, nil
		},
		WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
				try("around the model call", summary(nil))
				return next(ctx, call)
			}
		},
		End: func(_ context.Context, res loop.Result) (loop.Result, error) {
			try("at the end", summary(nil))
			return res, nil
		},
	})
	during := tool("a", func(context.Context) (string, error) { try("in a tool", summary(nil)); return "", nil })
	if res, err := runChecked(t, "nowhere", model(calls("a"), text("done")), loop.Config{Tools: []loop.Tool{during}, Middleware: []loop.Middleware{p}}); err != nil || res.ModelCalls != 2 {
		t.Errorf("got %+v, %v", res, err)
	}
	try("after the run", summary(nil))
	for _, where := range []string{"around the model call", "in a tool", "at the end", "after the run"} {
		if !errors.Is(got[where], loop.ErrModelCallNotAllowed) {
			t.Errorf("%s: got %v", where, got[where])
		}
	}
	for where, want := range map[string]string{
		"for the response": "loop: StepInfo.CallModel: no Purpose: set one, such as trace.PurposeSummary",
		"of nothing":       "loop: StepInfo.CallModel: no Request: set one",
	} {
		if fmt.Sprint(got[where]) != want {
			t.Errorf("%s: got %v", where, got[where])
		}
	}
}

// Another model may run a step, or a call of a wrap.
func TestOtherModel(t *testing.T) {
	other, third := model(text("other")), model(text("third"))
	p := named("p", loop.Hooks{
		BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			if s.Step == 1 {
				return loop.StepChange{Model: other}, nil
			}
			return loop.StepChange{}, nil
		},
		WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
				if call.Step == 0 {
					judge := call
					judge.Model, judge.Purpose = third, trace.PurposeGrade
					if response, err := next(ctx, judge); err != nil || response.Text() != "third" {
						return nil, fmt.Errorf("the third returned %+v, %w", response, err)
					}
				}
				return next(ctx, call)
			}
		},
	})
	res, err := runChecked(t, "others", model(calls("a")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}, StallTimeout: time.Second, Clock: fake.NewClock()})
	if err != nil || res.Text != "other" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// The tools of a StepChange replace those before, in the request and for its calls.
func TestStepChangeTools(t *testing.T) {
	var kept []string
	p := named("p", loop.Hooks{
		BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			if s.Step != 1 {
				return loop.StepChange{}, nil
			}
			for _, tool := range s.Tools() {
				kept = append(kept, tool.Name)
			}
			return loop.StepChange{Tools: []loop.Tool{echo("b")}}, nil
		},
	})
	m := model(calls("a"), calls("a#2", "b#3"), calls("b#4"), text("done"))
	res, err := runChecked(t, "offer", m, loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"{}", `there is no tool "a"; the tools are b`, "{}", "{}"}
	if diff := cmp.Diff(want, resultTexts(res.Messages)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	var offered []string
	for _, r := range m.RecordedRequests() {
		offered = append(offered, r.Request.Tools[0].Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "b", "b"}, offered); diff != "" || len(kept) != 1 || kept[0] != "a" {
		t.Errorf("offered (-want +got):\n%s\nbefore: %q", diff, kept)
	}
}

// Tools that only one request has are not tools of the agent. A call of such a tool gets an
// error, and the run continues. The trace contains the steps, because the calls have results.
func TestStepChangeToolsOfRequestOnly(t *testing.T) {
	offer := named("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		s.Request.Tools = []llm.Tool{{Name: "ghost"}}
		return loop.StepChange{Request: s.Request}, nil
	}})
	res, _ := mustRun(t, model(calls("ghost"), text("x")), loop.Config{Middleware: []loop.Middleware{offer}})
	if res.Text != "x" || len(res.Steps) != 2 || !res.Steps[0].Results[0].IsError {
		t.Errorf("got %+v", res)
	}
}

// A run whose tools were removed still has its steps.
func TestStepChangeWithoutTools(t *testing.T) {
	take := named("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		if s.Step > 0 {
			return loop.StepChange{Tools: []loop.Tool{}}, nil
		}
		return loop.StepChange{}, nil
	}})
	res, _ := mustRun(t, model(calls("a"), text("x")), loop.Config{Middleware: []loop.Middleware{take}, Tools: []loop.Tool{echo("a")}})
	if len(res.Steps) != 2 {
		t.Errorf("got %d steps", len(res.Steps))
	}
}

func TestStepChangeInvalidTools(t *testing.T) {
	p := named("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		return loop.StepChange{Tools: []loop.Tool{echo("b"), echo("b")}}, nil
	}})
	_, err := runChecked(t, "twice", model(text("x")), loop.Config{Middleware: []loop.Middleware{p}})
	if fmt.Sprint(err) != `the middleware p: its tools cannot be used: two tools have the name "b"` {
		t.Errorf("got %v", err)
	}
}

// The Agent of With differs only in the changed options and shares the numbers of runs.
func TestWith(t *testing.T) {
	var mem trace.Memory
	a := newAgent(t, model(calls("a"), calls("a#2"), calls("a#3"), text("done"), calls("a#4")), loop.Config{Tools: []loop.Tool{echo("a")}, MaxSteps: 9, Sink: &mem})
	short, err := a.With(func(c *loop.Config) { c.MaxSteps = 1 })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		agent *loop.Agent
		steps int
	}{{a, 4}, {short, 1}} {
		if res, err := c.agent.Run(t.Context(), loop.Prompt("go")); err != nil || len(res.Steps) != c.steps {
			t.Errorf("got %+v, %v; want %d steps", res, err, c.steps)
		}
	}
	if got := of[trace.RunStart](mem.Events()); len(got) != 2 {
		t.Errorf("got %d runs", len(got))
	}
	if last := mem.Events()[len(mem.Events())-1]; last.Run != "r2" {
		t.Errorf("the second run is %q", last.Run)
	}
	if _, err := a.With(func(c *loop.Config) { c.TokenBudget = -1 }); err == nil {
		t.Error("a bad option: got no error")
	}
}

// Stop ends a run after its current step.
func TestStop(t *testing.T) {
	for name, want := range map[string]struct {
		stop  trace.Reason
		calls int
	}{"before": {trace.ReasonStopped, 0}, "in a tool": {trace.ReasonStopped, 1}, "in the last step": {trace.ReasonEndTurn, 2}, "at the step limit": {trace.ReasonMaxSteps, 1}} {
		var run *loop.Run
		cfg := loop.Config{Tools: []loop.Tool{tool("a", func(context.Context) (string, error) {
			if name != "in the last step" {
				run.Stop()
			}
			return "A", nil
		})}}
		if name == "at the step limit" {
			cfg.MaxSteps = 1
		}
		cfg.Middleware = []loop.Middleware{named("p", loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
			if s.Step == 1 {
				run.Stop()
			}
			return loop.Decision{}, nil
		}})}
		var mem trace.Memory
		cfg.Sink = &mem
		run = newAgent(t, model(calls("a"), text("done")), cfg).Start(t.Context(), loop.Prompt("go"))
		if name == "before" {
			run.Stop()
		}
		res, err := run.Wait()
		checkInvariants(t, name, mem.Events())
		if err != nil || res.StopReason != want.stop || res.ModelCalls != want.calls || want.calls == 1 && len(res.Messages) != 2 {
			t.Errorf("%s: got %+v, %v", name, res, err)
		}
	}
}
