package agentloop_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
)

// AL-04 to AL-08, AL-22: the value of the step limit, the steps that count, and the
// response.
func TestAL04ToAL08StepLimit(t *testing.T) {
	many := fake.Response{Repeat: 30, Calls: []fake.Call{{ID: "c{n}", Name: "a", Arguments: `{"n":{n}}`}}}
	text := says("x")
	text.Usage = fakeUsage(5)
	round := func(id string) fake.Response {
		turn := calls(id, "a")
		turn.Usage, turn.Text = fakeUsage(10), "t"+id
		return turn
	}
	for name, c := range map[string]struct {
		max   int
		turns []fake.Response
		want  string
	}{
		"AL-04 default":             {0, []fake.Response{many}, "max_steps: 16 calls, 16 rounds, text \"\", usage 0"},
		"AL-04 below 0":             {-1, []fake.Response{many}, "max_steps: 16 calls, 16 rounds, text \"\", usage 0"},
		"AL-05 at the bottom":       {2, []fake.Response{round("1"), round("2"), text}, "max_steps: 2 calls, 2 rounds, text \"t2\", usage 20"},
		"AL-22 a step without text": {2, []fake.Response{round("1"), calls("2", "a")}, "max_steps: 2 calls, 2 rounds, text \"\", usage 10"},
		"AL-06 one step":            {1, []fake.Response{round("1"), text}, "max_steps: 1 calls, 1 rounds, text \"t1\", usage 10"},
		"AL-07 text alone":          {0, []fake.Response{text}, "done: 1 calls, 0 rounds, text \"x\", usage 5"},
		"AL-08 on the last":         {2, []fake.Response{round("1"), text}, "done: 2 calls, 1 rounds, text \"x\", usage 15"},
		"AL-22 four steps":          {0, []fake.Response{round("1"), round("2"), round("3"), text}, "done: 4 calls, 3 rounds, text \"x\", usage 35"},
		"AL-39 calls with stop":     {1, []fake.Response{{Calls: round("1").Calls, FinishReason: "stop"}}, "max_steps: 1 calls, 1 rounds, text \"\", usage 0"},
		"AL-21 at the length limit": {0, []fake.Response{{Calls: round("1").Calls, FinishReason: "length"}, {Text: "x"}}, "done: 2 calls, 1 rounds, text \"x\", usage 0"},
		"AL-21 by calls alone":      {0, []fake.Response{{Calls: round("1").Calls, FinishReason: "stop"}, {Text: "x", FinishReason: "tool_calls"}}, "done: 2 calls, 1 rounds, text \"x\", usage 0"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, streamed := range []bool{false, true} {
				w := newWorld(t, c.turns...).agent(agentloop.Config{MaxSteps: c.max, Model: "m"})
				res, err := w.play(t.Context(), streamed, agentloop.Input{Text: "go"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				r := w.last()
				// AL-22: the response has the content of the last step and the usage of all
				if res.Text() != r.FinalText || res.Model != "m" || (res.FinishReason == "tool_use") != (r.Reason == agentloop.MaxSteps) || res.Usage != fakeUsage(r.TotalUsage.InputTokens) {
					t.Errorf("the response of %q, finish reason %q, has the text %q and the usage %+v, the report %q and %+v", res.Model, res.FinishReason, res.Text(), res.Usage, r.FinalText, r.TotalUsage)
				}
				if n := r.ModelCalls; len(r.Steps) != n {
					t.Errorf("streamed: %v: the report has %d steps of %d model calls", streamed, len(r.Steps), n)
				}
				same(t, "the usage", agentloop.Usage{InputTokens: r.TotalUsage.InputTokens, OutputTokens: 2 * r.TotalUsage.InputTokens, CachedTokens: r.TotalUsage.InputTokens, ReasoningTokens: r.TotalUsage.InputTokens}, r.TotalUsage)
				same(t, fmt.Sprint("streamed: ", streamed), c.want,
					fmt.Sprintf("%s: %d calls, %d rounds, text %q, usage %d", r.Reason, r.ModelCalls, r.StepCount, r.FinalText, r.TotalUsage.InputTokens))
			}
		})
	}
}

func fakeUsage(input int64) llm.Usage {
	return llm.Usage{InputTokens: input, OutputTokens: 2 * input, CacheReadInputTokens: input, ReasoningOutputTokens: input}
}

// AL-14, AL-88: a stop ends the run before its next step and emits no hook for that step.
// In the step that reaches the limit, the reason is the limit.
func TestAL14StopBetweenSteps(t *testing.T) {
	w := newWorld(t, calls("1", "a"), calls("2", "a"), calls("3", "a", "slow"), says("never")).agent(agentloop.Config{})
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnToolCallComplete && ev.Step == 2 {
			w.Stop()
		}
		return nil
	}
	if res := w.run("go"); res.Reason != agentloop.Stopped || slices.Contains(w.log, "onStepStart 3") || w.last().ModelCalls != 3 {
		t.Errorf("stopped in the third step: reason %q after %d model calls, events %q", res.Reason, w.last().ModelCalls, w.log)
	}
	for _, c := range []struct {
		max      int
		streamed bool
		want     trace.Reason
	}{{0, false, agentloop.Stopped}, {0, true, agentloop.Stopped}, {1, false, agentloop.MaxSteps}, {1, true, agentloop.MaxSteps}} {
		want := c.want
		w := newWorld(t, calls("", "a"), says("never")).agent(agentloop.Config{MaxSteps: c.max})
		w.hook = func(ev agentloop.Event) error {
			if ev.Name == agentloop.OnToolCallComplete {
				w.Stop()
			}
			return nil
		}
		res, err := w.play(t.Context(), c.streamed, agentloop.Input{Text: "go"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "reported", []string{
			"onAgentCreate", `onRunStart "go"`, "onStepStart 0", `onStepComplete 0 "" tool_use`, "onToolCallStart 0 a", "onToolCallComplete 0 a", "onRunComplete " + string(want),
		}, w.log)
		if res.Reason != want || w.last().Reason != want || len(w.last().Steps) != 1 || res.Err != nil || w.roles() != "user/1 assistant/1 tool/1" {
			t.Errorf("reason %q, %q in the report, error %v, history %s", res.Reason, w.last().Reason, res.Err, w.roles())
		}
	}
}

// AL-15, AL-23, AL-41, AL-60, AL-92, AL-101: the complete order of a run.
func TestAL15AL92Order(t *testing.T) {
	w := newWorld(t, calls("", "a", "bad"), says("x"))
	check := func(kind middleware.GuardrailKind) middleware.Guardrail {
		return middleware.Guardrail{Name: string(kind), Kind: kind, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			w.log = append(w.log, fmt.Sprint(kind, " guardrail, history ", w.roles()))
			return middleware.GuardrailResult{Pass: true}, nil
		}}
	}
	w.agent(agentloop.Config{
		OneTool: true, Guardrails: []middleware.Guardrail{check(middleware.GuardOutput), check(middleware.GuardInput)},
		Policy: middleware.PermissionPolicy(func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
			w.log = append(w.log, "policy "+r.Call.ID)
			return middleware.Permission{Allow: true, Ask: r.Tool == "a"}, nil
		}),
		Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
	})
	w.run("go")
	same(t, "the order", []string{
		"onAgentCreate", `onRunStart "go"`,
		"onStepStart 0", "input guardrail, history user/1", `onStepComplete 0 "" tool_use`, "output guardrail, history user/1 assistant/2",
		"onToolCallStart 0 a", "policy a", "onApprovalRequested a", "onApprovalResolved a approve", "onToolCallComplete 0 a",
		"onToolCallStart 0 bad", "policy bad", "onToolCallError 0 bad: no luck",
		"onStepStart 1", "input guardrail, history user/1 assistant/2 tool/2", `onStepComplete 1 "x" stop`, "output guardrail, history user/1 assistant/2 tool/2 assistant/1",
		"onRunComplete done",
	}, w.log)
	entries := w.History().Entries()
	if got := entries[2].Message.Parts; got[0].(llm.ToolResult).ID != "a" || got[1].(llm.ToolResult).ID != "bad" || !got[1].(llm.ToolResult).IsError {
		t.Errorf("the results: %+v", got)
	}
}

