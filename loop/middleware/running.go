package middleware

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/looptape/looptape/loop"
)

// ErrRunning is what a run fails with that is begun while another one is under way.
var ErrRunning = errors.New("another run of the agent is under way")

// SingleRun admits one run at a time. A run that begins while another is under way
// fails at once with ErrRunning, before it asks the model, and does nothing to the other.
//
// All runs that have this policy count, those of agents that were made of it by
// loop.Agent.With among them; two agents that may run at the same time need one each.
func SingleRun() loop.Middleware {
	var busy atomic.Bool
	return loop.Middleware{Name: "running_guard", New: func(loop.RunInfo) loop.Hooks {
		mine := false
		return loop.Hooks{
			Start: func(ctx context.Context) (context.Context, error) {
				if !busy.CompareAndSwap(false, true) {
					return nil, ErrRunning
				}
				mine = true
				return ctx, nil
			},
			End: func(context.Context, *loop.Result) error {
				if mine {
					mine = false
					busy.Store(false)
				}
				return nil
			},
		}
	}}
}
