// Package check verifies recorded runs: it checks the events of a run, or a list of messages,
// against the 27 invariants of [Catalog]. Each [Violation] has the place and the likely
// cause. The package runs nothing: package loop/looptest checks the invariants that only a
// running loop shows (EvidenceLiveRun).
//
// A run is read once and in order, in memory that grows only with the number of tool calls,
// whose ids are kept as 64-bit hashes. The same events give the same violations. A limit (of
// steps, tokens, failures, concurrent tools, retries) is checked only if trace.RunStart
// declares it, and a missing decision is reported only if the run declares anything. A run
// with a missing event, by the numbers of its events, is checked up to there; see
// [PartialRun].
//
// # One fault, one violation
//
// If one fault violates several invariants, only the most specific one is reported:
//
//   - A call without a result is INV-07 at the end of a run, and INV-01 if the run continued.
//     A late result is INV-02 and not also INV-01. A result in the wrong order is INV-03.
//   - A model call or a step that should not begin is INV-17 after a cancel, else INV-19 after
//     an exhausted budget, else INV-21 after a failed attempt, else INV-25 beyond the step limit,
//     else INV-20 after the runaway guard, else INV-11.
//   - A tool that should not start is INV-17 after a cancel, else INV-14 without its call,
//     else INV-08, else INV-09, else INV-15.
//   - A run without its end is INV-13. Its results are not checked.
//   - A result in a request, for a call that neither ran nor was skipped, is INV-09, or INV-14
//     if it is an error: then only the event is missing.
//   - A stop by a stop condition is INV-25, one by the runaway guard INV-20, and neither is
//     INV-11.
//   - An id that is used twice is INV-04, once per id. Its calls are distinguished by order.
//   - A call that an assistant message omits is INV-01 if the run continued, and INV-07 at its
//     end.
//   - Some violations are reported only for a run without others, once each: other text,
//     reasoning, media or arguments than those of the model (INV-05), counts of run.end that
//     do not add up (INV-18), another finish reason there than the last response has (INV-11),
//     and events out of order, or of another step or attempt than their place (INV-14).
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
	Invariant string // as in Catalog: INV-04
	Run       string // the run's name
	// Event is the Seq of the event that shows the violation, or the index of the message in a
	// list of messages; NoEvent if no single one does.
	Event int
	// Note is false for an error: a provider rejects the request, or the recorded loop declared
	// the guarantee, as a trace does by its format. It is true for what deserves a look, but
	// which the provider accepts and nothing declares. See [Info].Faults.
	Note    bool
	Message string // what is wrong and where
	Hint    string // the likely cause, and what to do
	// Suppressed is the reason why the run accepts the violation; empty if it does not.
	Suppressed string
}

// WithHint returns the violation with the hint of its invariant. It is for packages that find
// violations themselves.
func (v Violation) WithHint() Violation {
	for _, info := range catalog {
		if info.ID == v.Invariant {
			v.Hint = info.Hint
		}
	}
	return v
}

// String returns one line.
func (v Violation) String() string {
	at := ""
	if v.Event != NoEvent {
		at = fmt.Sprintf(" event %d", v.Event)
	}
	return fmt.Sprintf("%s: run %s%s: %s", v.Invariant, v.Run, at, v.Message)
}

// Options describe the events. The zero value is for traces in full form.
type Options struct {
	// Canonical is true for events in canonical form. Their order within a batch is that of
	// the calls and not of time, so INV-15 is not checked.
	Canonical bool
}

// Checker checks the runs of one stream of events. It is for use by one goroutine.
type Checker struct {
	opts  Options
	runs  map[string]*run
	order []*run // by first event; ended runs are removed in batches
	last  *run
	ended map[string]bool // ended runs; true if their later events are not reported
	// suspended has the pending calls of ended runs, for the runs that resume them.
	suspended map[string][]call
	found     []Violation
	missing   bool // an event is
	gap       int  // the place of the last missing event of an unknown run; 0 if there is none
	partial   []PartialRun
	over      *run // the run that ended last
	spare     *run // its memory, after Reset
}

// New returns a Checker; opts may be nil.
func New(opts *Options) *Checker {
	c := &Checker{runs: map[string]*run{}, ended: map[string]bool{}, suspended: map[string][]call{}}
	if opts != nil {
		c.opts = *opts
	}
	return c
}

