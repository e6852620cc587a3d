package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// duplicatePolicy answers the calls of a step with a note where they are the
// calls of the step before once more: the same tools as often with the same arguments,
// in whatever order. After so many such steps in a row it forces the last answer, if
// most is above 0.
func duplicatePolicy(most int) Middleware {
	return Middleware{Name: "duplicate_round", New: func(RunInfo) Hooks {
		type key struct{ name, args string }
		var last []key // of the step at, which is any but the one before where that had no calls
		var at int
		row := 0 // duplicates on end
		h := Hooks{BeforeTools: func(_ context.Context, s *StepInfo, calls []*PlannedCall) (Decision, error) {
			if s.Step != at+1 {
				last = nil
			}
			at = s.Step
			now := make([]key, len(calls))
			for i, p := range calls {
				now[i] = key{p.Call.Name, llm.Canonical(p.Call.Arguments)}
			}
			slices.SortFunc(now, func(a, b key) int {
				return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.args, b.args))
			})
			if row++; !slices.Equal(now, last) {
				row = 0
			} else {
				for _, p := range calls {
					if p.Output == nil {
						p.Reason = trace.SkipDuplicate
						note := TextOutput("not run: the step before made the same calls with the same arguments; its results stand above")
						p.Output = &note
					}
				}
			}
			last = now
			return Decision{}, nil
		}}
		if most > 0 {
			h.AfterStep = func(context.Context, *StepInfo, *Step) (Decision, error) {
				if row < most {
					return Decision{}, nil
				}
				return Decision{Action: trace.ForceFinal, Reason: trace.ReasonMiddleware, Note: fmt.Sprintf("the same calls %d times in a row", row+1)}, nil
			}
		}
		return h
	}}
}
