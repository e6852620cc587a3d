package loop_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// leave ends the goroutine that it is called on, the n-th time it is called.
type leave struct{ n int }

func (l *leave) now() {
	if l.n--; l.n == 0 {
		runtime.Goexit()
	}
}

// unwound starts a run on its own goroutine, which does not return, and
// returns what remains of it: the result and a valid trace.
func unwound(t *testing.T, name string, m llm.Model, cfg loop.Config, use func(*loop.Run)) (*loop.Result, []trace.Event, error) {
	t.Helper()
	var events []trace.Event
	cfg.Sink = trace.SinkFunc(func(ev trace.Event) error {
		events = append(events, ev)
		return nil
	})
	run := newAgent(t, m, cfg).Start(t.Context(), loop.Prompt("go"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		use(run)
		t.Errorf("%s: the goroutine came back", name)
	}()
	<-done
	res, err := run.Wait()
	for _, v := range violations(events) {
		t.Errorf("%s: %s: event %d: %s", name, v.Invariant, v.Event, v.Message)
	}
	if n := len(of[trace.RunEnd](events)); n != 1 {
		t.Errorf("%s: %d ends in %s", name, n, kinds(events))
	}
	return res, events, err
}

func wait(run *loop.Run) { _, _ = run.Wait() }

// A tool that ends its goroutine is contained where it has one of its own. Where
// it runs alone, on the caller's, the run ends with an error and is complete.
func TestGoexit(t *testing.T) {
	exit := tool("exit", func(context.Context) (string, error) {
		runtime.Goexit()
		return "", nil
	})
	res, events := mustRun(t, model(calls("exit", "a"), text("done")), loop.Config{Tools: []loop.Tool{exit, echo("a")}})
	if got := resultTexts(res.Messages); got[0] != loop.ExitedText || !res.Steps[0].Results[0].IsError || got[1] != "{}" {
		t.Errorf("together: got %q", got)
	}
	if got := of[trace.ToolEnd](events)[0].Outcome; got != trace.OutcomePanic && of[trace.ToolEnd](events)[1].Outcome != trace.OutcomePanic {
		t.Errorf("together: got %+v", of[trace.ToolEnd](events))
	}

	res, events, err := unwound(t, "alone", model(calls("nope", "a", "exit", "a#x", "nope#y")), loop.Config{Tools: []loop.Tool{exit, echo("a")}, Concurrency: 1}, wait)
	if !strings.Contains(err.Error(), "ended from within: a tool, ") || res.StopReason != trace.ReasonError || res.Pending != nil || len(res.Steps) != 0 || res.ToolSteps != 1 {
		t.Errorf("alone: got %v, %+v", err, res)
	}
	want := []string{`there is no tool "nope"; the tools are exit, a`, "{}", loop.ExitedText, "not run: the run was cancelled", `there is no tool "nope"; the tools are exit, a`}
	if diff := cmp.Diff(want, resultTexts(res.Messages)); diff != "" {
		t.Errorf("alone: results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("run.start step.start model.config model.request model.response decision tool.skip tool.skip tool.start tool.end tool.start tool.end tool.skip decision step.end run.end", kinds(events)); diff != "" {
		t.Errorf("alone: events (-want +got):\n%s", diff)
	}
	if got := of[trace.ToolEnd](events)[1]; got.Outcome != trace.OutcomePanic || !got.Result.IsError {
		t.Errorf("alone: got %+v", got)
	}
}

// A wrap that ended its goroutine before the tool was entered, and kept what enters
// it: the call has its result by then, and the tool is not entered any more.
func TestGoexitInWrap(t *testing.T) {
	for name, c := range map[string]struct {
		response fake.Response
		sink     trace.Sink
		want     string // the result of each call
	}{
		"together":              {calls("a", "a"), &trace.Memory{}, loop.ExitedText},
		"together, unlooked at": {calls("a", "a"), nil, loop.ExitedText},
		"alone":                 {calls("a"), nil, "not run: the run was ended"},
	} {
		entered := 0
		a := tool("a", func(context.Context) (string, error) { entered++; return "", nil })
		kept := make(chan func() error, 2)
		late := named("late", loop.Hooks{
			WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
				return func(ctx context.Context, c loop.Call) (loop.Output, error) {
					kept <- func() error { _, err := next(ctx, c); return err }
					runtime.Goexit()
					return loop.Output{}, nil
				}
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) {
				for _, text := range resultTexts(res.Messages) {
					if text != c.want {
						t.Errorf("%s: got the result %q, want %q", name, text, c.want)
					}
					if err := (<-kept)(); err == nil || !strings.Contains(err.Error(), "after the call had its result") {
						t.Errorf("%s: the tool was run late, with the error %v", name, err)
					}
				}
				return res, nil
			},
		})
		run := newAgent(t, model(c.response, text("done")), loop.Config{Tools: []loop.Tool{a}, Middleware: []loop.Middleware{late}, Sink: c.sink}).Start(t.Context(), loop.Prompt("go"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			wait(run)
		}()
		<-done
		if len(kept) > 0 || entered > 0 {
			t.Errorf("%s: %d calls got no result, and %d tools were entered", name, len(kept), entered)
		}
	}
}

// Whatever else ends the goroutine of the run, the trace is complete, and a waiting
// caller gets an error.
func TestGoexitAnywhere(t *testing.T) {
	ends := map[string]string{ // what the trace ends with
		"a policy's making": "run.start decision run.end",
		"start":             "run.start decision run.end",
		"before":            "decision run.end",
		"wrap model":        "step.start decision step.end run.end",
		"wrap model, after": "model.response decision step.end run.end",
		"the model":         "model.request model.error decision step.end run.end",
		"after model":       "model.response decision step.end run.end",
		"batch":             "model.response decision step.end run.end",
		"wrap tool":         "tool.start tool.end decision step.end run.end",
		"OnStep":            "tool.end decision step.end run.end",
		"after":             "tool.end decision step.end run.end",
		"stop condition":    "tool.end decision step.end run.end",
		"end":               "step.end decision run.end",
	}
	for name, want := range ends {
		for _, step := range []int{1, 2} {
			l := &leave{n: step}
			if name == "a policy's making" || name == "start" || name == "end" {
				l.n = 1
			}
			at := func(place string) {
				if place == name {
					l.now()
				}
			}
			m := model(calls("a#1"), calls("a#2"), text("x"))
			stream := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
				at("the model")
				return m.Stream(ctx, req)
			})
			p := loop.Middleware{Name: "p", New: func(loop.RunInfo) loop.Hooks {
				at("a policy's making")
				return exits(at)
			}}
			res, events, err := unwound(t, fmt.Sprint(name, " ", step), stream, loop.Config{
				Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}, OnStep: func(loop.Step) { at("OnStep") },
				StopWhen: []loop.StopCondition{{Stop: func(context.Context, *loop.StepInfo) (bool, error) { at("stop condition"); return false, nil }}},
			}, wait)
			if !strings.Contains(err.Error(), "ended from within") || res.StopReason != trace.ReasonError {
				t.Errorf("%s: got %v, stop %q", name, err, res.StopReason)
			}
			if got := kinds(events); !strings.HasSuffix(got, want) {
				t.Errorf("%s: the trace is\n%s, want it to end with\n%s", name, got, want)
			}
		}
	}
}

