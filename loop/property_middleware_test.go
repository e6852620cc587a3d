package loop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// dice are throws that were drawn once, so that each run of a policy has the same.
type dice struct {
	throws []int
	n      int
}

// roll returns a number below sides.
func (d *dice) roll(sides int) int {
	d.n++
	return d.throws[d.n%len(d.throws)] % sides
}

// drawMiddleware returns a function that makes middleware with random hooks.
func drawMiddleware(t *rapid.T, name string) func() loop.Middleware {
	throws := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 40).Draw(t, name)
	hooks := rapid.IntRange(0, 127).Draw(t, name+"'s hooks")
	return func() loop.Middleware {
		return loop.Middleware{Name: name, New: func(info loop.RunInfo) loop.Hooks {
			d := &dice{throws: throws}
			var h loop.Hooks
			for i, add := range []func(*loop.Hooks, loop.Clock){d.before, d.afterModel, d.batch, d.after, d.wrapTool, d.wrapModel, d.start} {
				if hooks>>i&1 != 0 {
					add(&h, info.Clock)
				}
			}
			return h
		}}
	}
}

// decide returns a random decision, which may have the messages.
func (d *dice) decide(messages func() []llm.Message) (loop.Decision, error) {
	switch d.roll(12) {
	case 0:
		return loop.Decision{Action: trace.Stop, Reason: trace.ReasonBudget}, nil
	case 1:
		return loop.Decision{Action: trace.ForceFinal}, nil
	case 2:
		return loop.Decision{Action: trace.Continue, Messages: messages(), Reason: trace.ReasonMaxSteps}, nil
	case 3:
		return loop.Decision{}, errors.New("no")
	case 4:
		return loop.Decision{Action: trace.Stop, Err: errors.New("stopped")}, nil
	case 5:
		return loop.Decision{Action: trace.Continue, Reason: trace.ReasonEndHook, Messages: messages()}, nil
	}
	return loop.Decision{}, nil
}

func (d *dice) start(h *loop.Hooks, clock loop.Clock) {
	h.Start = func(ctx context.Context) (context.Context, error) {
		ctx, stop := clock.WithTimeout(ctx, time.Duration(5+d.roll(60))*time.Millisecond, errors.New("the policy's time is over"))
		context.AfterFunc(ctx, stop)
		return ctx, nil
	}
}

func (d *dice) before(h *loop.Hooks, _ loop.Clock) {
	h.BeforeStep = func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		switch d.roll(7) {
		case 0:
			s.Request.Tools = nil
		case 1:
			s.Request.System = llm.SystemText("other")
		case 2:
			s.Request.ToolChoice = llm.ToolChoice{Mode: llm.ChooseNone}
		case 3:
			s.Step = 99
		}
		if err := s.Emit("x", []byte(`{}`)); err != nil {
			return loop.StepChange{}, err
		}
		decision, err := d.decide(func() []llm.Message {
			switch d.roll(4) {
			case 0:
				return []llm.Message{llm.User("all so far")}
			case 1:
				return append(s.History(), llm.User("more"))
			case 2:
				return s.History()
			}
			return nil
		})
		return loop.StepChange{Decision: decision, Request: s.Request}, err
	}
}

func (d *dice) wrapModel(h *loop.Hooks, clock loop.Clock) {
	h.WrapModel = func(next loop.ModelFunc) loop.ModelFunc {
		return func(ctx context.Context, c loop.ModelCall) (*llm.Response, error) {
			switch d.roll(12) {
			case 0:
				return &llm.Response{Parts: []llm.Part{llm.Text{Text: "own"}}, FinishReason: llm.FinishStop}, nil
			case 1:
				return &llm.Response{Parts: []llm.Part{llm.ToolCall{ID: "c1", Name: "ok", Arguments: "{}"}, llm.ToolCall{ID: "c1", Name: "slow", Arguments: "{}"}}}, nil
			case 2: // a repair, or a retry
				_, _ = next(ctx, c)
			case 3:
				sub := c
				sub.Purpose = trace.PurposeGrade
				_, _ = next(ctx, sub)
			case 4:
				req := *c.Request
				req.Messages = []llm.Message{llm.User("only this")}
				c.Request = &req
			case 5:
				response, err := next(ctx, c)
				if response == nil {
					return nil, err
				}
				changed := *response
				changed.Parts = append([]llm.Part{llm.Text{Text: "so: "}}, response.Parts...)
				return &changed, err
			case 6:
				response, err := next(ctx, c)
				if response == nil || len(response.Parts) == 0 {
					return response, err
				}
				changed := *response
				changed.Parts = response.Parts[1:]
				return &changed, err
			case 7:
				_, _ = next(ctx, c)
				return nil, errors.New("gave up")
			case 8:
				for range 3 {
					if response, err := next(ctx, c); err == nil {
						return response, nil
					}
					_ = clock.Sleep(ctx, 3*time.Millisecond)
				}
			}
			return next(ctx, c)
		}
	}
}

func (d *dice) afterModel(h *loop.Hooks, _ loop.Clock) {
	h.AfterModel = func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) {
		return d.decide(func() []llm.Message {
			return [][]llm.Message{nil, {llm.User("and?")}, {llm.Assistant(llm.Text{Text: "or rather"}), llm.User("and?")}}[d.roll(3)]
		})
	}
}

