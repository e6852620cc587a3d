package loop_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// drawPanic returns a function that panics in one of the functions of a middleware, at one of its calls.
func drawPanic(t *rapid.T) func(place string) {
	at := rapid.SampledFrom([]string{
		"", "New", "Start", "BeforeStep", "wrap model", "WrapModel", "after next", "AfterModel", "BeforeTools", "wrap tool", "WrapTool", "after the tool", "AfterStep", "End", "Sink", "OnStep",
	}).Draw(t, "panics in")
	value := rapid.SampledFrom([]any{"boom", errors.New("boom"), 7, nil, evilError{}}).Draw(t, "panics with")
	left := rapid.IntRange(0, 2).Draw(t, "panics after")
	var mu sync.Mutex // tools run concurrently
	return func(place string) {
		mu.Lock()
		defer mu.Unlock()
		if place == at {
			if left--; left < 0 {
				panic(value)
			}
		}
	}
}

// evilError is an error whose method panics.
type evilError struct{}

func (evilError) Error() string { panic("no words") }

type sinkFunc func(trace.Event) error

func (f sinkFunc) Write(ev trace.Event) error { return f(ev) }

// panicking returns middleware that has all hooks and calls at in each of them.
func panicking(at func(place string)) loop.Middleware {
	return loop.Middleware{Name: "panics", New: func(loop.RunInfo) loop.Hooks {
		at("New")
		return loop.Hooks{
			Start: func(ctx context.Context) (context.Context, error) { at("Start"); return ctx, nil },
			BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
				at("BeforeStep")
				return loop.StepChange{}, nil
			},
			WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
				at("wrap model")
				return func(ctx context.Context, c loop.ModelCall) (*llm.Response, error) {
					at("WrapModel")
					response, err := next(ctx, c)
					at("after next")
					return response, err
				}
			},
			AfterModel: func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) {
				at("AfterModel")
				return loop.Decision{}, nil
			},
			BeforeTools: func(context.Context, *loop.StepInfo, []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
				at("BeforeTools")
				return nil, loop.Decision{}, nil
			},
			WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
				at("wrap tool")
				return func(ctx context.Context, c loop.Call) (loop.Output, error) {
					at("WrapTool")
					out, err := next(ctx, c)
					at("after the tool")
					return out, err
				}
			},
			AfterStep: func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) {
				at("AfterStep")
				return loop.Decision{}, nil
			},
			End:  func(_ context.Context, res loop.Result) (loop.Result, error) { at("End"); return res, nil },
			Sink: sinkFunc(func(trace.Event) error { at("Sink"); return nil }),
		}
	}}
}

// drawStubborn returns a model that continues to send after a cancel, and after its consumer stopped.
func drawStubborn(t *rapid.T, m llm.Model) llm.Model {
	more := rapid.SampledFrom([]int{0, 0, 1, 50, 2000}).Draw(t, "more events")
	waits, after := rapid.Bool().Draw(t, "waits for the cancel"), rapid.IntRange(0, 5).Draw(t, "of a model that continues")
	if more == 0 {
		return m
	}
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for ev, err := range m.Stream(context.WithoutCancel(ctx), req) {
				if !yield(ev, err) {
					if after > 2 {
						yield(ev, err) // panics in this goroutine
					}
					return
				}
			}
			if waits && ctx.Done() != nil && after == 0 {
				return
			}
			for range more {
				if !yield(llm.TextDelta{Text: "more "}, nil) && after < 3 {
					return
				}
			}
		}
	})
}

// hugeArguments are arguments of 1 MB.
var hugeArguments = []string{
	`{"n":1,"x":"` + strings.Repeat("a", 1<<20) + `"}`, `{"n":` + strings.Repeat("[", 1<<20), `{"n":` + strings.Repeat("9", 1<<20) + `}`, strings.Repeat("x", 1<<20),
	`{"n":1` + strings.Repeat(`,"n":1`, 1<<17) + `}`, `{"n":` + strings.Repeat("[", 1<<13) + strings.Repeat("]", 1<<13) + `}`,
}

// lateTools are tools that leave a goroutine which continues after their return: it uses the context and the
// call, and starts a run below the call.
func lateTools(t *rapid.T, late *sync.WaitGroup) []loop.Tool {
	inner, err := loop.New(fake.NewModel(fake.Response{Text: "late"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	leave := func(name string) loop.Tool {
		return loop.Tool{Name: name, Run: func(ctx context.Context, call loop.Call) (loop.Output, error) {
			late.Go(func() {
				in := loop.Prompt(call.Arguments[:min(len(call.Arguments), 5)])
				in.Parent, in.Sink = &call.Trace, new(trace.Memory)
				_, _ = inner.Run(ctx, in)
				_, _ = inner.Run(context.WithoutCancel(ctx), in)
			})
			return loop.TextOutput("left"), nil
		}}
	}
	return []loop.Tool{leave("slow"), leave("slower")}
}

// TestHostileProperties runs tools that leave goroutines, calls with huge arguments, models that do not end, and
// middleware that panics anywhere. Each run ends, and no invariant is violated.
func TestHostileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		var cfg loop.Config
		drawConfig(t)(&cfg)
		cfg.Retry, cfg.ToolTimeout, cfg.Deadline, cfg.Grace = loop.Retry{}, 0, 0, 0 // nothing waits
		at := drawPanic(t)
		cfg.Middleware = append(cfg.Middleware[:len(cfg.Middleware):len(cfg.Middleware)], panicking(at))
		if rapid.Bool().Draw(t, "with a policy") {
			cfg.Middleware = append(cfg.Middleware, drawMiddleware(t, "p")())
		}
		cfg.OnStep = func(loop.Step) { at("OnStep") }
		if huge := rapid.IntRange(0, 60).Draw(t, "huge"); huge < len(hugeArguments) {
			for i := range s.Models[0].Responses {
				for j := range s.Models[0].Responses[i].Calls {
					s.Models[0].Responses[i].Calls[j].Arguments = hugeArguments[huge]
				}
			}
		}
		var late sync.WaitGroup
		defer late.Wait()
		cfg.Clock = fake.NewClock()
		cfg.Tools = append(lateTools(t, &late), echo("ok"), echo("strict"),
			tool("fails", func(context.Context) (string, error) { return "", evilError{} }), tool("panics", func(context.Context) (string, error) { panic(evilError{}) }))
		a, err := loop.New(drawStubborn(t, fake.NewModel(s.Models[0].Responses...)), &cfg)
		if err != nil {
			t.Fatal(err)
		}
		cancelAt := rapid.IntRange(0, 60).Draw(t, "cancel at")
		var mem trace.Memory
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		run := a.Start(ctx, loop.Input{Messages: append(s.History, s.Input...), Sink: &mem})
		seen := 0
		for range run.Events() { //nolint:errcheck // a run may fail, in order
			if seen++; seen == cancelAt {
				cancel()
			}
		}
		res, _ := run.Wait()
		checkRun(t, s, &mem, res)
	})
}
