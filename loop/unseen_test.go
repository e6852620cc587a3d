package loop_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// A run with concurrent calls gives the same result with and without a reader of its events.
func TestRunUnobserved(t *testing.T) {
	for name, c := range map[string]struct {
		response fake.Response
		want     []string // the results of the step
	}{
		"all well":    {calls(`echo{"n":1}`, `echo{"n":2}`, `echo{"n":3}`), []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}},
		"one refused": {calls("nope", "echo", "echo"), []string{`there is no tool "nope"; the tools are echo, exit, wait, cancel`, "{}", "{}"}},
		"exits":       {calls("exit", "exit", "exit", "echo", "exit"), []string{loop.ExitedText, loop.ExitedText, loop.ExitedText, "{}", loop.ExitedText}},
		"cancelled":   {calls("cancel", "wait", "echo", "echo"), []string{"cancelled", "context canceled", "not run: the run was cancelled", "not run: the run was cancelled"}},
	} {
		for _, looks := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				exit := tool("exit", func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
				wait := tool("wait", func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
				stop := tool("cancel", func(context.Context) (string, error) {
					synctest.Wait() // until the other one waits
					cancel()
					return "cancelled", nil
				})
				in := loop.Prompt("go")
				if looks {
					in.Sink = &trace.Memory{}
				}
				a := newAgent(t, model(c.response, text("done")), loop.Config{Tools: []loop.Tool{echo("echo"), exit, wait, stop}, Concurrency: 2})
				res, _ := a.Run(ctx, in)
				if diff := cmp.Diff(c.want, resultTexts(res.Messages)); diff != "" {
					t.Errorf("%s, looked at: %t: results (-want +got):\n%s", name, looks, diff)
				}
				for i, r := range res.Steps[0].Results {
					if text := r.Text(); r.IsError != (text[0] != '{' && text != "cancelled") {
						t.Errorf("%s, looked at: %t: the result %d is an error: %t", name, looks, i, r.IsError)
					}
				}
			})
		}
	}
}

// The concurrency limit holds, and a free slot is used immediately, also without a
// reader of the events.
func TestConcurrencyUnobserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		here := 0
		gate := make(chan struct{})
		wait := tool("wait", func(context.Context) (string, error) {
			mu.Lock()
			here++
			mu.Unlock()
			<-gate
			return "", nil
		})
		a := newAgent(t, model(calls("wait", "wait", "wait", "wait", "wait"), text("done")), loop.Config{Tools: []loop.Tool{wait}, Concurrency: 2})
		run := a.Start(t.Context(), loop.Prompt("go"))
		go func() { _, _ = run.Wait() }()
		for ended := range 5 {
			synctest.Wait()
			mu.Lock()
			if want := min(2+ended, 5); here != want {
				t.Errorf("after %d ends, %d tools were entered, want %d", ended, here, want)
			}
			mu.Unlock()
			gate <- struct{}{}
		}
		_, _ = run.Wait()
	})
}

// Tools that do not stop are abandoned, with and without a reader of the events.
func TestGraceUnobserved(t *testing.T) {
	for _, looks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			deaf := tool("deaf", func(context.Context) (string, error) { <-gate; return "", nil })
			in := loop.Prompt("go")
			if looks {
				in.Sink = &trace.Memory{}
			}
			a := newAgent(t, model(calls("deaf", "deaf")), loop.Config{Tools: []loop.Tool{deaf}, Deadline: time.Second, Grace: time.Minute})
			begun := time.Now() //nolint:forbidigo // of the bubble
			_, err := a.Run(t.Context(), in)
			took := time.Since(begun) //nolint:forbidigo // of the bubble
			if !errors.Is(err, loop.ErrDeadline) || took != time.Second+time.Minute {
				t.Errorf("looked at: %t: ended after %v with %v", looks, took, err)
			}
			close(gate)
		})
	}
}
