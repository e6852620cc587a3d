package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// StopCondition says whether a run stops after a step that ran tools. An error
// ends the run. The trace declares a condition by what its method String returns,
// and one that has none as "custom".
type StopCondition interface {
	Stop(ctx context.Context, s StopInfo) (bool, error)
}

// StopFunc makes a function a StopCondition.
type StopFunc func(ctx context.Context, s StopInfo) (bool, error)

// Stop calls f.
func (f StopFunc) Stop(ctx context.Context, s StopInfo) (bool, error) { return f(ctx, s) }

// namedStop is one of the conditions below, with its name in the trace.
type namedStop struct {
	StopFunc
	name string
}

func (s namedStop) String() string { return s.name }

// stopNames are the conditions as the trace declares them.
func stopNames(conditions []StopCondition) string {
	names := make([]string, len(conditions))
	for i, c := range conditions {
		names[i] = "custom"
		if s, ok := c.(fmt.Stringer); ok {
			names[i] = fmt.Sprint(s)
		}
	}
	return strings.Join(names, ",")
}

// StopInfo is what a stop condition knows. Its last step is complete, results
// included.
type StopInfo struct {
	Steps []*Step   // one a model turn, in order; copies of those in the Result
	Usage llm.Usage // of all of them
}

// StepCount is the number of steps so far.
func (s StopInfo) StepCount() int { return len(s.Steps) }

// StepCountIs stops once n steps have been taken. The trace calls it step_count:n.
func StepCountIs(n int) StopCondition {
	return namedStop{func(_ context.Context, s StopInfo) (bool, error) { return s.StepCount() >= n, nil }, fmt.Sprintf("step_count:%d", n)}
}

// HasToolCall stops after a step that called the tool; earlier steps do not
// count. The trace calls it has_tool_call:name.
func HasToolCall(name string) StopCondition {
	return namedStop{func(_ context.Context, s StopInfo) (bool, error) {
		for _, c := range s.Steps[len(s.Steps)-1].Calls {
			if c.Name == name {
				return true, nil
			}
		}
		return false, nil
	}, "has_tool_call:" + name}
}

// TotalTokensExceed stops once n tokens, input and output, have been spent. The
// trace calls it total_tokens:n.
func TotalTokensExceed(n int64) StopCondition {
	return namedStop{func(_ context.Context, s StopInfo) (bool, error) { return s.Usage.Total() >= n, nil }, fmt.Sprintf("total_tokens:%d", n)}
}

// CostExceeds stops once the usage costs limit. Without a price, or where price
// says that it does not know one, it never stops. The trace calls it cost:limit,
// and never without a price.
func CostExceeds(limit float64, price func(llm.Usage) (cost float64, ok bool)) StopCondition {
	if price == nil {
		return namedStop{func(context.Context, StopInfo) (bool, error) { return false, nil }, "never"}
	}
	return namedStop{func(_ context.Context, s StopInfo) (bool, error) {
		cost, ok := price(s.Usage)
		return ok && cost >= limit, nil
	}, fmt.Sprintf("cost:%v", limit)}
}

// stopPolicy asks the conditions in order, until one is true.
func stopPolicy(conditions []StopCondition) Middleware {
	return Middleware{Name: "stop_when", New: func(RunInfo) Hooks {
		return Hooks{AfterStep: func(ctx context.Context, s *StepInfo, _ *Step) (Decision, error) {
			info := StopInfo{Steps: s.Steps, Usage: s.Usage}
			for i, cond := range conditions {
				stop, err := cond.Stop(ctx, info)
				if err != nil {
					return Decision{}, fmt.Errorf("StopWhen[%d]: %w", i, err)
				}
				if stop {
					return Decision{Action: trace.Stop, Reason: trace.ReasonStopCondition, Note: fmt.Sprintf("condition %d", i)}, nil
				}
			}
			return Decision{}, nil
		}}
	}}
}