// AL-15: the parts of a step that TestAL15AL92Order does not show. The system prompt is composed
// after onStepStart. onStepComplete gets a history with the response, its model, usage and latency.
// A stop is checked before onStepStart, and the step limit after the results are in the history.
func TestAL15AroundTheStep(t *testing.T) {
	called := calls("", "a")
	called.Model, called.Delay, called.Usage = "m1", 20*time.Millisecond, llm.Usage{InputTokens: 10, OutputTokens: 5}
	for name, c := range map[string]struct {
		maxSteps int
		stop     string // the event at which the run is stopped
		want     []string
		roles    string
	}{
		"to the end": {want: []string{"onStepStart 0", "onStepComplete 0", "onToolCallComplete 0", "onStepStart 1", "onStepComplete 1", "onRunComplete done"}, roles: "user/1 assistant/1 tool/1 assistant/1"},
		"step limit": {maxSteps: 1, want: []string{"onStepStart 0", "onStepComplete 0", "onToolCallComplete 0", "onRunComplete max_steps"}, roles: "user/1 assistant/1 tool/1"},
		"stopped":    {stop: agentloop.OnToolCallComplete, want: []string{"onStepStart 0", "onStepComplete 0", "onToolCallComplete 0", "onRunComplete stopped"}, roles: "user/1 assistant/1 tool/1"},
	} {
		w := newWorld(t, called, says("x"))
		var got, systems []string
		var meta history.Meta
		w.hook = func(ev agentloop.Event) error {
			switch ev.Name {
			case agentloop.OnStepStart:
				w.History().SetSystem(fmt.Sprint("for step ", ev.Step))
			case agentloop.OnStepComplete:
				if last := w.History().Entries()[w.History().Len()-1]; last.Message.Role != llm.RoleAssistant {
					t.Errorf("%s: the history ends with a message of %s", name, last.Message.Role)
				} else if ev.Step == 0 {
					meta = last.Meta
				}
			case agentloop.OnToolCallComplete:
			case agentloop.OnRunComplete:
				got = append(got, fmt.Sprint(ev.Name, " ", w.last().Reason))
				return nil
			default:
				return nil
			}
			if got = append(got, fmt.Sprint(ev.Name, " ", ev.Step)); ev.Name == c.stop {
				w.Stop()
			}
			return nil
		}
		w.agent(agentloop.Config{MaxSteps: c.maxSteps}).run("go")
		same(t, name, c.want, got)
		for i, r := range w.model.RecordedRequests() {
			if systems = append(systems, r.Request.System.Text()); systems[i] != fmt.Sprint("for step ", i) {
				t.Errorf("%s: the system prompts %q", name, systems)
			}
		}
		if want := (history.Meta{Model: "m1", Usage: called.Usage, Latency: called.Delay}); meta != want {
			t.Errorf("%s: the response in the history has %+v, want %+v", name, meta, want)
		}
		if w.roles() != c.roles || w.last().StepCount != 1 {
			t.Errorf("%s: the history %s, %d steps", name, w.roles(), w.last().StepCount)
		}
	}
}

