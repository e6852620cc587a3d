// Package check judges runs: it holds the events of a run, or a plain list of
// messages, against the 27 invariants that Catalogue lists, and tells what does
// not hold, where, and what usually causes it.
//
// It promises to read a run once and in order, to need memory that grows with
// the number of tool calls alone (their ids must be unique, so they must be
// remembered; they are kept as 64-bit hashes), to report the same violations for
// the same events, and to blame no run for what it did not declare: a cap, a
// budget, a guard, a concurrency or a number of retries is only checked where
// trace.RunStart names it, and decisions are only missed where a run declares
// anything at all. It changes nothing that it is given and runs nothing: the
// invariants that only a running loop can show (Evidence is Probe) are listed
// here and checked by a contract suite.
//
// What it cannot see, it does not judge: a run of which an event is missing, going
// by the numbers of its events, is checked up to there (see Cut).
//
// # One broken thing, one violation
//
// Where one broken thing breaks several invariants, the most specific one is
// reported alone:
//
//   - A call without a result is INV-07 at the end of a run, INV-01 where the run
//     went on. A result that comes late is INV-02 and not also INV-01; one that
//     is only out of place among its neighbours is INV-03.
//   - A model call or a step that should not begin is INV-17 after a cancel, else
//     INV-19 after a spent budget, else INV-21 after a failed attempt, else
//     INV-25 beyond the cap, else INV-20 after the guard, else INV-11.
//   - A tool that should not start is INV-17 after a cancel, else INV-14 without
//     its call, else INV-08, else INV-09, else INV-15.
//   - A run without its end is INV-13 and is not asked for its results.
//   - A result that the model is told of a call which neither ran nor was skipped
//     is INV-09, or INV-14 if it is an error: then only the word for it is missing.
//   - A stop by a stop condition is INV-25's, one by the runaway guard INV-20's,
//     and neither INV-11's.
//   - An id that is used twice is INV-04, once an id; its calls are then told
//     apart by their order.
//   - A call that an assistant message leaves out is INV-01 where the run went on
//     and INV-07 at its end. Other words, reasoning, media or arguments of the
//     model than it said (INV-05), counts of the run.end that do not add up
//     (INV-18), another finish there than the last turn's (INV-11), and events that
//     are not numbered in their order, or are of another step or attempt than where
//     they stand (INV-14) are reported only of a run in which nothing else was
//     found, once each.
package check

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Violation is one place where an invariant does not hold.
type Violation struct {
	Invariant string // as in Catalogue: INV-04
	Run       string // the run's name
	// Event is the Seq of the event that shows it; in a list of messages the
	// index of the message; NoEvent where no single one does.
	Event   int
	Message string // what is wrong and where, in words
	Hint    string // what usually causes it, and what to do
	// Suppressed is the reason why the run accepts it; empty if it does not.
	Suppressed string
}

// NoEvent is the Event of a violation that no single event shows.
const NoEvent = -1

// Broken returns the violation of an invariant of the Catalogue that another package has
// found, with its hint.
func Broken(invariant, run string, event int, message string) Violation {
	v := Violation{Invariant: invariant, Run: run, Event: event, Message: message}
	for _, info := range catalogue {
		if info.ID == invariant {
			v.Hint = info.Hint
		}
	}
	return v
}

// String is one line for people.
func (v Violation) String() string {
	at := ""
	if v.Event != NoEvent {
		at = fmt.Sprintf(" event %d", v.Event)
	}
	return fmt.Sprintf("%s: run %s%s: %s", v.Invariant, v.Run, at, v.Message)
}

// Options say how events are to be read. The zero value is for traces in full
// form.
type Options struct {
	// Canonical says that the events are in canonical form: those of a batch
	// stand in the order of its calls and not in that of time, so INV-15 cannot
	// be seen.
	Canonical bool
}

// Checker checks the runs of one stream of events. It is for one goroutine.
type Checker struct {
	opts  Options
	runs  map[string]*run
	order []*run // by their first event; those that have ended are taken out by and by
	last  *run
	ended map[string]bool // runs that have ended; true if nothing more is said of them
	// suspended holds the calls that ended runs have left pending, for the
	// runs that resume them.
	suspended map[string][]call
	found     []Violation
	lost      bool // an event was
	gap       int  // the place of the last event that was lost and may be anybody's; 0 if none was
	cuts      []PartialRun
}

// New returns a Checker; opts may be nil.
func New(opts *Options) *Checker {
	c := &Checker{runs: map[string]*run{}, ended: map[string]bool{}, suspended: map[string][]call{}}
	if opts != nil {
		c.opts = *opts
	}
	return c
}

// Add takes the next event. Events of several runs may be interleaved; those of
// one run come in order. Of what it is given, it keeps at most the last turn of
// each run that has not ended, and the results of its calls.
func (c *Checker) Add(ev trace.Event) {
	r := c.last
	if r == nil || r.run != ev.Run {
		if r = c.find(ev); r == nil {
			return
		}
		c.last = r
	}
	switch {
	case r.trust != whole:
		r = c.again(r, &ev)
	case ev.Seq == r.top+1 && r.hole == 0:
	case r.lacks(&ev):
		c.cut(r, PartialRun{Event: r.hole})
	}
	if r.trust == whole || c.pass(r, &ev) {
		r.numbered(ev.Seq)
		r.add(&ev)
	}
	if r.over {
		c.end(r)
	}
}

