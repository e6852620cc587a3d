package loop_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// lateClock begins the n-th function, counted from 1, an hour late. The first one
// of a run with a grace period is that which watches over it.
type lateClock struct {
	*fake.Clock
	n int
}

func (c *lateClock) Go(f func()) {
	if c.n--; c.n != 0 {
		c.Clock.Go(f)
		return
	}
	c.Clock.Go(func() {
		_ = c.Sleep(context.Background(), time.Hour)
		f()
	})
}

// If the run is canceled before a call enters its tool, the call never enters it. This holds if
// the wrap is late or the goroutine of the call is, and with and without a grace period.
func TestCanceledBeforeEntry(t *testing.T) {
	const never, deaf = "not run: the run was cancelled before the tool was entered", "the tool did not stop after the run was cancelled, and was abandoned"
	for name, c := range map[string]struct {
		late        int
		wrap, stays time.Duration // how long the wrap takes before the tool, and the tool
		want        []string
		wraps       int // that are begun, at any time
		entered     int
		lost        int // that are abandoned
	}{
		"nothing":           {0, 0, 0, []string{"paid", "paid"}, 2, 2, 0},
		"a tool":            {0, 0, time.Hour, []string{deaf, deaf}, 2, 2, 2},
		"a wrap":            {0, time.Hour, 0, []string{never, never}, 2, 0, 2},
		"a wrap, a little":  {0, 2 * time.Second, 0, []string{never, never}, 2, 0, 0},
		"the first's start": {2, 0, 0, []string{never, "paid"}, 1, 1, 1},
		"the other's start": {3, 0, 0, []string{"paid", never}, 1, 1, 1},
	} {
		clock := &lateClock{fake.NewClock(), c.late}
		wraps, entered, refused := 0, 0, 0
		wrap := named("wrap", loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				wraps++
				_ = clock.Sleep(context.Background(), c.wrap)
				out, err := next(ctx, call)
				if err != nil {
					refused++
				}
				return out, err
			}
		}})
		pay := tool("pay", func(context.Context) (string, error) {
			entered++
			return "paid", clock.Sleep(context.Background(), c.stays)
		})
		res, events, err := ran(t, model(calls("pay", "pay#x"), text("done")), loop.Config{
			Clock: clock, Deadline: time.Second, Grace: 2 * time.Second, Tools: []loop.Tool{pay}, Middleware: []loop.Middleware{wrap},
		})
		if name != "nothing" && !errors.Is(err, loop.ErrDeadline) {
			t.Errorf("%s: got %v", name, err)
		}
		before := entered
		if err := clock.Drain(); err != nil || entered != before || entered != c.entered || wraps != c.wraps || refused != wraps-entered {
			t.Errorf("%s: the tool was called %d times, then %d; %d wraps, %d of them rejected; %v", name, before, entered, wraps, refused, err)
		}
		checkInvariants(t, name, events)
		if diff := cmp.Diff(c.want, resultTexts(res.Messages)); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", name, diff)
		}
		if got := len(of[trace.Abandoned](events)); got != c.lost {
			t.Errorf("%s: %d calls are abandoned, want %d", name, got, c.lost)
		}
	}
}

// A wrap may keep next. After the call has its result, next runs nothing.
func TestEntryAfterResult(t *testing.T) {
	entered := 0
	var later func() (loop.Output, error)
	p := named("p", loop.Hooks{
		WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				later = func() (loop.Output, error) { return next(ctx, call) }
				return loop.TextOutput("mine"), nil
			}
		},
		AfterStep: func(context.Context, *loop.StepInfo, *loop.Step) (loop.Decision, error) {
			if _, err := later(); err == nil {
				t.Error("the tool was run for a call that has its result")
			}
			return loop.Decision{}, nil
		},
	})
	res, err := runChecked(t, "later", model(calls("a"), text("done")), loop.Config{
		Middleware: []loop.Middleware{p}, Tools: []loop.Tool{tool("a", func(context.Context) (string, error) { entered++; return "own", nil })},
	})
	if diff := cmp.Diff([]string{"mine"}, resultTexts(res.Messages)); diff != "" || entered != 0 || err != nil {
		t.Errorf("entered %d times, %v; results (-want +got):\n%s", entered, err, diff)
	}
}

