package agentier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentier"
)

// busy is a response after two failures.
func busy() fake.Response {
	return fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 503}}, {Error: &fake.Failure{Status: 429}}, {Text: "done"}}}
}

// AG-55: middleware before the retry in the list gets one model call, and middleware after it each
// attempt.
func TestRetryPlace(t *testing.T) {
	for _, c := range []struct {
		retryFirst bool
		want       int
	}{{false, 1}, {true, 3}} {
		calls := 0
		rec := middleware.Wrap("rec", func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
			if a.Kind == "model_call" {
				calls++
			}
			return next(ctx)
		})
		list := []loop.Middleware{rec, agentier.Retry(loop.Retry{Max: 3})}
		if c.retryFirst {
			list[0], list[1] = list[1], list[0]
		}
		a, m := newAgent(t, loop.Config{Middleware: list}, busy())
		res := mustRun(t, a, nil)
		if calls != c.want || len(m.RecordedRequests()) != 3 || res.Usage.Iterations != 1 || res.Duration != 3*time.Second {
			t.Errorf("%s before %s: got %d calls, %d requests, %+v", list[0].Name, list[1].Name, calls, len(m.RecordedRequests()), res)
		}
	}
}

// AG-33, AG-34: for each model call, but no tool, the middleware waits 1 s before the first retry, and
// twice as long before each next one, or always as long as before the first.
func TestRetryWaits(t *testing.T) {
	down := fake.Response{Error: &fake.Failure{Status: 503}}
	for name, c := range map[string]struct {
		retry loop.Retry
		want  time.Duration // of each of two calls
	}{
		"default":          {loop.Retry{Max: 3}, 7 * time.Second},
		"fixed":            {loop.Retry{Max: 3, Factor: 1}, 3 * time.Second},
		"another base":     {loop.Retry{Max: 3, Base: 100 * time.Millisecond}, 700 * time.Millisecond},
		"base and fixed":   {loop.Retry{Max: 3, Base: 100 * time.Millisecond, Factor: 1}, 300 * time.Millisecond},
		"with jitter":      {loop.Retry{Max: 3, Jitter: 0.5}, 5250 * time.Millisecond},
		"a limit of waits": {loop.Retry{Max: 3, MaxWait: 2 * time.Second}, 5 * time.Second},
	} {
		fails := 0
		bad := loop.Tool{Name: "bad", Run: func(context.Context, loop.Call) (loop.Output, error) {
			fails++
			return loop.Output{}, errors.New("no")
		}}
		cfg := loop.Config{Tools: []loop.Tool{bad}, Middleware: []loop.Middleware{agentier.Retry(c.retry)}, Rand: func() float64 { return 0.5 }}
		a, m := newAgent(t, cfg, fake.Response{Attempts: []fake.Response{down, down, down, {Calls: []fake.Call{{Name: "bad", Arguments: "{}"}}}}},
			fake.Response{Attempts: []fake.Response{down, down, down, {Text: "done"}}})
		if res := mustRun(t, a, nil); res.Duration != 2*c.want || len(m.RecordedRequests()) != 8 || res.Usage.Iterations != 2 || fails != 1 {
			t.Errorf("%s: got %d requests in %v and %d runs of a tool, want 8 in %v and 1", name, len(m.RecordedRequests()), res.Duration, fails, 2*c.want)
		}
	}
}

// A response of which the caller got a part is not retried. The caller's rule decides what is
// retried.
func TestRetryRules(t *testing.T) {
	half := fake.Response{Attempts: []fake.Response{{Text: "half", Error: &fake.Failure{Status: 500, After: 1}}, {Text: "done"}}}
	never := func(error) bool { return false }
	for name, c := range map[string]struct {
		retry loop.Retry
		turn  fake.Response
		want  int // requests
	}{
		"two retries":   {loop.Retry{Max: 2}, busy(), 3},
		"one retry":     {loop.Retry{Max: 1}, busy(), 2},
		"no retries":    {loop.Retry{}, busy(), 1},
		"a rule":        {loop.Retry{Max: 2, On: never}, busy(), 1},
		"in a response": {loop.Retry{Max: 2}, half, 1},
	} {
		a, m := newAgent(t, loop.Config{Middleware: []loop.Middleware{agentier.Retry(c.retry)}}, c.turn)
		_, err := a.Run(t.Context(), loop.Prompt("go"), &agentier.RunOptions{OnToken: func(string) {}})
		if got := len(m.RecordedRequests()); got != c.want || (err == nil) != (c.want == 3) {
			t.Errorf("%s: got %d requests, %v", name, got, err)
		}
	}
	a, m := newAgent(t, loop.Config{Middleware: []loop.Middleware{agentier.Retry(loop.Retry{Max: 2})}, Tools: []loop.Tool{
		{Name: "b", Run: func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{}, &llm.APIError{Status: 503, Retryable: true}
		}},
	}}, fake.Response{Calls: []fake.Call{{ID: "c1", Name: "b", Arguments: "{}"}}}, saying("done"))
	if mustRun(t, a, nil); m.RecordedRequests()[1].Request.Messages[2].Parts[0].(llm.ToolResult).Text() != "Error: status 503" {
		t.Errorf("a tool that fails was retried: %+v", m.RecordedRequests()[1].Request.Messages[2])
	}
}
