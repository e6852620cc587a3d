package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// StopCondition decides whether a run stops after a step that ran tools. Its error ends the
// run. The trace declares a condition by its method String, or as "custom".
type StopCondition interface {
	Stop(ctx context.Context, s StopInfo) (bool, error)
}

// StopFunc is a function that is a [StopCondition].
type StopFunc func(ctx context.Context, s StopInfo) (bool, error)

// Stop calls f.
func (f StopFunc) Stop(ctx context.Context, s StopInfo) (bool, error) { return f(ctx, s) }

// namedStop is a condition of this package with its name in the trace.
type namedStop struct {
	StopFunc
	name string
}

func (s namedStop) String() string { return s.name }

// stopNames returns the conditions as the trace declares them.
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

// StopInfo is the input of a stop condition. Its last step has its results.
type StopInfo struct {
	Steps []*Step   // in order; copies of those in the Result
	Usage llm.Usage // of all of them
}

// StepCount returns the number of steps so far.
func (s StopInfo) StepCount() int { return len(s.Steps) }

// StepCountIs stops after n steps. The trace calls it step_count:n.
func StepCountIs(n int) StopCondition {
	return namedStop{func(_ context.Context, s StopInfo) (bool, error) { return s.StepCount() >= n, nil }, fmt.Sprintf("step_count:%d", n)}
}

// HasToolCall stops after a step that called the tool. Earlier steps do not count. The trace calls it has_tool_call:name.
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

// TotalTokensExceed stops when the run has used n input and output tokens. The trace calls
// it total_tokens:n.
func TotalTokensExceed(n int64) StopCondition {
	return namedStop{func(_ context.Context, s StopInfo) (bool, error) { return s.Usage.Total() >= n, nil }, fmt.Sprintf("total_tokens:%d", n)}
}

// CostExceeds stops when the usage costs limit. It does not stop if price is nil or returns
// false. The trace calls it cost:limit, or never without a price.
func CostExceeds(limit float64, price func(llm.Usage) (cost float64, ok bool)) StopCondition {
	if price == nil {
		return namedStop{func(context.Context, StopInfo) (bool, error) { return false, nil }, "never"}
	}
	return namedStop{func(_ context.Context, s StopInfo) (bool, error) {
		cost, ok := price(s.Usage)
		return ok && cost >= limit, nil
	}, fmt.Sprintf("cost:%v", limit)}
}

// stopWhen evaluates the conditions in order, until one is true.
func stopWhen(conditions []StopCondition) Middleware {
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