// exits are hooks that call at in each place.
func exits(at func(place string)) loop.Hooks {
	return loop.Hooks{
		Start: func(ctx context.Context) (context.Context, error) { at("start"); return ctx, nil },
		BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
			at("before")
			return loop.StepChange{}, nil
		},
		WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, c loop.ModelCall) (*llm.Response, error) {
				at("wrap model")
				defer at("wrap model, after")
				return next(ctx, c)
			}
		},
		AfterModel: func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) {
			at("after model")
			return loop.Decision{}, nil
		},
		BeforeTools: editCalls(func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error) {
			at("batch")
			return loop.Decision{}, nil
		}),
		WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, c loop.Call) (loop.Output, error) {
				at("wrap tool")
				return next(ctx, c)
			}
		},
		AfterStep: func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) {
			at("after")
			return loop.Decision{}, nil
		},
		End: func(_ context.Context, res loop.Result) (loop.Result, error) { at("end"); return res, nil },
	}
}

// A consumer that panics or ends its goroutine, at whatever event, leaves a
// complete trace as well; also at those of a run whose tool has ended it.
func TestConsumerEndsGoroutine(t *testing.T) {
	exit := tool("exit", func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
	for _, width := range []int{1, 3} {
		for name, end := range map[string]func(){"panic": func() { panic("no") }, "exit": runtime.Goexit} {
			for n := 0; ; n++ {
				seen, last := 0, false
				m := model(calls("a", "d", "nope", "a#y"), calls("exit#z", "nope#w"))
				_, events, err := unwound(t, fmt.Sprintf("%s at event %d, %d at once", name, n, width), m, loop.Config{
					Tools: []loop.Tool{echo("a"), defaulted(t, "d"), exit}, Concurrency: width,
				}, func(run *loop.Run) {
					for ev, err := range run.Events() {
						if last = ev.Body.Kind() == trace.KindRunEnd; seen == n || last || err != nil {
							end()
						}
						seen++
					}
				})
				if last {
					break
				}
				if got := of[trace.RunEnd](events)[0]; err == nil || got.Error == nil || got.StopReason != trace.ReasonError {
					t.Errorf("%s at event %d: got %+v", name, n, got)
				}
			}
		}
	}
}

// defaulted is a tool whose arguments get a default.
func defaulted(t *testing.T, name string) loop.Tool {
	t.Helper()
	x, err := loop.RawTool(name, "", []byte(`{"type":"object","properties":{"m":{"type":"integer","default":7}}}`), func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.TextOutput(c.Arguments), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}
