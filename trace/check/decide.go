package check

import (
	"slices"
	"strings"

	"github.com/looptape/looptape/trace"
)

// control is what the run has decided.
type control struct {
	awaited bool         // a turn has come, its decision has not
	stop    trace.Reason // of the decision that ended the run, until one goes on
	forced  force
}

// force is how far a forced last answer has come.
type force byte

const (
	forceNone force = iota
	forceOrdered
	forceAsked
)

// force takes a request as the forced last answer if one was ordered.
func (r *run) force(x *exchange) {
	if r.control.forced != forceOrdered {
		return
	}
	r.control.forced = forceAsked
	if x.offers {
		r.report(invContinuation, "the forced last answer is asked for with tools")
	}
}

// mustHaveDecided reports a turn that was not followed by a decision.
func (r *run) mustHaveDecided() {
	c := &r.control
	if c.awaited && r.promise.any {
		r.report(invContinuation, "no decision follows the turn with %d calls", len(r.batch.calls))
	}
	c.awaited = false
}

// decide takes a decision.
func (r *run) decide(ev *trace.Event, b *trace.Decision) {
	c := &r.control
	if r.step.open && ev.Step != trace.NoStep && ev.Step != r.step.n {
		r.hold(invFraming, "a decision of step %d stands in step %d", ev.Step, r.step.n)
	}
	r.step.decided = true
	var wrong string
	if c.awaited {
		wrong = r.afterTurn(b)
	} else {
		wrong = r.later(b)
	}
	c.awaited = false
	if wrong != "" {
		r.report(invContinuation, "the decision %s (%s) %s", b.Action, b.Reason, wrong)
	}
	switch b.Action {
	case trace.Continue:
		c.stop = ""
		if b.Reason == trace.ReasonToolCalls {
			r.step.ran, r.step.spent = true, r.used.Total()
		}
	case trace.ForceFinal:
		c.stop, c.forced = "", forceOrdered
	case trace.End, trace.Stop, trace.Suspend:
		c.stop = b.Reason
	default:
		r.report(invContinuation, "the action %q is none of those that a decision has", b.Action)
	}
	if b.Reason == trace.ReasonStopCondition {
		r.condition(b)
	}
}

// afterTurn says what is wrong with the decision on a turn; it may depend on
// the turn's calls alone.
func (r *run) afterTurn(b *trace.Decision) string {
	n := len(r.batch.calls)
	if r.control.forced == forceAsked {
		if b.Action == trace.Continue || b.Action == trace.ForceFinal {
			return "goes on after the forced last answer"
		}
		return ""
	}
	switch b.Action {
	case trace.Continue:
		return goingOn(b, n)
	case trace.End:
		if n > 0 {
			return "ends the run, but the turn has calls"
		}
		if b.Reason != trace.ReasonEndTurn {
			return "is no natural end"
		}
	case trace.Stop:
		return r.stopping(b, n)
	case trace.ForceFinal, trace.Suspend:
		if b.Reason == trace.ReasonEndTurn || b.Reason == trace.ReasonToolCalls {
			return "has no cause of its own"
		}
	}
	return ""
}

func goingOn(b *trace.Decision, n int) string {
	switch b.Reason {
	case trace.ReasonToolCalls:
		if b.ToolCalls != n || n == 0 {
			return "counts other calls than the turn has"
		}
	case trace.ReasonContinuedResponse, trace.ReasonEndHook:
		if n > 0 {
			return "leaves the calls of the turn aside"
		}
	case trace.ReasonEndTurn:
		return "goes on without a cause"
	case trace.ReasonMaxSteps, trace.ReasonRunawayGuard, trace.ReasonStopCondition, trace.ReasonForced, trace.ReasonCancel, trace.ReasonDeadline:
		return "goes on for what a run stops for"
	default:
		if n == 0 && b.By == "" && b.Reason != trace.ReasonHandoff && b.Reason != trace.ReasonMalformedCall {
			return "goes on, but the turn has no calls and no policy asked for more"
		}
	}
	return ""
}

