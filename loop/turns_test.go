package loop_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// The functions of InOrder run one at a time, in the order of the calls, whatever the order in
// which the tools run. The others do not wait for a call that has
// ended, or that has a nil function.
func TestInOrder(t *testing.T) {
	for seed := range uint64(40) {
		clock := fake.NewClock()
		clock.Seed = seed
		clocks := []loop.Clock{clock, loop.SystemClock{}}
		for _, c := range clocks {
			for _, observed := range []bool{false, true} {
				var got []int // without a lock, for the race detector
				wrap := named("asks", loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
					return func(ctx context.Context, call loop.Call) (loop.Output, error) {
						switch call.Name {
						case "ends":
							return loop.TextOutput("x"), nil
						case "lets":
							call.InOrder(nil)
							call.InOrder(func() {}) // the second of a call does not wait
							return next(ctx, call)
						}
						call.InOrder(func() { got = append(got, call.Index) })
						return next(ctx, call)
					}
				}})
				cfg := loop.Config{Clock: c, Concurrency: loop.Unlimited, Tools: []loop.Tool{echo("a"), echo("ends"), echo("lets")}, Middleware: []loop.Middleware{wrap}}
				if observed {
					cfg.Sink = &trace.Memory{}
				}
				m := model(calls("a", "ends", "a", "ghost", "lets", "a"), calls("a", "a"), text("x"))
				if _, err := newAgent(t, m, cfg).Run(t.Context(), loop.Prompt("go")); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, []int{0, 2, 5, 0, 1}) {
					t.Fatalf("seed %d: got %v", seed, got)
				}
			}
		}
	}
}

// No call waits for one that never begins.
func TestInOrderCanceled(t *testing.T) {
	boom := errors.New("boom")
	for _, observed := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		wrap := named("asks", loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				cancel(boom)
				call.InOrder(func() {})
				return next(ctx, call)
			}
		}})
		cfg := loop.Config{Concurrency: loop.Unlimited, Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{wrap}}
		if observed {
			cfg.Sink = &trace.Memory{}
		}
		if _, err := newAgent(t, model(calls("a", "a", "a", "a")), cfg).Run(ctx, loop.Prompt("go")); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
	}
}

// InOrder of a call that middleware made up calls its function.
func TestInOrderOfNoCall(t *testing.T) {
	n := 0
	loop.Call{}.InOrder(nil)
	loop.Call{}.InOrder(func() { n++ })
	if n != 1 {
		t.Errorf("got %d calls", n)
	}
}