// AL-15, AL-71: the metadata of a response in the history.
func TestHistoryMeta(t *testing.T) {
	first, second := calls("", "slow"), says("x")
	first.Usage, first.Delay, first.Model = llm.Usage{InputTokens: 100, OutputTokens: 2}, 20*time.Millisecond, "m-2"
	second.Usage = llm.Usage{InputTokens: 120}
	for _, streamed := range []bool{false, true} {
		w := newWorld(t, first, second).agent(agentloop.Config{Model: "m"})
		if streamed {
			w.stream("go", nil)
		} else {
			w.run("go")
		}
		var got []history.Meta
		for _, e := range w.History().Entries() {
			got = append(got, e.Meta)
		}
		same(t, fmt.Sprint("streamed: ", streamed, ": meta"), []history.Meta{{}, {Model: "m-2", Usage: first.Usage, Latency: 20 * time.Millisecond}, {}, {Model: "m", Usage: second.Usage}}, got)
		if n := w.History().EstimatedTokens(); n != 121 {
			t.Errorf("streamed: %t: estimated %d tokens, want 120 and 1", streamed, n)
		}
		if steps := w.last().Steps; len(steps) != 2 || steps[0].LLMLatencyMs != 20 || steps[1].LLMLatencyMs != 0 { // AL-101
			t.Errorf("streamed: %t: the steps of the report: %+v", streamed, steps)
		}
	}
}

