package check

import (
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
type Cut struct {
	Run   string
	Place int // as it was given to Lost
}

// Lost says that an event could not be read, and so will not be added. Place,
// counted from 1, is where it stood, such as its line. Run is whose event it
// was; empty if nobody knows.
//
// What is found in a run after one of its events was lost may come from nothing
// else, so no more is said of that run: see Cuts. Where it is not known whose
// the event was, that holds of each run that may have lost one: whose next event
// is not numbered as the next, or that has no next one.
func (c *Checker) Lost(run string, place int) {
	if r, ok := c.runs[run]; ok {
		c.cut(r, place)
		return
	}
	c.gap = place
	for _, r := range c.order {
		if r.trust == whole {
			r.trust, r.gap = doubtful, place
		}
	}
}

// Cuts returns the runs that were checked in part only, in the order in which
// that was found. It is complete after Done; the slice is the caller's.
func (c *Checker) Cuts() []Cut { return append([]Cut(nil), c.cuts...) }

// cut says no more of a run.
func (c *Checker) cut(r *run, place int) {
	if r.trust != broken {
		r.trust = broken
		c.cuts = append(c.cuts, Cut{strings.Clone(r.run), place})
	}
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
		c.cut(r, r.gap)
	}
	_, r.over = ev.Body.(trace.RunEnd)
	return false
}
