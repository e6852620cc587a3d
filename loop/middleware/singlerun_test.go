package middleware_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// A second run fails during the first run, which is not affected. Any end of the first run
// lifts the limit.
func TestSingleRun(t *testing.T) {
	guard := middleware.SingleRun()
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		turn fake.Response
		late loop.Hooks // of middleware after SingleRun
		err  error
	}{
		"an answer":                {turn: fake.Response{Text: "x"}},
		"an error of the model":    {turn: fake.Response{Err: boom}, err: boom},
		"an error at its start":    {late: loop.Hooks{Start: func(context.Context) (context.Context, error) { return nil, boom }}, err: boom},
		"a panic at its start":     {late: loop.Hooks{Start: func(context.Context) (context.Context, error) { panic(boom) }}, err: boom},
		"a context that is over":   {err: context.Canceled},
		"a consumer that has left": {turn: fake.Response{Text: "x"}, err: loop.ErrIterationStopped},
	} {
		t.Run(name, func(t *testing.T) {
			var second error
			var during *loop.Result
			var agent *loop.Agent
			inner := fake.NewModel(c.turn)
			m := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
				during, second = agent.Run(t.Context(), loop.Prompt("meanwhile"))
				return inner.Stream(ctx, req)
			})
			late := loop.Middleware{Name: "late", New: func(loop.RunInfo) loop.Hooks { return c.late }}
			agent, err := loop.New(m, &loop.Config{Middleware: []loop.Middleware{guard, late}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.err == context.Canceled {
				cancel()
			}
			if c.err == loop.ErrIterationStopped {
				for ev, err := range agent.Start(ctx, loop.Prompt("go")).Events() {
					if ev.Body.Kind() != trace.KindRunStart || err != nil {
						t.Errorf("got %s, %v", ev.Body.Kind(), err)
					}
					break
				}
			} else if _, err := agent.Run(ctx, loop.Prompt("go")); !errors.Is(err, c.err) {
				t.Errorf("got %v", err)
			}
			if len(inner.RecordedRequests()) > 0 && (!errors.Is(second, middleware.ErrRunning) || during.ModelCalls != 0 || during.StopReason != trace.ReasonMiddleware) {
				t.Errorf("the run meanwhile: got %+v, %v", during, second)
			}
			next, err := loop.New(fake.NewModel(fake.Response{Text: "y"}), &loop.Config{Middleware: []loop.Middleware{guard}})
			if err != nil {
				t.Fatal(err)
			}
			if res, err := next.Run(t.Context(), loop.Prompt("again")); err != nil || res.Text != "y" {
				t.Errorf("the run after it: got %+v, %v", res, err)
			}
		})
	}
}