// hanging returns a model that sends text and blocks until it is stopped. If it honors
// its context, it fails then. Otherwise it sends the rest, with a call if call is set.
func hanging(w *world, honors, call bool) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if !yield(llm.TextDelta{Text: "half"}, nil) {
				return
			}
			w.Stop()
			if cause := context.Cause(ctx); honors && cause != nil {
				if cause != agentloop.ErrStopped {
					w.t.Errorf("the context of the model call has ended with %v", cause)
				}
				yield(nil, cause)
				return
			}
			if call {
				yield(llm.PartDone{Part: llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}}, nil)
			}
			_ = yield(llm.TextDelta{Text: " done"}, nil) && yield(llm.Finish{Reason: llm.FinishStop}, nil)
		}
	})
}

// AL-25, AL-19: a client that honors a stop ends the run as stopped. A client that does
// not finishes its step. With the signal of the options, a stop does not reach the
// client. A failure for another reason is one. A stop before the model call reaches the client, too.
// AL-99: the report of a stopped run has no error.
func TestAL25AL19StopInTheModel(t *testing.T) {
	for name, c := range map[string]struct {
		honors bool
		call   bool
		signal context.Context
		want   string
	}{
		"honors":         {true, false, nil, `stopped "" history user/1`},
		"ignores":        {false, true, nil, `stopped "half done" history user/1 assistant/3 tool/1`},
		"ignores, ended": {false, false, nil, `done "half done" history user/1 assistant/1`},
		"signal":         {true, true, t.Context(), `stopped "half done" history user/1 assistant/3 tool/1`},
	} {
		for i := range 4 {
			later, streamed := i%2 == 1, i > 1 // in the first step, or in the second
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, calls("", "a"))
				var cfg agentloop.Config
				w.dress(&cfg)
				hangs, want := hanging(w, c.honors, c.call), c.want
				if later {
					want = strings.Replace(want, "history user/1", "history user/1 assistant/1 tool/1", 1)
				}
				l, err := agentloop.New(t.Context(), llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
					if later && len(req.Messages) == 1 {
						return w.model.Stream(ctx, req)
					}
					return hangs.Stream(ctx, req)
				}), &cfg)
				if err != nil {
					t.Fatal(err)
				}
				w.Loop = l
				res, err := w.play(t.Context(), streamed, agentloop.Input{Text: "go"}, &agentloop.Options{Signal: c.signal})
				if rep := w.last(); err != nil || res.Err != nil || rep.Error != "" || rep.Reason != res.Reason {
					t.Errorf("got errors %v and %v, and %q, %q in the report", err, res.Err, rep.Reason, rep.Error)
				}
				same(t, fmt.Sprint("the run, in a later step: ", later, ", streamed: ", streamed), want, fmt.Sprintf("%s %q history %s", res.Reason, res.Text(), w.roles()))
			})
		}
	}
}

// AL-25: after a stop, the failure of a model call for another reason is the error of the run. A stop
// before the model call ends that call. A cancel of the caller is no stop.
func TestAL25StopBeforeFailure(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		stops bool  // otherwise the caller cancels
		fails error // of the model; nil if it honors the context
		want  trace.Reason
		err   error
	}{{true, nil, agentloop.Stopped, nil}, {true, fmt.Errorf("post: %w", context.Canceled), agentloop.Stopped, nil}, {true, boom, agentloop.Failed, boom}, {false, nil, agentloop.Failed, context.Canceled}} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := newWorld(t)
		var cfg agentloop.Config
		w.dress(&cfg)
		w.hook = func(ev agentloop.Event) error {
			if ev.Name == agentloop.OnStepStart && c.stops {
				w.Stop()
			}
			return nil
		}
		l, err := agentloop.New(t.Context(), llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				if !c.stops {
					cancel()
				}
				if err := cmp.Or(c.fails, context.Cause(ctx)); err != nil {
					yield(nil, err)
					return
				}
				_ = yield(llm.TextDelta{Text: "x"}, nil) && yield(llm.Finish{Reason: llm.FinishStop}, nil)
			}
		}), &cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.Loop = l
		res, err := w.Complete(ctx, agentloop.Input{Text: "go"}, nil)
		if err != nil || res.Reason != c.want || !errors.Is(res.Err, c.err) || res.Text() != "" {
			t.Errorf("%+v: %q, %q, %v, %v", c, res.Reason, res.Text(), res.Err, err)
		}
	}
}

