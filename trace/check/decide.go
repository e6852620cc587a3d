package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/trace"
)

// control is what the run has decided.
type control struct {
	awaited bool         // a response has no decision yet
	stop    trace.Reason // of the decision that ended the run, until a decision continues it
	forced  force
}

// force is the progress of a forced final response.
type force byte

const (
	forceNone force = iota
	forceDecided
	forceRequested
)

// force takes a request as the forced final response if that was decided.
func (r *run) force(x *exchange) {
	if r.control.forced != forceDecided {
		return
	}
	r.control.forced = forceRequested
	if x.offers {
		r.report(invContinuation, "the request for the forced final response has tools")
	}
}

func (r *run) mustHaveDecided() {
	c := &r.control
	if c.awaited && r.declared.any {
		r.report(invContinuation, "no decision follows the response with %d calls", len(r.batch.calls))
	}
	c.awaited = false
}

func (r *run) decide(ev *trace.Event, b *trace.Decision) {
	c := &r.control
	if r.step.open && ev.Step != trace.NoStep && ev.Step != r.step.n {
		r.reportLater(invFraming, "a decision of step %d is in step %d", ev.Step, r.step.n)
	}
	r.step.decided = true
	wrong := ""
	if c.awaited {
		wrong = r.afterResponse(b)
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
			r.step.ran, r.step.tokens = true, r.used.Total()
		}
	case trace.ForceFinal:
		c.stop, c.forced = "", forceDecided
	case trace.End, trace.Stop, trace.Suspend:
		c.stop = b.Reason
	default:
		r.report(invContinuation, "unknown action %q of a decision", b.Action)
	}
	if b.Reason == trace.ReasonStopCondition {
		r.condition(b)
	}
}

// afterResponse returns what is wrong with the decision after a response. It may depend only
// on the calls of the response.
func (r *run) afterResponse(b *trace.Decision) string {
	n := len(r.batch.calls)
	if r.control.forced == forceRequested {
		if b.Action == trace.Continue || b.Action == trace.ForceFinal {
			return "continues after the forced final response"
		}
		return ""
	}
	switch b.Action {
	case trace.Continue:
		return continuing(b, n)
	case trace.End:
		if n > 0 {
			return "ends the run, but the response has calls"
		}
		if b.Reason != trace.ReasonEndTurn {
			return "is not a natural end"
		}
	case trace.Stop:
		return r.stopping(b, n)
	case trace.ForceFinal, trace.Suspend:
		if b.Reason == trace.ReasonEndTurn || b.Reason == trace.ReasonToolCalls {
			return "has no reason of its own"
		}
	}
	return ""
}

func continuing(b *trace.Decision, n int) string {
	switch b.Reason {
	case trace.ReasonToolCalls:
		if b.ToolCalls != n || n == 0 {
			return "has another number of calls than the response"
		}
	case trace.ReasonContinuedResponse, trace.ReasonEndHook:
		if n > 0 {
			return "ignores the calls of the response"
		}
	case trace.ReasonEndTurn:
		return "continues without a reason"
	case trace.ReasonMaxSteps, trace.ReasonRunawayGuard, trace.ReasonStopCondition, trace.ReasonForced, trace.ReasonCancel, trace.ReasonDeadline:
		return "continues for a reason to stop"
	default:
		if n == 0 && b.By == "" && b.Reason != trace.ReasonHandoff && b.Reason != trace.ReasonMalformedCall {
			return "continues, but the response has no calls and no middleware asked for it"
		}
	}
	return ""
}

// stopping returns what is wrong with a stop directly after a response. A response without
// calls may have been one to continue if the limits had allowed it.
func (r *run) stopping(b *trace.Decision, n int) string {
	switch b.Reason {
	case trace.ReasonEndTurn, trace.ReasonToolCalls:
		return "stops without a reason"
	case trace.ReasonClientTools:
		if n == 0 {
			return "waits for calls, but the response has none"
		}
	case trace.ReasonContinuedResponse:
		if n > 0 {
			return "ignores the calls of the response"
		}
	case trace.ReasonMaxSteps:
		if b.By == "" && (n > 0 || r.step.begun < r.declared.steps) {
			return "stops before the step limit is reached and the calls of the response have run"
		}
	case trace.ReasonBudget, trace.ReasonHandoff, trace.ReasonEndHook:
		spent := b.Reason == trace.ReasonBudget && r.used.Total() >= r.declared.budget // for another model call
		if b.By == "" && !spent {
			return "stops before the calls of the response are handled"
		}
	default: // by middleware, or without a response to continue from
	}
	return ""
}

