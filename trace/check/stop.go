package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/trace"
)

// stops are the stop conditions that a run declares: any of them ends it.
type stops struct {
	steps, tokens []int64  // of step_count and total_tokens
	tools         []string // of has_tool_call
	// closed says that it can be told of all of them whether they hold.
	closed bool
}

// newStops reads the option stop_when.
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

// holds names a declared condition that holds after the last step, when so many
// tokens were spent; empty if none that can be told does.
func (r *run) holds(tokens int64) string {
	s := &r.promise.stops
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

// mustStop names a condition that holds although the run goes on from its last
// step, which ran tools. What a run did that this one resumes is not known. Other
// model calls may have spent tokens since the conditions were evaluated, so only
// those count that were spent up to the step's turn.
func (r *run) mustStop() string {
	if !r.step.ran || r.resumed || r.control.stop != "" || r.control.forced != forceNone {
		return ""
	}
	return r.holds(r.step.spent)
}

// condition takes the word that a stop condition has held.
func (r *run) condition(b *trace.Decision) {
	s := &r.step
	s.stops++
	switch {
	case s.stops > 1:
		r.report(invStopConditions, "the stop conditions are evaluated %d times in step %d", s.stops, s.n)
	case !r.batch.answered:
		r.report(invStopConditions, "a stop condition ends step %d, which ran no tools", s.n)
	case r.batch.waiting():
		r.report(invStopConditions, "a stop condition ends step %d before all results are in", s.n)
	case b.By == "" && r.promise.stops.closed && !r.resumed && r.holds(r.used.Total()) == "":
		r.report(invStopConditions, "a stop condition ends step %d, but none of those that are declared holds", s.n)
	}
}

// waiting reports whether a call of the batch has no result yet.
func (b *batch) waiting() bool {
	for i := range b.calls {
		if b.calls[i].state < callEnded {
			return true
		}
	}
	return false
}