// A signal that is done or becomes done fails the model call.
func TestSignalEnds(t *testing.T) {
	boom := errors.New("enough")
	ended, end := context.WithCancelCause(t.Context())
	end(boom)
	for _, streamed := range []bool{false, true} {
		w := newWorld(t, says("x")).agent(agentloop.Config{})
		if res, err := w.play(t.Context(), streamed, agentloop.Input{Text: "go"}, &agentloop.Options{Signal: ended}); err != nil || !errors.Is(res.Err, boom) || res.Reason != agentloop.Failed {
			t.Errorf("ended before, streamed %v: %q, %v", streamed, res.Reason, res.Err)
		}
	}
	if !bubble.Run(t, testSignalEnds) {
		t.Error("the signal does not end the model call")
	}
}

// testSignalEnds ends the signal of a run while the model waits.
func testSignalEnds(t *testing.T) {
	boom := errors.New("enough")
	later, end := context.WithCancelCause(t.Context())
	waits := llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			end(boom)
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}
	})
	l, err := agentloop.New(t.Context(), waits, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := l.Complete(t.Context(), agentloop.Input{Text: "go"}, &agentloop.Options{Signal: later}); err != nil || !errors.Is(res.Err, boom) {
		t.Errorf("ended meanwhile: %v", res.Err)
	}
}

// AL-26: a stop without a run has no effect. A stop while a run begins ends it before its
// first step.
func TestAL26StopBefore(t *testing.T) {
	w := newWorld(t, says("x"), says("y"), says("z")).agent(agentloop.Config{})
	w.Stop()
	if res := w.run("go"); res.Reason != agentloop.Done {
		t.Errorf("after a stop without a run: %q", res.Reason)
	}
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnRunStart {
			w.Stop()
		}
		return nil
	}
	if res := w.run("go"); res.Reason != agentloop.Stopped || len(w.model.RecordedRequests()) != 1 {
		t.Errorf("stopped while it begins: %q", res.Reason)
	}
	same(t, "the run that was stopped while it began", []string{`onRunStart "go"`, "onRunComplete stopped"}, w.log[len(w.log)-2:]) // AL-14
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnStepStart {
			w.Stop()
		}
		return nil
	}
	if res := w.run("go"); res.Reason != agentloop.Stopped || res.Err != nil || len(w.last().Steps) != 0 {
		t.Errorf("stopped before the model call: %q, %v", res.Reason, res.Err)
	}
	w.hook = nil
	if res := w.run("go"); res.Reason != agentloop.Done {
		t.Errorf("the next run: %q", res.Reason)
	}
}

// AL-91, AMB-5: a model failure sets the reason and, with Reject, is also returned as an
// error.
func TestAL91ModelFails(t *testing.T) {
	for _, reject := range []bool{false, true} {
		first := calls("", "a")
		first.Text = "let me see"
		w := newWorld(t, first, fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}}).agent(agentloop.Config{Reject: reject})
		res, err := w.Complete(t.Context(), agentloop.Input{Text: "go"}, nil)
		api, isAPI := errors.AsType[*llm.APIError](res.Err)
		if !isAPI || api.Status != 500 || res.Reason != agentloop.Failed || reject != (err != nil) || reject && !errors.Is(err, res.Err) {
			t.Errorf("reject %v: %q, %v; returned %v", reject, res.Reason, res.Err, err)
		}
		r := w.last()
		if r.Error != res.Err.Error() || r.Reason != agentloop.Failed || len(r.Steps) != 1 || w.log[len(w.log)-1] != "onRunComplete error" {
			t.Errorf("the report: %+v; reported %q", r, w.log)
		}
		b, err := json.Marshal(r)
		if want := fmt.Sprintf(`"finalText":"let me see","error":%q,"steps":[{`, r.Error); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("the report as JSON: %s, %v; want %s", b, err, want)
		}
		w = newWorld(t, fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}}).agent(agentloop.Config{})
		w.run("go")
		if b, err := json.Marshal(w.last()); err != nil || !strings.Contains(string(b), `"finalText":"","error":"loop: step 0: fake: status 500: boom","steps":[],"stepCount":0,`) {
			t.Errorf("the report of no step as JSON: %s, %v", b, err)
		}
	}
}