func (d *dice) batch(h *loop.Hooks, _ loop.Clock) {
	h.BeforeTools = editCalls(func(_ context.Context, _ *loop.StepInfo, calls []*loop.PlannedCall) (loop.Decision, error) {
		for _, c := range calls {
			out := loop.TextOutput("mine")
			switch d.roll(8) {
			case 0:
				c.Output = &out
			case 1:
				out.IsError = true
				c.Output, c.Reason = &out, "denied"
			case 2:
				c.Output = nil
			case 3:
				c.Arguments = `{"n":5}`
			case 4:
				c.Arguments = `{"n":`
			}
		}
		if d.roll(10) == 0 {
			return loop.Decision{Action: trace.Stop, Reason: trace.ReasonApproval}, nil
		}
		return loop.Decision{}, nil
	})
}

// wrapTool decides by the id of a call, since calls run concurrently.
func (d *dice) wrapTool(h *loop.Hooks, _ loop.Clock) {
	h.WrapTool = func(next loop.ToolFunc) loop.ToolFunc {
		return func(ctx context.Context, c loop.Call) (loop.Output, error) {
			switch len(c.ID) % 5 {
			case 0:
				return loop.TextOutput("not entered"), nil
			case 1:
				out, _ := next(ctx, c)
				_, err := next(ctx, c)
				return out, err
			case 2:
				panic("wrap")
			}
			return next(ctx, c)
		}
	}
}

func (d *dice) after(h *loop.Hooks, _ loop.Clock) {
	h.AfterStep = func(_ context.Context, s *loop.StepInfo, _ *loop.Step) (loop.Decision, error) {
		if err := s.Warn("w", "x"); err != nil {
			return loop.Decision{}, err
		}
		return d.decide(func() []llm.Message { return nil })
	}
}

// TestMiddlewareProperties runs random scripts with random options and middleware. It checks
// all invariants and that a repetition has the same result.
func TestMiddlewareProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, set := drawScript(t), drawConfig(t)
		middlewares := []func() loop.Middleware{drawMiddleware(t, "p")}
		if rapid.Bool().Draw(t, "another") {
			middlewares = append(middlewares, drawMiddleware(t, "q"))
		}
		run := func() *scenario.Result {
			o, err := scenario.Run(t.Context(), s, &scenario.Options{Adjust: func(c *loop.Config) {
				set(c)
				for _, p := range middlewares {
					c.Middleware = append(c.Middleware[:len(c.Middleware):len(c.Middleware)], p())
				}
			}})
			if o == nil {
				t.Fatal(err)
			}
			return o
		}
		first := run()
		found := append(violations(first.Events), check.Pair(first.Events, run().Events, check.Repeat)...)
		for _, v := range found {
			t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
		}
		if t.Failed() {
			t.Logf("the trace:\n%s", first.Trace())
		}
	})
}

// TestIterationStoppedProperties ends random runs at any event, by a cancel or by the end of
// the iteration. It checks all invariants and that the conversation can be continued.
func TestIterationStoppedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		var cfg loop.Config
		drawConfig(t)(&cfg)
		cfg.Retry, cfg.ToolTimeout, cfg.Deadline, cfg.Grace = loop.Retry{}, 0, 0, 0 // nothing waits
		if rapid.Bool().Draw(t, "with a policy") {
			cfg.Middleware = append(cfg.Middleware[:len(cfg.Middleware):len(cfg.Middleware)], drawMiddleware(t, "p")())
		}
		client, err := loop.ClientTool("client", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Clock = fake.NewClock()
		cfg.Tools = []loop.Tool{
			echo("ok"), echo("slow"), echo("strict"), client,
			tool("fails", func(context.Context) (string, error) { return "", errors.New("no") }),
			tool("panics", func(context.Context) (string, error) { panic("x") }),
		}
		at, leaves := rapid.IntRange(0, 60).Draw(t, "at"), rapid.Bool().Draw(t, "leaves")
		a, err := loop.New(fake.NewModel(s.Models[0].Responses...), &cfg)
		if err != nil {
			t.Fatal(err)
		}
		var mem trace.Memory
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		run := a.Start(ctx, loop.Input{Messages: append(s.History, s.Input...), Sink: &mem})
		seen := 0
		for range run.Events() { //nolint:errcheck // a run may fail, in order
			if seen++; seen-1 == at {
				if leaves {
					break
				}
				cancel()
			}
		}
		res, _ := run.Wait()
		checkRun(t, s, &mem, res)
	})
}

// continues checks that a conversation can be sent with another message.
func continues(t *rapid.T, in loop.Input) {
	a, err := loop.New(fake.NewModel(fake.Response{Text: "x"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), loop.Continue(in.Messages, llm.User("more"))); err != nil {
		t.Errorf("the conversation cannot be continued: %v", err)
	}
	for _, v := range check.Messages("continued", in.Messages) {
		t.Errorf("the conversation: %s: message %d: %s", v.Invariant, v.Event, v.Message)
	}
}

// checkRun checks the trace of a run and, unless it changed its history or waits for a decision, that the
// next request can continue its messages.
func checkRun(t *rapid.T, s *fake.Script, mem *trace.Memory, res *loop.Result) {
	for _, v := range violations(mem.Events()) {
		t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	if len(of[trace.HistoryRewrite](mem.Events())) == 0 && len(res.Pending) == 0 {
		continues(t, loop.Continue(append(s.History, s.Input...), res.Messages...))
	}
	if t.Failed() {
		t.Logf("the trace:\n%.5000s", trace.FormatText(mem.Events()))
	}
}
