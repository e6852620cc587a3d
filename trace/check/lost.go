package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/looptape/looptape/trace"
)

// trust is how far what comes of a run may be held against it.
type trust byte

const (
	whole    trust = iota // every event has come
	doubtful              // an event was lost that may have been the run's
	broken                // an event of the run was lost
)

// Cut is a run that was checked up to a place only, because an event was lost
// there that was the run's, or may have been.
type PartialRun struct {
	Run   string
	Place int // as it was given to Lost; 0 if nobody did, and the numbers tell
	// Event is the number of the event before which others are missing, if Place
	// is 0. Numbers of pieces of answers may be left out.
	Event int
}

// String says it in words for people.
func (c PartialRun) String() string {
	if c.Place > 0 {
		return fmt.Sprintf("an event was lost at %d; the run %q is checked up to there only", c.Place, c.Run)
	}
	return fmt.Sprintf("the run %q lacks an event before the one with the number %d, and is checked up to there only", c.Run, c.Event)
}

// Lost says that an event could not be read, and so will not be added. Place,
// counted from 1, is where it stood, such as its line. Run is whose event it
// was; empty if nobody knows.
//
// What is found in a run after one of its events was lost may come from nothing
// else, so no more is said of that run: see Cuts. Where it is not known whose
// the event was, that holds of each run that may have lost one: whose next event
// is not numbered as the next, or that has no next one. A run.start with the
// number 0 that follows begins another run, also where it has the name of one
// before: what was lost may be the header of another trace.
func (c *Checker) ReportMissing(run string, place int) {
	c.lost = true
	if r, ok := c.runs[run]; ok {
		c.cut(r, PartialRun{Place: place})
		return
	}
	c.gap = place
	for _, r := range c.order {
		if r.trust == whole && !r.gone {
			r.trust, r.gap = doubtful, place
		}
	}
}

// Cuts returns the runs that were checked in part only, in the order in which
// that was found. It is complete after Done; the slice is the caller's.
func (c *Checker) PartialRuns() []PartialRun { return append([]PartialRun(nil), c.cuts...) }

// cut says no more of a run.
func (c *Checker) cut(r *run, at PartialRun) {
	if r.trust != broken {
		r.trust = broken
		at.Run = strings.Clone(r.run)
		c.cuts = append(c.cuts, at)
	}
}

// begins reports whether an event is the first of a run.
func begins(ev *trace.Event) bool {
	_, starts := ev.Body.(trace.RunStart)
	return starts && ev.Seq == 0
}

// again returns the run that an event belongs to which has the name of r, of
// which an event was lost: r itself or, where the event begins one, a new one.
func (c *Checker) again(r *run, ev *trace.Event) *run {
	if !r.begun || !begins(ev) {
		return r
	}
	c.cut(r, PartialRun{Place: r.gap})
	c.end(r)
	c.last = c.open(ev.Run)
	return c.last
}

// pass takes the next event of a run that is not whole. It reports whether the
// event may be held against the run.
func (c *Checker) pass(r *run, ev *trace.Event) bool {
	if r.trust == doubtful {
		next := r.begun && ev.Seq == r.event+1
		if _, starts := ev.Body.(trace.RunStart); next || starts && !r.begun {
			r.trust = whole
			return true
		}
		c.cut(r, PartialRun{Place: r.gap})
	}
	if ev.Seq < r.hole { // it is not lost, but out of its place
		r.event = ev.Seq
		r.report(invFraming, "the event with the number %d comes after the one with the number %d", ev.Seq, r.hole)
		r.hole = 0
	}
	_, r.over = ev.Body.(trace.RunEnd)
	return false
}

// lacks reports whether an event of the run is missing before this one, going by
// the numbers. Those of an answer's pieces may be missing: a trace need not hold
// them. So while a model call is under way whose pieces are not there, more is
// missing only if the call's end is.
func (r *run) lacks(ev *trace.Event) bool {
	if ev.Seq > r.top+1 {
		r.skipped(ev.Seq)
	}
	if r.hole == 0 {
		return false
	}
	x, own, others := r.exchange(ev.Purpose), r.answer.asked, r.awaited.others > 0
	switch ev.Body.(type) {
	case trace.ModelResponse, trace.ModelError:
		if !x.asked || x.began || x.attempt != ev.Attempt {
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
		return x.asked || !own && !others
	case trace.StepStart, trace.StepEnd, trace.Decision, trace.ToolArguments, trace.ToolStart, trace.ToolEnd, trace.ToolSkip, trace.Abandoned, trace.ModelRetry:
		return own || !others
	default: // may come at any time
		return !own && !others
	}
}

// awaited is the model calls that are under way, and which of their answers may
// lack pieces.
type awaited struct {
	others int         // how many are for another purpose than the answer
	fresh  []*exchange // those that were made since numbers were last left out
	holes  []hole      // in their order; an exchange's is the one that it has itself
}

// hole is the number of an event before which pieces of an answer may be missing.
type hole struct {
	of  *exchange
	seq int
}

// await says that a model call is under way.
func (r *run) await(x *exchange) {
	if !x.asked && x != &r.answer {
		r.awaited.others++
	}
	if !x.fresh {
		r.awaited.fresh = append(r.awaited.fresh, x)
	}
	x.asked, x.fresh = true, true
}

// arrived says that it is no more.
func (r *run) arrived(x *exchange) {
	if x.asked && x != &r.answer {
		r.awaited.others--
	}
	x.asked = false
}

// skipped takes note that numbers were left out before an event: they may be
// those of pieces of the answers that are awaited.
func (r *run) skipped(seq int) {
	r.hole = cmp.Or(r.hole, seq)
	w := &r.awaited
	for _, x := range w.fresh {
		x.fresh = false
		if x.asked && x.hole == 0 {
			x.hole = seq
			w.holes = append(w.holes, hole{x, seq})
		}
	}
	w.fresh = w.fresh[:0]
}

// filled says that an answer has come: what was left out were its pieces, unless
// other answers are awaited since then.
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
