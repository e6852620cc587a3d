package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/looptape/looptape/trace"
)

// deadlinePolicy ends the run's context after d. With returns, it also ends the
// run without an error when a step would begin after that.
func deadlinePolicy(d time.Duration, returns bool) Policy {
	return Policy{Name: "deadline", New: func(info RunInfo) Hooks {
		begun := info.Clock.Now()
		stop := func() {}
		h := Hooks{
			Start: func(ctx context.Context) (context.Context, error) {
				ctx, stop = info.Clock.WithTimeout(ctx, d, ErrDeadline)
				return ctx, nil
			},
			End: func(context.Context, *Result) error {
				stop()
				return nil
			},
		}
		if returns {
			h.BeforeStep = func(context.Context, *StepInfo) (Decision, error) {
				if info.Clock.Now().Sub(begun) < d {
					return Decision{}, nil
				}
				return Decision{Action: trace.Stop, Cause: trace.CauseDeadline}, nil
			}
		}
		return h
	}}
}

// budgetPolicy stops the run when budget tokens are spent. No last answer is
// forced: it would cost more.
func budgetPolicy(budget int64) Policy {
	return Policy{Name: "token_budget", New: func(RunInfo) Hooks {
		return Hooks{BeforeStep: func(_ context.Context, s *StepInfo) (Decision, error) {
			if s.Usage.Total() < budget {
				return Decision{}, nil
			}
			return Decision{Action: trace.Stop, Cause: trace.CauseBudget, Note: fmt.Sprintf("%d of %d tokens", s.Usage.Total(), budget)}, nil
		}}
	}}
}

func capTopPolicy(limit int, on OnCap) Policy {
	return Policy{Name: "max_steps", New: func(RunInfo) Hooks {
		return Hooks{BeforeStep: func(_ context.Context, s *StepInfo) (Decision, error) {
			if s.Step < limit {
				return Decision{}, nil
			}
			return capDecision(limit, on), nil
		}}
	}}
}

func capBottomPolicy(limit int, on OnCap) Policy {
	return Policy{Name: "max_steps", New: func(RunInfo) Hooks {
		return Hooks{AfterStep: func(_ context.Context, s *StepInfo, _ *Step) (Decision, error) {
			if s.Step+1 < limit {
				return Decision{}, nil
			}
			return capDecision(limit, on), nil
		}}
	}}
}

func capDecision(limit int, on OnCap) Decision {
	d := Decision{Action: trace.Stop, Cause: trace.CauseCap, Note: fmt.Sprintf("max_steps=%d", limit)}
	switch on {
	case CapForceFinal:
		d.Action = trace.ForceFinal
	case CapError:
		d.Err = fmt.Errorf("%w (max_steps=%d)", ErrMaxSteps, limit)
	case CapReturn:
	}
	return d
}