// find returns the run of an event, a new one if need be, or nil if the run has
// ended.
func (c *Checker) find(ev trace.Event) *run {
	if r, ok := c.runs[ev.Run]; ok {
		return r
	}
	if reported, over := c.ended[ev.Run]; over && !(c.lost && begins(&ev)) {
		if !reported {
			s := sink{run: ev.Run, event: ev.Seq, found: &c.found}
			s.report(invOneEnd, "a %s comes after the run has ended", kindName(ev.Body))
			c.ended[s.run] = true
		}
		return nil
	}
	r := c.open(ev.Run)
	if c.gap > 0 {
		r.trust, r.gap = doubtful, c.gap
	}
	return r
}

// open begins a run.
func (c *Checker) open(name string) *run {
	r := newRun(c, strings.Clone(name))
	c.runs[r.run] = r
	c.order = append(c.order, r)
	return r
}

// end frees what was kept of a run.
func (c *Checker) end(r *run) {
	c.last = nil
	c.ended[r.run] = r.trust == broken
	delete(c.runs, r.run)
	r.gone = true
	if len(c.order) > 2*len(c.runs) {
		c.order = slices.DeleteFunc(c.order, func(x *run) bool { return x.gone })
	}
}

// Done says that no more events come and returns all violations in the order
// in which they were found. The runs that have not ended are reported last.
func (c *Checker) Done() []Violation {
	for _, r := range c.order {
		if r.gone {
			continue
		}
		if r.trust != whole {
			c.cut(r, PartialRun{Place: r.gap})
			continue
		}
		r.event = NoEvent
		r.report(invOneEnd, "the run has no run.end: it was cut off, or its loop does not end what it began")
	}
	c.runs, c.order, c.last = map[string]*run{}, nil, nil
	return c.found
}

// Trace checks all runs of a stream, such as a reader of trace files gives. It
// returns the violations up to the first error, and the error. Runs that lack
// events (see Cut) are an error as well, behind all violations.
func Trace(events iter.Seq2[trace.Event, error], opts *Options) ([]Violation, error) {
	c := New(opts)
	for ev, err := range events {
		if err != nil {
			return c.found, fmt.Errorf("check: read events: %w", err)
		}
		c.Add(ev)
	}
	found := c.Done()
	var errs []error
	for _, cut := range c.cuts {
		errs = append(errs, fmt.Errorf("check: %s", cut))
	}
	return found, errors.Join(errs...)
}

// Messages checks a list of messages, such as the body of one request, against
// those invariants that the messages alone can show. A list may begin with
// system messages, and it may end with calls that have no results yet, or with
// an assistant turn that says nothing or calls a tool without a name: nobody has
// sent that one on.
func Messages(run string, messages []llm.Message) []Violation {
	return listOf(run, messages).Done()
}

// Sent is Messages for a list that was sent to a model: its last calls have to have
// results, too.
func Sent(run string, messages []llm.Message) []Violation {
	return listOf(run, messages).Sent()
}

// listOf is a List that has these messages.
func listOf(run string, messages []llm.Message) *List {
	l := NewList(run)
	for _, m := range messages {
		l.Add(m)
	}
	return l
}

// List is the streaming form of Messages, for one list.
type List struct {
	sink  sink
	list  list
	found []Violation
	// held is the last message, if it is an answer: the next one shows that it was
	// sent on.
	held    llm.Message
	holding bool
}

// NewList returns a List whose violations name the run.
func NewList(run string) *List {
	l := &List{list: newList()}
	l.sink = sink{run: run, found: &l.found}
	return l
}

// Add takes the next message.
func (l *List) Add(m llm.Message) {
	if l.holding {
		l.add(l.held)
	}
	if l.holding = m.Role == llm.RoleAssistant; l.holding {
		l.held = m
		return
	}
	l.add(m)
}

func (l *List) add(m llm.Message) {
	l.list.add(&l.sink, m)
	l.sink.event++
}

// Done returns the violations in the order in which they were found.
func (l *List) Done() []Violation {
	l.last()
	l.list.settle(&l.sink, true)
	return l.found
}

// Sent is Done for a list that was sent to a model; see the function Sent.
func (l *List) Sent() []Violation {
	l.last()
	l.list.sent(&l.sink, true)
	return l.found
}

// last takes the last message.
func (l *List) last() {
	switch {
	case l.holding && (empty(l.held) || nameless(l.held)):
		l.list.take(&l.sink, l.held)
	case l.holding:
		l.add(l.held)
	case l.list.n == 0:
		l.sink.event = NoEvent
		l.sink.report(invWellFormed, "there are no messages; no provider takes an empty list")
	}
}

// sink gathers the violations of one run.
type sink struct {
	run      string
	event    int
	suppress map[string]string
	found    *[]Violation
	sound    bool        // nothing was reported
	faint    []Violation // what is reported of a sound run alone, one an invariant
}

func (s *sink) report(i invariant, format string, args ...any) {
	s.sound = false
	*s.found = append(*s.found, s.violation(i, format, args...))
}

func (s *sink) violation(i invariant, format string, args ...any) Violation {
	info := catalogue[i-1]
	return Violation{
		Invariant: info.ID, Run: s.run, Event: s.event,
		Message: fmt.Sprintf(format, args...), Hint: info.Hint, Suppressed: s.suppress[info.ID],
	}
}

// hold is report for what is often only a consequence of something else.
func (s *sink) hold(i invariant, format string, args ...any) {
	for _, v := range s.faint {
		if v.Invariant == catalogue[i-1].ID {
			return
		}
	}
	s.faint = append(s.faint, s.violation(i, format, args...))
}

// release reports what was held, at the end of a run.
func (s *sink) release() {
	if s.sound {
		*s.found = append(*s.found, s.faint...)
	}
}