// If other code changes the history during a run, the next step sends the changed
// history.
func TestHistoryChangedDuringRun(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *history.History) error
		want   []string
		roles  string
	}{
		"shorter": {
			func(h *history.History) error { _, err := h.SpliceRange(0, 3, llm.User("summary")); return err },
			[]string{"1 from go", "1 from summary", "3 from summary"}, "user/1 assistant/1 tool/1 assistant/1",
		},
		"as long": {
			func(h *history.History) error { _, err := h.SpliceRange(0, 1, llm.User("instead")); return err },
			[]string{"1 from go", "3 from instead", "5 from instead"}, "user/1 assistant/1 tool/1 assistant/1 tool/1 assistant/1",
		},
		"longer": {
			func(h *history.History) error { h.Append(llm.User("by the way"), history.Meta{}); return nil },
			[]string{"1 from go", "4 from go", "6 from go"}, "user/1 assistant/1 tool/1 user/1 assistant/1 tool/1 assistant/1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, calls("1", "a"), calls("2", "a"), says("x")).agent(agentloop.Config{})
			w.hook = func(ev agentloop.Event) error {
				if ev.Name == agentloop.OnStepStart && ev.Step == 1 {
					return c.change(w.History())
				}
				return nil
			}
			w.run("go")
			var got []string
			for _, r := range w.model.Requests() {
				got = append(got, fmt.Sprint(len(r.Messages), " from ", r.Messages[0].Text()))
			}
			same(t, "requests", c.want, got)
			if w.roles() != c.roles || w.last().Reason != agentloop.Done {
				t.Errorf("the history: %s", w.roles())
			}
			rewrites := 0
			for _, ev := range w.trace {
				if b, ok := ev.Body.(trace.HistoryRewrite); ok && b == (trace.HistoryRewrite{Reason: "history", By: "agentloop"}) {
					rewrites++
				}
			}
			if rewrites != 1 {
				t.Errorf("got %d rewrites, want 1", rewrites)
			}
		})
	}
}

