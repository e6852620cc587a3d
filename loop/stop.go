package loop

import (
	"context"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// StopCondition says whether a run stops after a step that ran tools. An error
// ends the run.
type StopCondition func(ctx context.Context, s StopInfo) (bool, error)

// StopInfo is what a stop condition knows. Its last step is complete, results
// included.
type StopInfo struct {
	Steps []*Step   // one a model turn, in order; not to be changed
	Usage llm.Usage // of all of them
}

// StepCount is the number of steps so far.
func (s StopInfo) StepCount() int { return len(s.Steps) }

// StepCountIs stops once n steps have been taken.
func StepCountIs(n int) StopCondition {
	return func(_ context.Context, s StopInfo) (bool, error) { return s.StepCount() >= n, nil }
}

// HasToolCall stops after a step that called the tool; earlier steps do not
// count.
func HasToolCall(name string) StopCondition {
	return func(_ context.Context, s StopInfo) (bool, error) {
		for _, c := range s.Steps[len(s.Steps)-1].Calls {
			if c.Name == name {
				return true, nil
			}
		}
		return false, nil
	}
}

// TotalTokensExceed stops once n tokens, input and output, have been spent.
func TotalTokensExceed(n int64) StopCondition {
	return func(_ context.Context, s StopInfo) (bool, error) { return s.Usage.Total() >= n, nil }
}

// CostExceeds stops once the usage costs limit. Without a price, or where price
// says that it does not know one, it never stops.
func CostExceeds(limit float64, price func(llm.Usage) (cost float64, ok bool)) StopCondition {
	return func(_ context.Context, s StopInfo) (bool, error) {
		if price == nil {
			return false, nil
		}
		cost, ok := price(s.Usage)
		return ok && cost >= limit, nil
	}
}

// stopPolicy asks the conditions in order, until one is true.
func stopPolicy(conditions []StopCondition) Policy {
	return Policy{Name: "stop_when", New: func(RunInfo) Hooks {
		return Hooks{AfterStep: func(ctx context.Context, s *StepInfo, _ *Step) (Decision, error) {
			info := StopInfo{Steps: s.Steps, Usage: s.Usage}
			for i, cond := range conditions {
				stop, err := cond(ctx, info)
				if err != nil {
					return Decision{}, fmt.Errorf("StopWhen[%d]: %w", i, err)
				}
				if stop {
					return Decision{Action: trace.Stop, Cause: trace.CauseStopCondition, Note: fmt.Sprintf("condition %d", i)}, nil
				}
			}
			return Decision{}, nil
		}}
	}}
}
