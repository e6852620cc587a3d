package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/looptape/looptape/trace"
)

// trust is how much is known about the events of a run.
type trust byte

const (
	complete   trust = iota // every event has come
	doubtful                // a missing event may be one of the run
	incomplete              // an event of the run is missing
)

// PartialRun is a run that was checked up to a missing event only.
type PartialRun struct {
	Run   string
	Place int // as ReportMissing got it; 0 if the numbers of the events show the gap
	// Event is the number of the event before which others are missing, if Place is 0. The
	// numbers of deltas may be missing.
	Event int
}

// String returns a sentence.
func (p PartialRun) String() string {
	where := fmt.Sprintf("at %d", p.Place)
	if p.Place == 0 {
		where = fmt.Sprintf("before event %d", p.Event)
	}
	return fmt.Sprintf("an event is missing %s: the run %q is checked up to there only", where, p.Run)
}

// ReportMissing reports an event that could not be read, and so is not added. Place, from 1,
// is where the event was, such as its line. Run is the run of the event; empty if unknown.
//
// A violation after a missing event may be a consequence of it, so the rest of the run is not
// checked; see PartialRuns. If the run is unknown, this applies to each run that may have lost
// the event: its next event has not the next number, or there is none. A run.start with the
// number 0 begins another run, also with a name that was used before, because the missing line
// may be the header of another trace.
func (c *Checker) ReportMissing(run string, place int) {
	c.missing = true
	if r, ok := c.runs[run]; ok {
		c.checkedPartly(r, PartialRun{Place: place})
		return
	}
	c.gap = place
	for _, r := range c.order {
		if r.trust == complete && !r.released {
			r.trust, r.gap = doubtful, place
		}
	}
}

// PartialRuns returns the partially checked runs, in the order in which the gaps were found.
// It is complete after Done. The caller owns the slice.
func (c *Checker) PartialRuns() []PartialRun { return append([]PartialRun(nil), c.partial...) }

// checkedPartly ends the check of a run.
func (c *Checker) checkedPartly(r *run, at PartialRun) {
	if r.trust != incomplete {
		r.trust = incomplete
		at.Run = strings.Clone(r.run)
		c.partial = append(c.partial, at)
	}
}

func begins(ev *trace.Event) bool {
	_, starts := ev.Body.(trace.RunStart)
	return starts && ev.Seq == 0
}

// accept takes the next event of a run that is not complete. It reports whether the event can
// be checked.
func (c *Checker) accept(r *run, ev *trace.Event) bool {
	if r.trust == doubtful {
		next := r.begun && ev.Seq == r.event+1
		if _, starts := ev.Body.(trace.RunStart); next || starts && !r.begun {
			r.trust = complete
			return true
		}
		c.checkedPartly(r, PartialRun{Place: r.gap})
	}
	if ev.Seq < r.hole { // the event is not missing, but out of order
		r.event = ev.Seq
		r.report(invFraming, outOfOrder, ev.Seq, r.hole)
		r.hole = 0
	}
	_, r.over = ev.Body.(trace.RunEnd)
	return false
}

const outOfOrder = "the event with the number %d comes after the one with the number %d"

// lacks reports whether an event of the run is missing before this one, by the numbers. Deltas
// may be missing, because a trace need not have them. So during a model call whose deltas are
// missing, another event is known to be missing only if the end of the call is.
func (r *run) lacks(ev *trace.Event) bool {
	if ev.Seq > r.top+1 {
		r.skipped(ev.Seq)
	}
	if r.hole == 0 {
		return false
	}
	x, own, others := r.exchange(ev.Purpose), r.answer.requested, r.awaited.others > 0
	switch ev.Body.(type) {
	case trace.ModelResponse, trace.ModelError:
		if !x.requested || x.began || x.attempt != ev.Attempt {
			return true
		}
		r.filled(x)
		return false
	case trace.RunStart:
		r.hole = 0
		return r.begun
	case trace.ModelDelta, trace.RunEnd:
		return true
	case trace.ModelConfig, trace.ModelRequest:
		return x.requested || !own && !others
	case trace.StepStart, trace.StepEnd, trace.Decision, trace.ToolArguments, trace.ToolStart, trace.ToolEnd, trace.ToolSkip, trace.Abandoned, trace.ModelRetry:
		return own || !others
	default: // may come at any time
		return !own && !others
	}
}

// awaited is the current model calls, and those whose responses may lack deltas.
type awaited struct {
	others int         // calls for other purposes than the answer
	fresh  []*exchange // calls since the last missing numbers
	holes  []hole      // in order; only those are valid that are the hole of their exchange
}

// hole is the number of an event before which deltas of a response may be missing.
type hole struct {
	of  *exchange
	seq int
}

func (r *run) await(x *exchange) {
	if !x.requested && x != &r.answer {
		r.awaited.others++
	}
	if !x.fresh {
		r.awaited.fresh = append(r.awaited.fresh, x)
	}
	x.requested, x.fresh = true, true
}

func (r *run) arrived(x *exchange) {
	if x.requested && x != &r.answer {
		r.awaited.others--
	}
	x.requested = false
}

// skipped notes that numbers are missing before an event. They may be those of deltas of the
// awaited responses.
func (r *run) skipped(seq int) {
	r.hole = cmp.Or(r.hole, seq)
	w := &r.awaited
	for _, x := range w.fresh {
		x.fresh = false
		if x.requested && x.hole == 0 {
			x.hole = seq
			w.holes = append(w.holes, hole{x, seq})
		}
	}
	w.fresh = w.fresh[:0]
}

// filled notes that a response has come: the missing numbers were those of its deltas, unless
// other responses are still awaited.
func (r *run) filled(x *exchange) {
	x.hole, r.hole = 0, 0
	w := &r.awaited
	for len(w.holes) > 0 && w.holes[0].of.hole != w.holes[0].seq {
		w.holes = w.holes[1:]
	}
	if len(w.holes) > 0 {
		r.hole = w.holes[0].seq
	}
}