// Reset discards all events, as if c were new. It uses the memory of the last run that ended again.
func (c *Checker) Reset() {
	clear(c.runs)
	clear(c.ended)
	clear(c.suspended)
	*c = Checker{opts: c.opts, runs: c.runs, ended: c.ended, suspended: c.suspended, spare: c.over}
}

// Add checks the next event. Runs may be interleaved; the events of one run are in order. The
// checker keeps the last response of each open run, with its results.
func (c *Checker) Add(ev trace.Event) {
	r := c.last
	if r == nil || r.run != ev.Run {
		if r = c.find(ev); r == nil {
			return
		}
		c.last = r
	}
	switch {
	case r.trust != complete && r.begun && begins(&ev): // another run with this name
		c.checkedPartly(r, PartialRun{Place: r.gap})
		c.end(r)
		r = c.open(ev.Run)
		c.last = r
	case r.trust != complete:
	case ev.Seq == r.top+1 && r.hole == 0:
	case r.lacks(&ev):
		c.checkedPartly(r, PartialRun{Event: r.hole})
	}
	if r.trust == complete || c.accept(r, &ev) {
		r.numbered(ev.Seq)
		r.add(&ev)
	}
	if r.over {
		c.end(r)
	}
}

// find returns the run of an event, a new one if necessary; nil if the run has ended.
func (c *Checker) find(ev trace.Event) *run {
	if r, ok := c.runs[ev.Run]; ok {
		return r
	}
	if reported, over := c.ended[ev.Run]; over && !(c.missing && begins(&ev)) {
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

func (c *Checker) open(name string) *run {
	name = strings.Clone(name)
	r := c.spare
	if c.spare = nil; r == nil {
		r = &run{answer: exchange{list: newList()}}
	} else {
		r.reset()
	}
	r.sink, r.checker, r.top = sink{run: name, event: NoEvent, sound: true, found: &c.found}, c, -1
	r.declared = newDeclared(nil)
	r.answer.list.recent = &r.batch
	r.step.n = trace.NoStep
	c.runs[name] = r
	c.order = append(c.order, r)
	return r
}

func (c *Checker) end(r *run) {
	c.last, c.over = nil, r
	c.ended[r.run] = r.trust == incomplete
	delete(c.runs, r.run)
	r.released = true
	if len(c.order) > 2*len(c.runs) {
		c.order = slices.DeleteFunc(c.order, func(x *run) bool { return x.released })
	}
}

// Done ends the stream. It returns all violations in the order in which they were found, and
// last those of the runs that have not ended.
func (c *Checker) Done() []Violation {
	for _, r := range c.order {
		switch {
		case r.released:
		case r.trust != complete:
			c.checkedPartly(r, PartialRun{Place: r.gap})
		default:
			r.event = NoEvent
			r.report(invOneEnd, "the run has no run.end: the recording was interrupted, or the loop does not end the run")
		}
	}
	clear(c.runs)
	c.order, c.last = nil, nil
	return c.found
}

// Trace checks all runs of a stream of events, such as trace.Reader returns. It returns the
// violations up to the first error, and the error. After all violations, runs with missing
// events are an error too; see [PartialRun].
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
	for _, p := range c.partial {
		errs = append(errs, fmt.Errorf("check: %s", p))
	}
	return found, errors.Join(errs...)
}

// Messages checks a list of messages, such as the body of a request, against the invariants
// that messages alone show. The list may be empty, and may begin with system messages. It may
// end with calls without results or ids, with an empty assistant message, or with a call without
// a tool name, because nothing shows that the loop sent these.
func Messages(run string, messages []llm.Message) []Violation {
	l := List{Run: run}
	l.Add(messages...)
	return l.Done()
}

// List is the streaming form of [Messages], for one list. Its zero value is ready; the fields
// are set before the first call.
type List struct {
	Run string // the name of the run in violations
	// Protocol is the name of the wire protocol that the messages are a request of. It decides
	// what is a note; see [Info].Faults. Empty means unknown.
	Protocol string
	// Request is true if the list is the body of a request: Done is the same as Sent.
	Request bool
	// Response is true if the last message of the assistant is a whole response. In Responses, a text after a call is
	// then of the same response; in a list of items that is unknown. In Messages, the message is then not joined with
	// the one before it.
	Response bool
	// Accepted is true if the provider accepted the request, or if its own rules are checked elsewhere: a fault that
	// other servers with the same protocol accept is then not reported.
	Accepted bool
	// Required reports whether the provider rejects a request without the opaque data of a part
	// of the response; see [List.Follow]. nil means that it requires none.
	Required func(llm.Part) bool

	sink  sink
	list  list
	found []Violation
	// last is the last message. If it is of the assistant, the next one shows that it was sent.
	last    llm.Message
	hasLast bool
	server  []serverCall
}

// begin prepares the list at the first call.
func (l *List) begin() {
	if l.sink.found == nil {
		l.list, l.sink = newList(), sink{run: l.Run, found: &l.found, protocol: &l.Protocol}
		l.list.joins = l.Protocol == "anthropic-messages"
	}
}

// Add checks the next messages.
func (l *List) Add(messages ...llm.Message) {
	l.begin()
	for _, m := range messages {
		if l.hasLast {
			l.add(l.last)
		}
		if l.last, l.hasLast = m, m.Role == llm.RoleAssistant; !l.hasLast {
			l.add(m)
		}
	}
}

func (l *List) add(m llm.Message) {
	// In a trace, such a message may be an empty text.
	if m.Opaque == nil && len(m.Parts) == 0 && (m.Role == llm.RoleSystem || m.Role == llm.RoleUser) {
		l.sink.reportFault(faultNoParts, "message %d has no content", l.list.n)
	}
	l.list.add(&l.sink, m)
	l.addRejected(m)
	l.addServerCalls(m)
	l.sink.event++
}

// Done returns the violations in the order in which they were found.
func (l *List) Done() []Violation {
	if l.Request {
		return l.Sent()
	}
	l.begin()
	l.list.unsent = true
	l.addLast()
	l.list.settle(&l.sink, true)
	l.settleServerCalls()
	switch {
	case l.list.joins:
		l.list.continued(&l.sink, l.Response)
	case l.Protocol == "openai-responses" && l.hasLast && !l.Response:
		l.list.followed(&l.sink, l.last)
	}
	return l.found
}

// Sent is Done for a list that was sent to a model: its last calls need results as well.
func (l *List) Sent() []Violation {
	l.begin()
	if l.list.n == 0 && !l.hasLast {
		l.sink.event = NoEvent
		l.sink.reportFault(faultNoMessages, "the request has no messages")
	}
	l.addLast()
	l.list.sent(&l.sink, true)
	l.settleServerCalls()
	return l.found
}

func (l *List) addLast() {
	switch {
	case l.hasLast && (empty(l.last) || slices.ContainsFunc(l.last.Parts, isUnnamed)):
		l.list.take(&l.sink, l.last)
	case l.hasLast:
		l.add(l.last)
	}
}

// sink collects the violations of one run.
type sink struct {
	run      string
	event    int
	suppress map[string]string
	found    *[]Violation
	protocol *string     // of the messages; nil in a trace
	sound    bool        // nothing was reported
	deferred []Violation // reported only if the run is sound, one per invariant
}

func (s *sink) report(i invariant, format string, args ...any) {
	s.sound = false
	*s.found = append(*s.found, s.violation(i, format, args...))
}

// reportFault is report for a fault that a list of messages shows.
func (s *sink) reportFault(f *Fault, format string, args ...any) {
	s.report(f.invariant, format, args...)
	if s.protocol != nil {
		(*s.found)[len(*s.found)-1].Note = f.Rule(*s.protocol) == ""
	}
}

func (s *sink) violation(i invariant, format string, args ...any) Violation {
	info := catalog[i-1]
	return Violation{
		Invariant: info.ID, Run: s.run, Event: s.event,
		Message: fmt.Sprintf(format, args...), Hint: info.Hint, Suppressed: s.suppress[info.ID],
	}
}

// reportLater is report for what is often only a consequence of another fault.
func (s *sink) reportLater(i invariant, format string, args ...any) {
	if !slices.ContainsFunc(s.deferred, func(v Violation) bool { return v.Invariant == catalog[i-1].ID }) {
		s.deferred = append(s.deferred, s.violation(i, format, args...))
	}
}