// A kept next runs nothing during the calls of the next step.
func TestEntryInNextStep(t *testing.T) {
	entered := 0
	var earlier func() (loop.Output, error)
	p := named("p", loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
		return func(ctx context.Context, call loop.Call) (loop.Output, error) {
			if earlier == nil {
				earlier = func() (loop.Output, error) { return next(ctx, call) }
				return loop.TextOutput("mine"), nil
			}
			if out, err := earlier(); err == nil {
				t.Errorf("the tool was run for a call of the step before, and gave %v", out)
			}
			return next(ctx, call)
		}
	}})
	res, err := runChecked(t, "next step", model(calls("a"), calls("a"), text("done")), loop.Config{
		Middleware: []loop.Middleware{p}, Tools: []loop.Tool{tool("a", func(context.Context) (string, error) { entered++; return "own", nil })},
	})
	if diff := cmp.Diff([]string{"mine", "own"}, resultTexts(res.Messages)); diff != "" || entered != 1 || err != nil {
		t.Errorf("entered %d times, %v; results (-want +got):\n%s", entered, err, diff)
	}
}

// An abandoned call that continues to run changes nothing that the run still uses. The race
// detector verifies this.
func TestAbandonedCallsShareNothing(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		a := newAgent(t, model(calls("a", "a", "a", "a", "a"), text("done")), loop.Config{
			Grace: time.Nanosecond, Tools: []loop.Tool{tool("a", func(context.Context) (string, error) {
				cancel()
				runtime.Gosched()
				return "", nil
			})},
		})
		if _, err := a.Run(ctx, loop.Prompt("go")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// A wrap that keeps the StepInfo of a step and changes it while tools run does not change the
// step that the trace and the tools get.
func TestStepInfoChangedWhileToolsRun(t *testing.T) {
	for _, width := range []int{1, 2} {
		var kept *loop.StepInfo
		var told []int
		p := named("p", loop.Hooks{
			BeforeTools: editCalls(func(_ context.Context, s *loop.StepInfo, _ []*loop.PlannedCall) (loop.Decision, error) {
				kept = s
				return loop.Decision{}, nil
			}),
			WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
				return func(ctx context.Context, call loop.Call) (loop.Output, error) {
					kept.Step = 77
					return next(ctx, call)
				}
			},
		})
		note := loop.Tool{Name: "note", Run: func(_ context.Context, call loop.Call) (loop.Output, error) {
			told = append(told, call.Step)
			return loop.TextOutput(""), nil
		}}
		_, events := mustRun(t, model(calls("note", "note"), text("done")), loop.Config{
			Concurrency: width, Clock: fake.NewClock(), Tools: []loop.Tool{note}, Middleware: []loop.Middleware{p},
		})
		checkInvariants(t, "changed", events)
		if diff := cmp.Diff([]int{0, 0}, told); diff != "" {
			t.Errorf("concurrency %d: steps in the tools' contexts (-want +got):\n%s", width, diff)
		}
	}
}

// A consumer that panics or ends its goroutine cancels the tools, at each event. Tools that
// do not stop are abandoned after the grace period.
func TestGraceWithoutConsumer(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("no") }, "exit": runtime.Goexit} {
		for n := 0; ; n++ {
			clock := fake.NewClock()
			deaf := tool("deaf", func(context.Context) (string, error) { return "", clock.Sleep(context.Background(), time.Hour) })
			seen, last := 0, false
			begun := clock.Now()
			at := fmt.Sprintf("%s at event %d", name, n)
			_, events, _ := unwound(t, at, model(calls("deaf", "deaf"), text("done")), loop.Config{
				Clock: clock, Deadline: time.Second, Grace: 2 * time.Second, Tools: []loop.Tool{deaf},
			}, func(run *loop.Run) {
				for ev, err := range run.Events() { // the last one comes with the run's error
					_ = err
					if last = ev.Body.Kind() == trace.KindRunEnd; seen == n || last {
						end()
					}
					seen++
				}
			})
			if took := clock.Now().Sub(begun); took > 3*time.Second {
				t.Errorf("%s: the run took %v", at, took)
			}
			var lost []string
			for _, a := range of[trace.Abandoned](events) {
				lost = append(lost, a.ToolCallID)
			}
			var want []string
			for _, r := range of[trace.ToolEnd](events) {
				switch text := r.Result.Text(); {
				case strings.Contains(text, "was abandoned"):
					want = append(want, r.ToolCallID)
				case !strings.HasPrefix(text, "not run: "): // those that were begun, and not entered yet
					t.Errorf("%s: got %+v", at, r)
				}
			}
			if diff := cmp.Diff(want, lost); diff != "" {
				t.Errorf("%s: abandoned calls (-want +got):\n%s", at, diff)
			}
			if err := clock.Drain(); err != nil {
				t.Errorf("%s: %v", at, err)
			}
			if last {
				break
			}
		}
	}
}