// later returns what is wrong with a decision that does not follow a response.
func (r *run) later(b *trace.Decision) string {
	switch b.Action {
	case trace.End:
		return "is a natural end, but follows no response"
	case trace.Continue:
		if b.Reason == trace.ReasonToolCalls && (!r.resumed || r.step.begun > 0) {
			return "has calls, but follows no response"
		}
	case trace.Stop:
		if b.Reason == trace.ReasonEndTurn || b.Reason == trace.ReasonToolCalls {
			return "stops without a reason"
		}
	case trace.ForceFinal:
		switch {
		case r.control.forced != forceNone:
			return "forces a final response a second time"
		case r.firstRunning() != nil:
			return "forces a final response while a call runs"
		}
	case trace.Suspend:
	}
	return ""
}

// streaks are the tools that have failed or succeeded, by name.
type streaks struct {
	tools   map[string]streak
	touched []string // those with a result in this step
}

type streak struct {
	n          int
	last       int // the last counted step, by step.begun
	failed, ok bool
}

// countResult counts a result for the runaway guard. A call that was denied or canceled is
// neither a failure nor a success. The guard does not see the calls that a resumed run begins with.
func (r *run) countResult(tool string, failed, chosen bool) {
	if r.declared.guard <= 0 || chosen || r.resumed && !r.step.open {
		return
	}
	s := &r.streaks
	if s.tools == nil {
		s.tools = map[string]streak{}
	}
	x, known := s.tools[tool]
	if !known {
		tool = strings.Clone(tool)
	}
	if !x.failed && !x.ok {
		s.touched = append(s.touched, tool)
	}
	x.failed, x.ok = x.failed || failed, x.ok || !failed
	s.tools[tool] = x
}

// closeStep ends the step, also for the runaway guard.
func (r *run) closeStep() {
	r.step.open = false
	for _, tool := range r.streaks.touched {
		s := r.streaks.tools[tool]
		if s.ok || r.declared.absence && s.last != r.step.begun-1 {
			s.n = 0
		}
		if !s.ok {
			s.n++
			s.last = r.step.begun
			r.tripped = r.tripped || s.n >= r.declared.guard
		}
		s.failed, s.ok = false, false
		r.streaks.tools[tool] = s
	}
	r.streaks.touched = r.streaks.touched[:0]
}

// guardStops reports whether the runaway guard forbids to continue: it has stopped the run, or
// its count is reached and no other decision has stopped the run.
func (r *run) guardStops() bool {
	c := &r.control
	if c.stop != "" {
		return c.stop == trace.ReasonRunawayGuard && r.declared.guard > 0
	}
	return r.tripped && c.forced == forceNone
}

// stops are the declared stop conditions. Each of them ends the run.
type stops struct {
	steps, tokens []int64  // of step_count and total_tokens
	tools         []string // of has_tool_call
	closed        bool     // all conditions can be evaluated
}

func newStops(o trace.Options) stops {
	words, ok := o.Lookup("stop_when")
	s := stops{closed: ok}
	if !ok {
		return s
	}
	for word := range strings.SplitSeq(words, ",") {
		kind, value, _ := strings.Cut(word, ":")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case kind == "has_tool_call":
			s.tools = append(s.tools, value)
		case kind == "step_count" && err == nil:
			s.steps = append(s.steps, n)
		case kind == "total_tokens" && err == nil:
			s.tokens = append(s.tokens, n)
		case word != "never":
			s.closed = false
		}
	}
	return s
}

// holds returns a declared condition that holds after the last step, with this number of
// tokens; empty if none is known to hold.
func (r *run) holds(tokens int64) string {
	s := &r.declared.stops
	for _, n := range s.steps {
		if int64(r.step.begun) >= n {
			return "step_count:" + strconv.FormatInt(n, 10)
		}
	}
	for _, n := range s.tokens {
		if tokens >= n {
			return "total_tokens:" + strconv.FormatInt(n, 10)
		}
	}
	for _, tool := range s.tools {
		if slices.ContainsFunc(r.batch.calls, func(c call) bool { return c.name == tool }) {
			return "has_tool_call:" + tool
		}
	}
	return ""
}

func (r *run) condition(b *trace.Decision) {
	s := &r.step
	s.stops++
	switch {
	case s.stops > 1:
		r.report(invStopConditions, "the stop conditions are evaluated %d times in step %d", s.stops, s.n)
	case !r.batch.answered:
		r.report(invStopConditions, "a stop condition ends step %d, which ran no tools", s.n)
	case slices.ContainsFunc(r.batch.calls, func(c call) bool { return c.state < callDone }):
		r.report(invStopConditions, "a stop condition ends step %d before all results are in", s.n)
	case b.By == "" && r.declared.stops.closed && !r.resumed && r.holds(r.used.Total()) == "":
		r.report(invStopConditions, "a stop condition ends step %d, but no declared condition holds", s.n)
	}
}
