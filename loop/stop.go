package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// StopCondition decides whether a run stops after a step that ran tools.
type StopCondition struct {
	Name string // in the trace; empty means "custom"
	// Stop reports whether the run stops after the last of s.Steps, which has its results.
	// Its error ends the run.
	Stop func(ctx context.Context, s *StepInfo) (bool, error)
}

// stopNames returns the conditions as the trace declares them.
func stopNames(conditions []StopCondition) string {
	names := make([]string, len(conditions))
	for i, c := range conditions {
		names[i] = cmp.Or(c.Name, "custom")
	}
	return strings.Join(names, ",")
}

// condition returns a condition without errors.
func condition(name string, stop func(s *StepInfo) bool) StopCondition {
	return StopCondition{name, func(_ context.Context, s *StepInfo) (bool, error) { return stop(s), nil }}
}

// StepCountIs stops after n steps. The trace calls it step_count:n.
func StepCountIs(n int) StopCondition {
	return condition(fmt.Sprintf("step_count:%d", n), func(s *StepInfo) bool { return len(s.Steps) >= n })
}

// HasToolCall stops after a step that called the tool. Earlier steps do not count. The trace calls it has_tool_call:name.
func HasToolCall(name string) StopCondition {
	return condition("has_tool_call:"+name, func(s *StepInfo) bool {
		last := s.Steps[len(s.Steps)-1]
		return slices.ContainsFunc(last.Calls, func(c llm.ToolCall) bool { return c.Name == name })
	})
}

// TotalTokensExceed stops when the run has used n input and output tokens. The trace calls
// it total_tokens:n.
func TotalTokensExceed(n int64) StopCondition {
	return condition(fmt.Sprintf("total_tokens:%d", n), func(s *StepInfo) bool { return s.Usage.Total() >= n })
}

// CostExceeds stops when the usage costs limit. It does not stop if price is nil or returns
// false. The trace calls it cost:limit, or never without a price.
func CostExceeds(limit float64, price func(llm.Usage) (cost float64, ok bool)) StopCondition {
	if price == nil {
		return condition("never", func(*StepInfo) bool { return false })
	}
	return condition(fmt.Sprintf("cost:%v", limit), func(s *StepInfo) bool {
		cost, ok := price(s.Usage)
		return ok && cost >= limit
	})
}

// stopWhen evaluates the conditions in order, until one is true.
func stopWhen(conditions []StopCondition) Middleware {
	return Middleware{Name: "stop_when", New: func(RunInfo) Hooks {
		return Hooks{AfterStep: func(ctx context.Context, s *StepInfo, _ *Step) (Decision, error) {
			for i, cond := range conditions {
				stop, err := cond.Stop(ctx, s.view(false))
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
