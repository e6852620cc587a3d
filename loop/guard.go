package loop

import (
	"context"
	"fmt"

	"github.com/looptape/looptape/trace"
)

// guardPolicy is the runaway guard: it stops the run when the same tool has
// failed in limit consecutive steps. Several failures in one step count once,
// and a success in a step resets the tool's count, whatever else it did there.
// With absence, a step that does not call the tool resets it as well.
func guardPolicy(limit int, absence bool) Middleware {
	return Middleware{Name: "same_tool_errors", New: func(RunInfo) Hooks {
		var rows map[string]row // by tool
		return Hooks{AfterStep: func(_ context.Context, _ *StepInfo, step *Step) (Decision, error) {
			if rows == nil && !step.failed {
				return Decision{}, nil
			}
			failed, fine := outcomes(step)
			if rows == nil {
				rows = map[string]row{}
			}
			for name := range fine {
				delete(rows, name)
			}
			var tripped string
			for _, c := range step.Calls { // in call order, for one answer
				if !failed[c.Name] || fine[c.Name] {
					continue
				}
				failed[c.Name] = false
				r := rows[c.Name]
				if absence && r.last != step.Index-1 {
					r.n = 0
				}
				r.n, r.last = r.n+1, step.Index
				rows[c.Name] = r
				if r.n >= limit && tripped == "" {
					tripped = c.Name
				}
			}
			if tripped == "" {
				return Decision{}, nil
			}
			return Decision{Action: trace.Stop, Reason: trace.ReasonRunawayGuard, Note: fmt.Sprintf("%s failed in %d steps in a row", tripped, limit)}, nil
		}}
	}}
}

// row is the steps in a row in which a tool has failed. Steps without calls are not
// seen here, so their indexes tell whether one lies between.
type row struct{ n, last int }

// outcomes tells which tools failed in a step and which succeeded. A call that
// was denied, skipped or cancelled did neither.
func outcomes(step *Step) (failed, fine map[string]bool) {
	failed, fine = map[string]bool{}, map[string]bool{}
	for i, r := range step.Results {
		switch name := step.Calls[i].Name; {
		case !r.IsError:
			if step.marks[i]&markRan != 0 {
				fine[name] = true
			}
		case step.marks[i]&markCounts != 0:
			failed[name] = true
		}
	}
	return failed, fine
}
