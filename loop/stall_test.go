package loop_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// patient runs an agent whose stall timeout is ten seconds, and returns the duration.
func patient(t *testing.T, clock *fake.Clock, m llm.Model, cfg loop.Config) (*loop.Result, []trace.Event, time.Duration, error) {
	t.Helper()
	cfg.Clock, cfg.StallTimeout = clock, 10*time.Second
	begun := clock.Now()
	res, events, err := ran(t, m, cfg)
	if n := clock.Live(); n != 0 {
		t.Errorf("%d tasks outlive the run", n)
	}
	return res, events, clock.Now().Sub(begun), err
}

func stalled(t *testing.T, err error, res *loop.Result) {
	t.Helper()
	if !errors.Is(err, loop.ErrStalled) || res.StopReason != trace.ReasonDeadline {
		t.Errorf("the run stopped by %s with %v, want %s with %v", res.StopReason, err, trace.ReasonDeadline, loop.ErrStalled)
	}
	if want := "loop: step 0: the model delivered no event for 10s"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}

// A response that stalls fails ten seconds after its last event. It is not retried, since a
// part was delivered, and its calls are not run.
func TestStall(t *testing.T) {
	clock := fake.NewClock()
	response := calls("a")
	response.Text, response.EventInterval, response.Stall = "Let me", 9*time.Second, true
	m := &fake.Model{Clock: clock, Responses: []fake.Response{response}}
	res, events, took, err := patient(t, clock, m, loop.Config{Tools: []loop.Tool{echo("a")}, Retry: loop.Retry{Max: 3}})
	stalled(t, err, res)
	if got := res.Partial.Text(); got != "Let me" || len(of[trace.ToolStart](events)) != 0 {
		t.Errorf("%q came, and tools were entered: %v", got, of[trace.ToolStart](events))
	}
	if want := 3*9*time.Second + 10*time.Second; took != want { // text, start, arguments and end
		t.Errorf("took %v, want %v", took, want)
	}
}

// A response without any event is retried.
func TestStallRetried(t *testing.T) {
	clock := fake.NewClock()
	m := &fake.Model{Clock: clock, Responses: []fake.Response{{Attempts: []fake.Response{{Stall: true}, {Delay: 9 * time.Second, Text: "done"}}}}}
	res, events, took, err := patient(t, clock, m, loop.Config{Retry: loop.Retry{Max: 1, Base: time.Second}})
	if err != nil || res.Text != "done" || took != 20*time.Second {
		t.Errorf("got %q after %v, %v", res.Text, took, err)
	}
	if diff := cmp.Diff([]string{"deadline"}, kindsOf(events)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func kindsOf(events []trace.Event) (kinds []string) {
	for _, e := range of[trace.ModelError](events) {
		kinds = append(kinds, e.Error.Type)
	}
	return kinds
}

// The time of a consumer does not count for the stall timeout.
func TestStallListener(t *testing.T) {
	clock := fake.NewClock()
	m := &fake.Model{Clock: clock, Responses: []fake.Response{{Chunks: []string{"o", "ne"}, EventInterval: 9 * time.Second}}}
	slow := trace.SinkFunc(func(ev trace.Event) error {
		if _, ok := ev.Body.(trace.ModelDelta); ok {
			return clock.Sleep(context.Background(), 25*time.Second)
		}
		return nil
	})
	res, _, took, err := patient(t, clock, m, loop.Config{Deltas: true, Sink: slow})
	if err != nil || res.Text != "one" || took < 50*time.Second {
		t.Errorf("got %q after %v, %v", res.Text, took, err)
	}
}

// silent returns a model that ends with its context, with or without an error.
func silent(word error) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if !yield(llm.ToolCallStart{Index: 1, ID: "c1", Name: "a"}, nil) {
				return
			}
			<-ctx.Done()
			if word != nil {
				yield(nil, word)
			}
		}
	})
}

// In real time, and whatever the model reports at its end.
func TestStallInRealTime(t *testing.T) {
	for name, m := range map[string]llm.Model{"with a word": silent(context.Canceled), "without a word": silent(nil)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := loop.SystemClock{} // the bubble's
				begun := clock.Now()
				res, err := newAgent(t, m, loop.Config{StallTimeout: 10 * time.Second, Tools: []loop.Tool{echo("a")}}).Run(t.Context(), loop.Prompt("go"))
				stalled(t, err, res)
				if took := clock.Now().Sub(begun); took != 10*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
	goleak.VerifyNone(t)
}

// What the model's own error was, and a cancel, stay what they are.
func TestStallOtherEnds(t *testing.T) {
	oh := errors.New("oh")
	clock := fake.NewClock()
	_, _, _, err := patient(t, clock, &fake.Model{Clock: clock, Responses: []fake.Response{{Err: oh}}}, loop.Config{})
	if !errors.Is(err, oh) || errors.Is(err, loop.ErrStalled) {
		t.Errorf("got %v", err)
	}
	clock = fake.NewClock()
	_, _, took, err := patient(t, clock, &fake.Model{Clock: clock, Responses: []fake.Response{{Stall: true}}}, loop.Config{Deadline: time.Second})
	if !errors.Is(err, loop.ErrDeadline) || took != time.Second {
		t.Errorf("got %v after %v", err, took)
	}
}
