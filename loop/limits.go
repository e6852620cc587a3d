package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/looptape/looptape/trace"
)

// deadlinePolicy ends the run's context after d; see Config.DeadlineReturns for
// what becomes of the run.
func deadlinePolicy(d time.Duration) Middleware {
	return Middleware{Name: "deadline", New: func(info RunInfo) Hooks {
		stop := func() {}
		return Hooks{
			Start: func(ctx context.Context) (context.Context, error) {
				ctx, stop = info.Clock.WithTimeout(ctx, d, ErrDeadline)
				return ctx, nil
			},
			End: func(context.Context, *Result) error {
				stop()
				return nil
			},
		}
	}}
}

// budgetPolicy stops the run when budget tokens are spent. No last answer is
// forced: it would cost more.
func budgetPolicy(budget int64) Middleware {
	return Middleware{Name: "token_budget", New: func(RunInfo) Hooks {
		return Hooks{BeforeStep: func(_ context.Context, s *StepInfo) (Decision, error) {
			if !s.run.spent() {
				return Decision{}, nil
			}
			return Decision{Action: trace.Stop, Reason: trace.ReasonBudget, Note: fmt.Sprintf("%d of %d tokens", s.Usage.Total(), budget)}, nil
		}}
	}}
}

// spent reports whether the token budget is spent, so that no model call may
// start.
func (r *run) spent() bool { return r.cfg.TokenBudget > 0 && r.usage.Total() >= r.cfg.TokenBudget }

func capTopPolicy(limit int, on OnStepLimit) Middleware {
	return Middleware{Name: "max_steps", New: func(RunInfo) Hooks {
		return Hooks{BeforeStep: func(_ context.Context, s *StepInfo) (Decision, error) {
			if s.Step < limit {
				return Decision{}, nil
			}
			return capDecision(limit, on), nil
		}}
	}}
}

func capBottomPolicy(limit int, on OnStepLimit) Middleware {
	return Middleware{Name: "max_steps", New: func(RunInfo) Hooks {
		return Hooks{AfterStep: func(_ context.Context, s *StepInfo, _ *Step) (Decision, error) {
			if s.Step+1 < limit {
				return Decision{}, nil
			}
			return capDecision(limit, on), nil
		}}
	}}
}

func capDecision(limit int, on OnStepLimit) Decision {
	d := Decision{Action: trace.Stop, Reason: trace.ReasonMaxSteps, Note: fmt.Sprintf("max_steps=%d", limit)}
	switch on {
	case StepLimitForceFinal:
		d.Action = trace.ForceFinal
	case StepLimitError:
		d.Err = fmt.Errorf("%w (max_steps=%d)", ErrMaxSteps, limit)
	case StepLimitReturn:
	}
	return d
}