// stopping says what is wrong with a stop right after a turn. A turn without
// calls may have been one to continue, had the cap or the number of
// continuations allowed it.
func (r *run) stopping(b *trace.Decision, n int) string {
	switch b.Reason {
	case trace.ReasonEndTurn, trace.ReasonToolCalls:
		return "stops without a cause"
	case trace.ReasonClientTools:
		if n == 0 {
			return "waits for calls, but the turn has none"
		}
	case trace.ReasonContinuedResponse:
		if n > 0 {
			return "leaves the calls of the turn aside"
		}
	case trace.ReasonMaxSteps:
		if b.By == "" && (n > 0 || r.step.begun < r.promise.steps) {
			return "stops before the cap is reached and the turn's calls are run"
		}
	case trace.ReasonBudget, trace.ReasonHandoff, trace.ReasonEndHook:
		spent := b.Reason == trace.ReasonBudget && r.used.Total() >= r.promise.budget // for another model call
		if b.By == "" && !spent {
			return "stops before the turn's calls are looked at"
		}
	default: // by a policy, or for want of a turn to go on from
	}
	return ""
}

// later says what is wrong with a decision that does not follow a turn.
func (r *run) later(b *trace.Decision) string {
	switch b.Action {
	case trace.End:
		return "is a natural end, but follows no turn"
	case trace.Continue:
		if b.Reason == trace.ReasonToolCalls && (!r.resumed || r.step.begun > 0) {
			return "counts calls, but follows no turn"
		}
	case trace.Stop:
		if b.Reason == trace.ReasonEndTurn || b.Reason == trace.ReasonToolCalls {
			return "stops without a cause"
		}
	case trace.ForceFinal:
		switch {
		case r.control.forced != forceNone:
			return "orders a last answer again"
		case r.runs() != nil:
			return "orders a last answer while a call runs"
		}
	case trace.Suspend:
	}
	return ""
}

// streaks are the tools that have failed or succeeded, in the order in which they
// did first.
type streaks struct {
	tools []streak
	index map[string]int // of the first `indexed` tools, when they are many
	// indexed is how many tools the index has; touched are those that a result of
	// this step has come of.
	indexed int
	touched []int
}

// streak counts the steps on end in which a tool has failed.
type streak struct {
	tool       string
	n          int
	last       int // the last step that counts, as step.begun has it
	failed, ok bool
}

// find returns where a tool is, or -1.
func (s *streaks) find(tool string) int {
	if len(s.tools) <= few {
		return slices.IndexFunc(s.tools, func(x streak) bool { return x.tool == tool })
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	for ; s.indexed < len(s.tools); s.indexed++ {
		s.index[s.tools[s.indexed].tool] = s.indexed
	}
	if i, ok := s.index[tool]; ok {
		return i
	}
	return -1
}

// tally takes a result for the guard. Neither what somebody chose not to run
// nor what a cancel has ended is a failure or a success.
func (r *run) tally(tool string, failed, chosen bool) {
	if r.promise.guard <= 0 || chosen {
		return
	}
	s := &r.streaks
	i := s.find(tool)
	if i < 0 {
		i = len(s.tools)
		s.tools = append(s.tools, streak{tool: strings.Clone(tool)})
	}
	x := &s.tools[i]
	if !x.failed && !x.ok {
		s.touched = append(s.touched, i)
	}
	x.failed, x.ok = x.failed || failed, x.ok || !failed
}

// count ends the step for the guard.
func (r *run) count() {
	for _, i := range r.streaks.touched {
		s := &r.streaks.tools[i]
		switch {
		case s.ok:
			s.n = 0
		default:
			if r.promise.absence && s.last != r.step.begun-1 {
				s.n = 0
			}
			s.n++
			s.last = r.step.begun
			r.tripped = r.tripped || s.n >= r.promise.guard
		}
		s.failed, s.ok = false, false
	}
	r.streaks.touched = r.streaks.touched[:0]
}

// guardBroken reports whether the run may not go on because of the guard: it
// has stopped the run, or its count is reached and nothing else has stopped it.
func (r *run) guardBroken() bool {
	c := &r.control
	if c.stop != "" {
		return c.stop == trace.ReasonRunawayGuard && r.promise.guard > 0
	}
	return r.tripped && c.forced == forceNone
}
