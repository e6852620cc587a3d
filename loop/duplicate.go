package loop

import (
	"context"
	"slices"

	"github.com/looptape/looptape/llm"
)

// duplicatePolicy answers the calls of a step with a note where they are the
// calls of the step before once more: the same tools with the same arguments in
// the same order.
func duplicatePolicy() Policy {
	return Policy{Name: "duplicate_round", New: func(RunInfo) Hooks {
		type key struct{ name, args string }
		var last []key
		return Hooks{Batch: func(_ context.Context, _ *StepInfo, calls []*Planned) (Decision, error) {
			now := make([]key, len(calls))
			for i, p := range calls {
				now[i] = key{p.Call.Name, llm.Canonical(p.Call.Args)}
			}
			if slices.Equal(now, last) {
				for _, p := range calls {
					if p.Answer == nil {
						p.Cause = causeDuplicate
						note := TextOutput("not run: the step before made the same calls with the same arguments; its results stand above")
						p.Answer = &note
					}
				}
			}
			last = now
			return Decision{}, nil
		}}
	}}
}