// Guardrails of the input and the permission policy check the messages and arguments that
// the caller's middleware has changed. No middleware ends a run before the guardrails of
// the output have checked the response.
func TestMiddlewareBeforeGates(t *testing.T) {
	var seen []string
	rail := func(kind middleware.GuardrailKind) middleware.Guardrail {
		return middleware.Guardrail{Kind: kind, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			seen = append(seen, fmt.Sprint(kind, " ", len(c.Messages)))
			return middleware.GuardrailResult{Pass: c.Response == nil || c.Response.Text() != "secret", Tripwire: true, Reason: "no"}, nil
		}}
	}
	strict, err := loop.RawTool("strict", "", []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`), func(_ context.Context, c loop.Call) (loop.Output, error) {
		seen = append(seen, "ran "+c.Arguments)
		return loop.TextOutput(""), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	shorter := loop.Middleware{Name: "shorter", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (d loop.StepChange, err error) {
				if list := s.History(); len(list) > 3 {
					d.Messages = append([]llm.Message{list[0]}, list[len(list)-2:]...)
				}
				return d, nil
			},
			AfterModel: func(_ context.Context, _ *loop.StepInfo, turn *llm.Response) (d loop.Decision, err error) {
				if turn.Text() == "secret" {
					d.Action = trace.Stop
				}
				return d, nil
			},
		}
	}}
	w := newWorld(t, calls("1", "a"), fake.Response{Calls: []fake.Call{{ID: "2", Name: "strict", Arguments: `{"n":"x"}`}}}, calls("3", "a"), says("secret"))
	repairer := fake.NewModel(says(`{"n":1}`))
	w.agent(agentloop.Config{
		Tools: append(w.tools(), strict), Guardrails: []middleware.Guardrail{rail(middleware.GuardInput), rail(middleware.GuardOutput)},
		Middleware: []loop.Middleware{shorter, middleware.Repair{Model: repairer}.Middleware()},
		Policy: middleware.PermissionPolicy(func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
			seen = append(seen, "may "+req.Tool+" "+req.Arguments)
			return middleware.Permission{Allow: req.Tool == "a"}, nil
		}),
	})
	res := w.run("go")
	if res.Reason != agentloop.Guardrail || res.Text() != "no" {
		t.Errorf("got %q %q, %v", res.Reason, res.Text(), res.Err)
	}
	same(t, "what was looked at", []string{
		"input 1", "output 1", "may a {}", "input 3", "output 3", `may strict {"n":1}`, "input 3", "output 3", "may a {}", "input 3", "output 3",
	}, seen)
	same(t, "the history, which nobody has cut", "user/1 assistant/1 tool/1 assistant/1 tool/1 assistant/1 tool/1 assistant/1", w.roles())
	var rewrites []string
	for _, ev := range w.trace {
		if b, ok := ev.Body.(trace.HistoryRewrite); ok {
			rewrites = append(rewrites, fmt.Sprint(ev.Step, " ", b.By))
		}
	}
	same(t, "rewrites", []string{"2 shorter", "3 shorter"}, rewrites)
}

// AL-57: if a guardrail fails while it checks a response, the response is in the history
// but not in the result of the run.
func TestAL57GuardrailFails(t *testing.T) {
	looks := func(step int) []middleware.Guardrail {
		return []middleware.Guardrail{{Name: "g", Kind: middleware.GuardOutput, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			if c.Step == step {
				panic("cannot look")
			}
			return middleware.GuardrailResult{Pass: true}, nil
		}}}
	}
	w := newWorld(t, says("secret")).agent(agentloop.Config{Guardrails: looks(0)})
	if res := w.run("go"); res.Reason != agentloop.Failed || res.Text() != "" || w.last().FinalText != "" || w.roles() != "user/1 assistant/1" {
		t.Errorf("got %q %q, final text %q, history %s", res.Reason, res.Text(), w.last().FinalText, w.roles())
	}
	w = newWorld(t, fake.Response{Text: "let me see", Calls: []fake.Call{{Name: "a", Arguments: "{}"}}}, fake.Response{Error: &fake.Failure{Status: 500}}).agent(agentloop.Config{Guardrails: looks(1)})
	if res := w.run("go"); res.Reason != agentloop.Failed || res.Text() != "let me see" {
		t.Errorf("a model that fails after a checked response: %q %q", res.Reason, res.Text())
	}
}

// AL-110: the response of a step has its thinking, its text and its calls: in onStepComplete, in the
// history, and in the next request.
func TestAL110StepResponse(t *testing.T) {
	first := calls("", "a", "slow")
	first.Reasoning, first.Text, first.Usage, first.Model = "hm", "let me see", llm.Usage{InputTokens: 10, OutputTokens: 5}, "m-2"
	first.ReasoningOpaque = []byte(`{"signature":"s"}`)
	second := says("x")
	second.Usage = llm.Usage{InputTokens: 20, OutputTokens: 7}
	w := newWorld(t, first, second).agent(agentloop.Config{})
	want := []llm.Part{llm.Reasoning{Text: "hm", Opaque: first.ReasoningOpaque}, llm.Text{Text: "let me see"}, llm.ToolCall{ID: "a", Name: "a", Arguments: "{}"}, llm.ToolCall{ID: "slow", Name: "slow", Arguments: "{}"}}
	var steps []*agentloop.Response
	w.hook = func(ev agentloop.Event) error {
		if res, ok := ev.Data.(*agentloop.Response); ok && ev.Name == agentloop.OnStepComplete {
			steps = append(steps, res)
		}
		return nil
	}
	w.stream("go", nil)
	same(t, "onStepComplete", []*agentloop.Response{
		{Content: want, FinishReason: "tool_use", Usage: first.Usage, Model: "m-2"},
		{Content: []llm.Part{llm.Text{Text: "x"}}, FinishReason: llm.FinishStop, Usage: second.Usage},
	}, steps)
	entry := w.History().Entries()[1]
	same(t, "the history", want, entry.Message.Parts)
	same(t, "the usage in the history", first.Usage, entry.Meta.Usage)
	same(t, "the next request", want, w.model.Requests()[1].Messages[1].Parts)
}
