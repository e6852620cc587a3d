package reactagent

import (
	"context"
	"errors"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// sessionModel is a model that has sessions. Stream of a session makes one model call. A model
// without sessions makes all calls itself.
type sessionModel interface {
	NewSession(ctx context.Context) (llm.Model, error)
}

// sessions returns middleware that creates a session for each run. The session makes the model
// calls of the run's steps.
func sessions(model sessionModel) loop.Middleware {
	return loop.Middleware{Name: "model_session", New: func(loop.RunInfo) loop.Hooks {
		var session llm.Model
		return loop.Hooks{
			Start: func(ctx context.Context) (_ context.Context, err error) {
				session, err = model.NewSession(ctx)
				if err == nil && session == nil {
					err = errors.New("NewSession returned neither a session nor an error")
				}
				return nil, err
			},
			BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
				return loop.StepChange{Model: session}, nil
			},
		}
	}}
}
