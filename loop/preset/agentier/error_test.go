package agentier_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentier"
	"github.com/looptape/looptape/trace"
)

type count struct {
	N int `json:"n"`
}

// AG-39: each failure of a run has its code; AG-12, AG-13 and AG-14 are among the cases.
func TestCodes(t *testing.T) {
	errMine := errors.New("enough")
	hang := fake.Response{Stall: true}
	for name, c := range map[string]struct {
		cfg   loop.Config
		turns []fake.Response
		stop  func(ctx context.Context, clock loop.Clock) (context.Context, context.CancelFunc)
		code  string
		cause error
		took  time.Duration // 0 means any
	}{
		"the model fails":            {turns: []fake.Response{{Err: errMine}}, code: "MODEL_ERROR", cause: errMine},
		"the model stalls":           {cfg: loop.Config{StallTimeout: time.Second}, turns: []fake.Response{hang}, code: "MODEL_ERROR", cause: loop.ErrStalled},
		"the model reports canceled": {turns: []fake.Response{{Err: context.Canceled}}, code: "MODEL_ERROR", cause: context.Canceled},
		"all retries fail":           {cfg: retrying(1), turns: []fake.Response{{Error: &fake.Failure{Status: 503}}}, code: "MODEL_ERROR"},
		"the time is over":           {turns: []fake.Response{hang}, code: "TIMEOUT", cause: loop.ErrDeadline, took: time.Minute},
		"the time is over in a wait": {cfg: retryingFor(2500 * time.Millisecond), turns: []fake.Response{{Error: &fake.Failure{Status: 503}}},
			code: "TIMEOUT", cause: loop.ErrDeadline, took: 2500 * time.Millisecond},
		"a policy fails": {cfg: loop.Config{Middleware: []loop.Middleware{middleware.Wrap("p", func(context.Context, *middleware.Action, func(context.Context) error) error { return errMine })}},
			cause: errMine},
		"canceled": {turns: []fake.Response{hang}, code: "ABORTED", cause: context.Canceled,
			stop: after(time.Second, context.Canceled)},
		"canceled for a reason": {turns: []fake.Response{hang}, code: "ABORTED", cause: errMine, stop: after(time.Second, errMine)},
		"canceled in a wait": {cfg: retrying(3), turns: []fake.Response{{Error: &fake.Failure{Status: 503}}},
			code: "ABORTED", cause: errMine, stop: after(500*time.Millisecond, errMine), took: 500 * time.Millisecond},
		"the caller's time is over": {turns: []fake.Response{hang}, code: "TIMEOUT", cause: context.DeadlineExceeded, stop: after(time.Second, context.DeadlineExceeded)},
		"canceled, time returns":    {cfg: loop.Config{DeadlineReturns: true}, turns: []fake.Response{hang}, code: "ABORTED", cause: context.Canceled, stop: after(time.Second, context.Canceled)},
		"canceled, then over":       {turns: []fake.Response{hang}, code: "ABORTED", cause: errMine, stop: after(59*time.Second, errMine)},
		"over, then canceled":       {turns: []fake.Response{hang}, code: "TIMEOUT", cause: loop.ErrDeadline, stop: after(61*time.Second, errMine)},
	} {
		for entry, run := range map[string]func(context.Context, *agentier.Agent, *agentier.RunOptions) (*agentier.Result, error){
			"Run": func(ctx context.Context, a *agentier.Agent, opts *agentier.RunOptions) (*agentier.Result, error) {
				return a.Run(ctx, loop.Prompt("go"), opts)
			},
			"RunFor": func(ctx context.Context, a *agentier.Agent, opts *agentier.RunOptions) (*agentier.Result, error) {
				_, res, err := agentier.RunFor[count](ctx, a, loop.Prompt("go"), 0, opts)
				return res, err
			},
		} {
			name := name + ", " + entry
			clock := fake.NewClock()
			c.cfg.Model, c.cfg.Clock = "m", clock
			a, err := agentier.New(&fake.Model{Clock: clock, Responses: c.turns}, &c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if c.stop != nil {
				ctx, cancel = c.stop(ctx, clock)
			}
			var reported []error // AG-29
			begun := clock.Now()
			res, err := run(ctx, a, &agentier.RunOptions{
				OnError:    func(err error) { reported = append(reported, err) },
				OnComplete: func(*agentier.Result) { t.Errorf("%s: OnComplete was called", name) }, // AG-28
			})
			cancel()
			if took := clock.Now().Sub(begun); len(reported) != 1 || reported[0] != err || c.took != 0 && took != c.took {
				t.Errorf("%s: OnError got %v after %v, want %v once after %v", name, reported, took, err, c.took)
			}
			var code string
			if e, ok := errors.AsType[*agentier.Error](err); ok {
				code = e.Code
			}
			if res != nil || code != c.code || !errors.Is(err, c.cause) && c.cause != nil {
				t.Errorf("%s: got %+v, code %q, error %v; want code %q of %v", name, res, code, err, c.code, c.cause)
			}
		}
	}
}

// retrying returns a configuration with the retry middleware.
func retrying(maxRetries int) loop.Config {
	return loop.Config{Middleware: []loop.Middleware{agentier.Retry(loop.Retry{Max: maxRetries})}}
}

// retryingFor has a time limit, too.
func retryingFor(limit time.Duration) loop.Config {
	cfg := retrying(3)
	cfg.Deadline = limit
	return cfg
}

// after returns a function that ends a context after this time with this cause.
func after(d time.Duration, cause error) func(context.Context, loop.Clock) (context.Context, context.CancelFunc) {
	return func(ctx context.Context, clock loop.Clock) (context.Context, context.CancelFunc) {
		return clock.WithTimeout(ctx, d, cause)
	}
}

// AG-53: a failure of a run is an *Error with its code, which errors.As finds. The cause of a
// MODEL_ERROR is the provider's own error.
func TestErrorType(t *testing.T) {
	boom := errors.New("boom")
	cause := map[string]error{"MODEL_ERROR": boom, "TIMEOUT": loop.ErrDeadline, "ABORTED": context.Canceled}
	var got []string
	for _, turn := range []fake.Response{{Err: boom}, {Text: "no JSON"}, {Stall: true}, {Stall: true, Text: "abort"}} {
		a, m := newAgent(t, loop.Config{}, turn)
		ctx, cancel := context.WithCancel(t.Context())
		if turn.Text == "abort" {
			m.Clock.AfterFunc(time.Second, cancel)
		}
		_, _, err := agentier.RunFor[count](ctx, a, loop.Prompt("go"), 0, nil)
		cancel()
		e, ok := errors.AsType[*agentier.Error](fmt.Errorf("wrapped: %w", err))
		if !ok {
			t.Fatalf("%+v: got %v", turn, err)
		}
		got = append(got, e.Code)
		if want := cause[e.Code]; want != nil && !errors.Is(e.Unwrap(), want) {
			t.Errorf("%s: the cause is %v, want %v", e.Code, e.Err, want)
		}
		if _, ok := errors.AsType[*middleware.OutputError](err); ok != (e.Code == "OUTPUT_PARSE_ERROR") {
			t.Errorf("%s: the cause is %v", e.Code, e.Err)
		}
	}
	if diff := cmp.Diff([]string{"MODEL_ERROR", "OUTPUT_PARSE_ERROR", "TIMEOUT", "ABORTED"}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// AG-03, AG-13: the time limit is checked before each iteration, also if the time was over between
// two of them.
func TestTimeBetweenIterations(t *testing.T) {
	for _, c := range []struct{ returns, aborts bool }{{}, {returns: true}, {aborts: true}, {returns: true, aborts: true}} {
		var mem trace.Memory
		clock := fake.NewClock()
		ctx, abort := context.WithCancel(t.Context())
		begun := 0
		waits := loop.Middleware{Name: "waits", New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (s loop.StepChange, err error) {
				begun++
				return s, nil
			}, AfterStep: func(context.Context, *loop.StepInfo, *loop.Step) (d loop.Decision, err error) {
				if c.aborts {
					abort()
				}
				return d, clock.Sleep(t.Context(), 2*time.Minute)
			}}
		}}
		returns, code := c.returns && !c.aborts, "TIMEOUT" // an abort has no mode
		if c.aborts {
			code = "ABORTED"
		}
		a, m := newAgent(t, loop.Config{Sink: &mem, DeadlineReturns: c.returns, Middleware: []loop.Middleware{waits}}, calling("c1"), saying("never"))
		clock = m.Clock
		res, err := a.Run(ctx, loop.Prompt("go"), nil)
		abort()
		steps := 0
		for _, ev := range mem.Events() {
			if _, ok := ev.Body.(trace.StepStart); ok {
				steps++
			}
		}
		e, failed := errors.AsType[*agentier.Error](err)
		if n := len(m.RecordedRequests()); n != 1 || steps != 1 || begun != 1 || failed == returns {
			t.Errorf("%+v: got %+v, %v after %d steps and %d requests", c, res, err, steps, n)
		}
		if returns && (res == nil || res.Stop != trace.ReasonDeadline || res.Usage.Iterations != 1) || failed && e.Code != code {
			t.Errorf("%+v: got %+v, %v", c, res, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := &agentier.Error{Code: "ABORTED", Err: context.Canceled}
	if got := err.Error(); got != "agentier: ABORTED: context canceled" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %q", got)
	}
}

// released counts the time limits that were started and those that were released.
type released struct {
	*fake.Clock
	begun, ended int
}

func (c *released) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := c.Clock.WithTimeout(ctx, d, cause)
	c.begun++
	return ctx, func() { c.ended++; cancel() }
}

// AG-11: the timer of a run is released at its end, for each kind of end.
func TestTimerIsReleased(t *testing.T) {
	for _, turn := range []fake.Response{{Text: "done"}, {Error: &fake.Failure{Status: 500}}, {Stall: true}, {Calls: []fake.Call{{Name: "a", Arguments: "{}"}}, Repeat: 20}} {
		clock := &released{Clock: fake.NewClock()}
		a, err := agentier.New(&fake.Model{Clock: clock.Clock, Responses: []fake.Response{turn}}, &loop.Config{Model: "m", Clock: clock, Tools: []loop.Tool{echo(clock.Clock)}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = a.Run(t.Context(), loop.Prompt("go"), nil)
		if clock.begun != 1 || clock.ended != 1 {
			t.Errorf("%+v: %d timers begun, %d released", turn, clock.begun, clock.ended)
		}
	}
}

// AG-37, AG-38: the output of a run is a typed value, or the error contains its text.
func TestRunFor(t *testing.T) {
	say := func(texts ...string) []fake.Response {
		turns := []fake.Response{calling("c1")}
		for _, s := range texts {
			turns = append(turns, saying(s))
		}
		return turns
	}
	for name, c := range map[string]struct {
		reAsks int
		turns  []fake.Response
		want   *count
		fails  string
	}{
		"a value":     {turns: say(`{"n":1}`), want: &count{1}},
		"retried":     {reAsks: 1, turns: say("nope", `{"n":2}`), want: &count{2}},
		"not retried": {turns: say("nope"), fails: "nope"},
		"in vain":     {reAsks: 2, turns: say("no", `{"n":"one"}`, "nope"), fails: "nope"},
		"too large":   {turns: say(`{"n":99999999999999999999}`), fails: `{"n":99999999999999999999}`},
	} {
		a, _ := newAgent(t, loop.Config{}, c.turns...)
		var reported *agentier.Result
		got, res, err := agentier.RunFor[count](t.Context(), a, loop.Prompt("go"), c.reAsks, &agentier.RunOptions{OnComplete: func(res *agentier.Result) { reported = res }})
		if reported != res {
			t.Errorf("%s: OnComplete got %+v, want %+v", name, reported, res)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (res == nil) != (c.fails != "") {
			t.Errorf("%s: %+v (-want +got):\n%s", name, res, diff)
		}
		if res != nil && (string(res.Value) != fmt.Sprintf(`{"n":%d}`, c.want.N) || len(res.ToolCalls) != 1) {
			t.Errorf("%s: got the value %s after %d tools", name, res.Value, len(res.ToolCalls))
		}
		if e, ok := errors.AsType[*middleware.OutputError](err); (err == nil) != (c.fails == "") || ok && e.Text != c.fails {
			t.Errorf("%s: got error %v", name, err)
		}
		if e, ok := errors.AsType[*agentier.Error](err); ok != (c.fails != "") || ok && e.Code != "OUTPUT_PARSE_ERROR" {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	early := calling("c1")
	early.Text = `{"n":1}`
	a, _ := newAgent(t, loop.Config{MaxSteps: 1}, early)
	if got, res, err := agentier.RunFor[count](t.Context(), a, loop.Prompt("go"), 0, nil); got != nil || res == nil || res.Value != nil || err != nil {
		t.Errorf("a limit before the final answer: got %v, %+v, %v", got, res, err)
	}
	a, _ = newAgent(t, loop.Config{MaxSteps: 1, OnStepLimit: loop.StepLimitForceFinal}, say(`{"n":3}`)...)
	if got, _, err := agentier.RunFor[count](t.Context(), a, loop.Prompt("go"), 0, nil); err != nil || got == nil || got.N != 3 {
		t.Errorf("a forced final answer: got %v, %v", got, err)
	}
	if _, _, err := agentier.RunFor[chan int](t.Context(), a, loop.Prompt("go"), 0, nil); err == nil || !strings.Contains(err.Error(), "the output schema") {
		t.Errorf("a type without a schema: got %v", err)
	}
	// Only this run has the schema. It has the middleware of the agent, too.
	steps := 0
	counts := loop.Middleware{Name: "counts", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) { steps++; return loop.StepChange{}, nil }}
	}}
	own, err := middleware.NewOutput([]byte(`{"type":"object","required":["m"]}`))
	if err != nil {
		t.Fatal(err)
	}
	list := []loop.Middleware{own.Middleware(0), counts}
	a, _ = newAgent(t, loop.Config{Middleware: list}, saying(`{"n":1,"m":2}`))
	for range 2 {
		if got, _, err := agentier.RunFor[map[string]int](t.Context(), a, loop.Prompt("go"), 0, nil); err != nil || (*got)["m"] != 2 {
			t.Errorf("a run with its own schema: got %v, %v", got, err)
		}
	}
	if res := mustRun(t, a, nil); steps != 3 || res.Value == nil || list[1].Name != "counts" {
		t.Errorf("the middleware of the agent had %d steps, and its run %+v", steps, res)
	}
	a, m := newAgent(t, loop.Config{}, saying(`{"n":1}`))
	if _, _, err := agentier.RunFor[count](t.Context(), a, loop.Prompt("go"), 0, nil); err != nil {
		t.Fatal(err)
	}
	if res := mustRun(t, a, nil); m.RecordedRequests()[1].Request.Settings.OutputSchema != nil || res.Value != nil {
		t.Errorf("the next run has the schema, too")
	}
}
