package middleware

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/looptape/looptape/loop"
)

// ErrRunning is the error of a run that starts during another run of the agent.
var ErrRunning = errors.New("middleware: SingleRun: another run of the agent is active: wait for its end")

// SingleRun allows one run at a time. A run that starts during another run fails with
// [ErrRunning] before its first model call.
//
// The limit applies to all runs with this middleware, including those of agents that
// [loop.Agent.With] returned. Agents that may run concurrently need separate instances.
func SingleRun() loop.Middleware {
	var busy atomic.Bool
	return loop.Middleware{Name: "running_guard", New: func(loop.RunInfo) loop.Hooks {
		active := false
		return loop.Hooks{
			Start: func(ctx context.Context) (context.Context, error) {
				if active = busy.CompareAndSwap(false, true); !active {
					return nil, ErrRunning
				}
				return ctx, nil
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) {
				if active {
					active = false
					busy.Store(false)
				}
				return res, nil
			},
		}
	}}
}
