package loop

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace"
)

// options returns the middleware of the Config's own options, in the order of the canonical
// step: checks before a step (deadline, budget, step limit), wraps of calls, and checks after
// a step (runaway guard, step limit, stop conditions).
func (c *Config) options() []Middleware {
	var list []Middleware
	add := func(on bool, m Middleware) {
		if on {
			list = append(list, m)
		}
	}
	add(c.Deadline > 0, deadline(c.Deadline))
	add(c.TokenBudget > 0, tokenBudget(c.TokenBudget))
	add(c.CheckLimitBeforeStep, limitBeforeStep(c.MaxSteps, c.OnStepLimit))
	add(c.DuplicateStep == DuplicateSkip, skipDuplicates(c.MaxDuplicateSteps))
	add(c.ToolTimeout > 0, toolTimeout(c.ToolTimeout, c.KeepLateResults))
	add(c.MaxConsecutiveToolErrors > 0, runawayGuard(c.MaxConsecutiveToolErrors, c.ResetByAbsence))
	add(!c.CheckLimitBeforeStep, limitAfterStep(c.MaxSteps, c.OnStepLimit))
	add(len(c.StopWhen) > 0, stopWhen(c.StopWhen))
	return list
}

// deadline ends the context of the run after d; see Config.DeadlineReturns.
func deadline(d time.Duration) Middleware {
	return Middleware{Name: "deadline", New: func(info RunInfo) Hooks {
		stop := func() {}
		return Hooks{
			Start: func(ctx context.Context) (context.Context, error) {
				ctx, stop = info.Clock.WithTimeout(ctx, d, ErrDeadline)
				return ctx, nil
			},
			End: func(_ context.Context, res Result) (Result, error) {
				stop()
				return res, nil
			},
		}
	}}
}

// tokenBudget stops the run when it has used budget tokens. It forces no final answer, which
// would use more.
func tokenBudget(budget int64) Middleware {
	return Middleware{Name: "token_budget", New: func(RunInfo) Hooks {
		return Hooks{BeforeStep: func(_ context.Context, s *StepInfo) (StepChange, error) {
			if !s.run.caller.budgetUsed() {
				return StepChange{}, nil
			}
			d := Decision{Action: trace.Stop, Reason: trace.ReasonBudget, Note: fmt.Sprintf("%d of %d tokens", s.Usage.Total(), budget)}
			return StepChange{Decision: d}, nil
		}}
	}}
}

func limitBeforeStep(limit int, on OnStepLimit) Middleware {
	return Middleware{Name: "max_steps", New: func(RunInfo) Hooks {
		return Hooks{BeforeStep: func(_ context.Context, s *StepInfo) (StepChange, error) {
			if s.Step < limit {
				return StepChange{}, nil
			}
			return StepChange{Decision: stepLimitDecision(limit, on)}, nil
		}}
	}}
}

func limitAfterStep(limit int, on OnStepLimit) Middleware {
	return Middleware{Name: "max_steps", New: func(RunInfo) Hooks {
		return Hooks{AfterStep: func(_ context.Context, s *StepInfo, _ *Step) (Decision, error) {
			if s.Step+1 < limit {
				return Decision{}, nil
			}
			return stepLimitDecision(limit, on), nil
		}}
	}}
}

func stepLimitDecision(limit int, on OnStepLimit) Decision {
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

// toolTimeout ends the context of each tool after d. The loop waits for the tool, and what it
// returns after that is an error result, unless it is a value to keep. The result does not contain the elapsed time, so
// that a repeated run gets the same one.
func toolTimeout(d time.Duration, keepLate bool) Middleware {
	return Middleware{Name: "tool_timeout", New: func(info RunInfo) Hooks {
		return Hooks{WrapTool: func(next ToolFunc) ToolFunc {
			return func(ctx context.Context, call Call) (Output, error) {
				ctx, stop := info.Clock.WithTimeout(ctx, d, ErrToolTimeout)
				defer stop()
				out, err := next(ctx, call)
				if (err != nil || !keepLate) && context.Cause(ctx) == ErrToolTimeout { //nolint:errorlint // exactly this context's own end
					return Output{}, fmt.Errorf("%w (%v)", ErrToolTimeout, d)
				}
				return out, err
			}
		}}
	}}
}

// skipDuplicates answers the calls of a step if the step before made the same calls: the
// same tools with the same arguments, in any order. After limit consecutive such steps it
// forces the final answer, if limit is above 0.
func skipDuplicates(limit int) Middleware {
	return Middleware{Name: "duplicate_round", New: func(RunInfo) Hooks {
		var last []string // the calls of step at, sorted
		var at int
		row := 0 // consecutive duplicates
		h := Hooks{BeforeTools: func(_ context.Context, s *StepInfo, calls []PlannedCall) (skipped []CallDecision, d Decision, err error) {
			if s.Step != at+1 {
				last = nil
			}
			at = s.Step
			now := make([]string, len(calls))
			for i, p := range calls {
				now[i] = strconv.Quote(p.Call.Name) + jsonval.Canonical(p.Call.Arguments)
			}
			slices.Sort(now)
			duplicate := slices.Equal(now, last)
			last = now
			row++
			if !duplicate {
				row = 0
				return nil, Decision{}, nil
			}
			note := TextOutput("not run: the step before made the same calls with the same arguments; its results stand above")
			for _, p := range calls {
				if p.Output == nil {
					skipped = append(skipped, CallDecision{Index: p.Index, Output: &note, Reason: trace.SkipDuplicate})
				}
			}
			return skipped, Decision{}, nil
		}}
		if limit > 0 {
			h.AfterStep = func(context.Context, *StepInfo, *Step) (Decision, error) {
				if row < limit {
					return Decision{}, nil
				}
				return Decision{Action: trace.ForceFinal, Reason: trace.ReasonMiddleware, Note: fmt.Sprintf("the same calls %d times in a row", row+1)}, nil
			}
		}
		return h
	}}
}

// runawayGuard stops the run when the same tool has failed in limit consecutive steps.
// Several failures in one step count once, and a success in a step resets the count of the
// tool. With absence, a step that does not call the tool resets it, too.
func runawayGuard(limit int, absence bool) Middleware {
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
			for _, c := range step.Calls { // in call order, for one result
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

// row counts consecutive steps in which a tool failed. The guard does not see steps without
// calls, so the index of the last step is needed.
type row struct{ n, last int }

// outcomes returns the tools that failed in a step and those that succeeded. A call that was
// denied, skipped or canceled did neither.
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
