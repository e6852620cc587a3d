package loop_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// teller is a policy that adds an event and a warning in each of its hooks, called
// as the place is, and notes where none was taken.
type teller struct {
	s       *loop.StepInfo
	refused []string
}

func (e *teller) tell(place string) {
	err := e.s.Emit(place, []byte("1"))
	if warned := e.s.Warn(place, "odd"); !errors.Is(warned, err) {
		panic(warned)
	}
	if errors.Is(err, loop.ErrEventNotAllowed) {
		e.refused = append(e.refused, place)
	}
}

func (e *teller) hooks() loop.Hooks {
	return loop.Hooks{
		BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			e.s = s
			e.tell("before")
			return loop.StepChange{}, nil
		},
		WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
				e.tell("call")
				defer e.tell("called")
				return next(ctx, call)
			}
		},
		AfterModel: func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) {
			e.tell("turn")
			return loop.Decision{}, nil
		},
		BeforeTools: editCalls(func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error) {
			e.tell("batch")
			return loop.Decision{}, nil
		}),
		WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				e.tell("tool")
				return next(ctx, call)
			}
		},
		AfterStep: func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) {
			e.tell("after")
			return loop.Decision{}, nil
		},
		End: func(_ context.Context, res loop.Result) (loop.Result, error) {
			e.tell("end")
			return res, nil
		},
	}
}

// Middleware may emit events in its hooks, but not while tools run: their order would be
// undefined.
func TestMiddlewareEvents(t *testing.T) {
	for _, width := range []int{1, 2} {
		e := &teller{}
		_, events := mustRun(t, model(calls("a", "a"), text("done")), loop.Config{
			Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{named("p", e.hooks())}, Concurrency: width, Clock: fake.NewClock(),
		})
		checkInvariants(t, "reported", events)
		e.tell("afterwards")
		if diff := cmp.Diff([]string{"tool", "tool", "afterwards"}, e.refused); diff != "" {
			t.Errorf("concurrency %d: rejected (-want +got):\n%s", width, diff)
		}
		var got, warned []string
		for _, c := range of[trace.Custom](events) {
			got = append(got, c.Name)
		}
		for _, w := range of[trace.Warning](events) {
			warned = append(warned, w.Code)
		}
		want := []string{"before", "call", "called", "turn", "batch", "after", "before", "call", "called", "turn", "end"}
		if diff := cmp.Diff([][]string{want, want}, [][]string{got, warned}); diff != "" {
			t.Errorf("concurrency %d: events and warnings (-want +got):\n%s", width, diff)
		}
	}
}

// After a call was abandoned, middleware must not emit events: a wrap may still run.
func TestMiddlewareEventsAfterAbandonedCall(t *testing.T) {
	clock := fake.NewClock()
	e := &teller{}
	deaf := tool("deaf", func(context.Context) (string, error) { return "", clock.Sleep(context.Background(), time.Hour) })
	_, events, err := ran(t, model(calls("deaf", "a"), text("done")), loop.Config{
		Tools: []loop.Tool{deaf, echo("a")}, Middleware: []loop.Middleware{named("p", e.hooks())}, Clock: clock, Deadline: time.Second, Grace: time.Second,
	})
	if derr := clock.Drain(); !errors.Is(err, loop.ErrDeadline) || derr != nil {
		t.Errorf("got %v, drain %v", err, derr)
	}
	checkInvariants(t, "abandoned", events)
	if diff := cmp.Diff([]string{"tool", "tool", "end"}, e.refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// A goroutine that a hook left running adds no event outside of hooks, at whatever time, and does
// not race with the run.
func TestEventsOfLateGoroutines(t *testing.T) {
	const steps = 6
	for _, wraps := range []bool{false, true} {
		var left sync.WaitGroup
		stop := make(chan struct{})
		added := 0
		var kept *loop.StepInfo
		start := func(s *loop.StepInfo) {
			kept = s
			left.Go(func() {
				for {
					err := s.Emit("late", []byte("1"))
					if err == nil {
						added++
					} else if !errors.Is(err, loop.ErrEventNotAllowed) {
						t.Error(err)
					}
					runtime.Gosched()
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		h := loop.Hooks{
			BeforeTools: editCalls(func(_ context.Context, s *loop.StepInfo, _ []*loop.PlannedCall) (loop.Decision, error) {
				if s.Step == 0 {
					start(s)
				}
				return loop.Decision{}, nil
			}),
			AfterStep: func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) {
				runtime.Gosched()
				return loop.Decision{}, nil
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) {
				close(stop)
				left.Wait()
				return res, nil
			},
		}
		if wraps {
			h.WrapModel = func(next loop.ModelFunc) loop.ModelFunc {
				return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
					runtime.Gosched()
					return next(ctx, call)
				}
			}
		}
		var responses []fake.Response
		for range steps {
			responses = append(responses, calls("a", "a"))
		}
		_, events := mustRun(t, model(append(responses, text("done"))...), loop.Config{
			Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{named("p", h)}, Clock: fake.NewClock(), MaxSteps: steps + 2,
		})
		if err := kept.Emit("late", []byte("1")); !errors.Is(err, loop.ErrEventNotAllowed) {
			t.Errorf("after the run: %v", err)
		}
		late := 0
		for i, ev := range events {
			if ev.Seq != i {
				t.Fatalf("event %d has the number %d", i, ev.Seq)
			}
			if c, is := ev.Body.(trace.Custom); is && c.Name == "late" {
				late++
			}
		}
		if late != added {
			t.Errorf("%d events in the trace, %d added", late, added)
		}
	}
}
