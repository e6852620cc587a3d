package llm

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/internal/slab"
)

// Accumulator assembles the events of one response to a [Response]. The zero value is ready to
// use, and so is an Accumulator after [Accumulator.Reset]. It is not safe for concurrent use.
//
// Arguments remain raw until their call ends. The end of the response closes the calls without
// an end. An end that names no open call closes the first unfinished call. The arguments of an
// end replace the earlier deltas of that call. Consecutive text becomes one part, and so does
// consecutive reasoning. Opaque data ends the part that it belongs to.
//
// Some servers repeat arguments. If the arguments are not JSON when a call ends, the Accumulator
// repairs the unambiguous cases. If each delta repeats all earlier deltas, it keeps the last
// (quirk QO-12). If equal values follow each other, it keeps one (QO-13). If a placeholder {}
// precedes an object, it keeps the object (QO-14). All other arguments remain unchanged.
type Accumulator struct {
	// NewID, if set, returns the ID of a call. All later uses of the call have this ID.
	NewID func(providerID string) (id string, generated bool)
	// OrderByEnd puts the calls in the order of their ends, and after them the calls without an
	// end. Otherwise they are in the order of their starts.
	OrderByEnd bool

	response Response
	parts    slab.Slab[Part]
	builders []partBuilder
	calls    []OpenCall // one per ToolCallStart, in order
	ended    []int      // the calls in the order of their ends
	many     manyCalls
	finished bool
}

// OpenCall is the state of a call in an [Accumulator].
type OpenCall struct {
	Index      int    // as the provider sent it
	ID         string // after NewID
	ProviderID string
	Name       string
	Closed     bool

	generated bool
	builder   int
	opaque    json.RawMessage
	first     string // the arguments while they are a single delta
	buf       []byte // the arguments, when there are more
	ends      []int  // the end of each delta in buf; empty for a single delta
}

// partBuilder is a part under construction.
type partBuilder struct {
	kind    partKind
	part    Part   // a complete part; for a call only if it needs no change
	first   string // text while it is a single delta
	buf     []byte
	closed  bool
	refusal bool
	opaque  json.RawMessage
	call    int
}

type partKind byte

const (
	partComplete partKind = iota
	partText
	partReasoning
	partCall
)

// Reset discards all state except NewID and OrderByEnd. The returned [Response] remains valid.
func (a *Accumulator) Reset() {
	a.response, a.builders, a.calls, a.ended, a.many, a.finished = Response{}, a.builders[:0], a.calls[:0], a.ended[:0], manyCalls{}, false
}

// Add adds the next event. For an event of a call it returns that call. The pointer is valid until
// the next Add.
func (a *Accumulator) Add(ev Event) *OpenCall {
	switch e := ev.(type) {
	case TextDelta:
		if e.Text != "" || e.Opaque != nil {
			s := a.tail(partText, e.Refusal)
			s.add(e.Text, e.Opaque)
		}
	case ReasoningDelta:
		s := a.tail(partReasoning, false)
		s.add(e.Text, e.Opaque)
	case ToolCallStart:
		return a.addStart(e)
	case ToolCallDelta:
		c := a.find(e.Index, e.ID, true)
		if c == nil {
			a.warn(WarnNoCallStart, "arguments came for no open call and were dropped")
			return nil
		}
		c.add(e.Arguments)
		return c
	case ToolCallEnd:
		c := a.find(e.Index, e.ID, false)
		if c == nil {
			a.warn(WarnNoCallStart, "an end came for no open call and was dropped")
			return nil
		}
		if e.Opaque != nil {
			c.opaque = e.Opaque
		}
		if e.Arguments != "" {
			c.first, c.buf, c.ends = e.Arguments, c.buf[:0], c.ends[:0]
		}
		c.Closed = true
		a.ended = append(a.ended, a.builders[c.builder].call)
		return c
	case PartDone:
		return a.addComplete(e.Part)
	case Usage:
		a.response.Usage = a.response.Usage.Update(e)
	case Warning:
		a.response.Warnings = append(a.response.Warnings, e)
	case Finish:
		a.addFinish(e)
	case Unknown:
		a.response.UnknownEvents = append(a.response.UnknownEvents, e)
	}
	return nil
}

// Response closes the open parts and returns the response. Call it once per response.
func (a *Accumulator) Response() *Response {
	t := new(Response)
	a.ResponseInto(t)
	return t
}

// ResponseInto is like [Accumulator.Response], but overwrites t instead of allocating.
func (a *Accumulator) ResponseInto(t *Response) {
	*t = a.response
	t.Parts = a.parts.Take(len(a.builders))[:0]
	a.orderByEnd()
	for i := range a.builders {
		switch s := &a.builders[i]; s.kind {
		case partText:
			t.Parts = append(t.Parts, Text{s.text(), s.refusal, s.opaque})
		case partReasoning:
			t.Parts = append(t.Parts, Reasoning{s.text(), s.opaque})
		case partCall:
			c := &a.calls[s.call]
			if !c.Closed {
				c.Closed = true
				t.Warnings = append(t.Warnings, Warning{WarnNoCallEnd, "the call " + c.ID + " was not ended by the provider"})
			}
			args, repeated := c.arguments()
			if repeated {
				t.Warnings = append(t.Warnings, Warning{WarnRepeatedArguments, "the arguments of " + c.ID + " came more than once; one was kept"})
			}
			if s.part != nil && c.ID == c.ProviderID && !c.generated && !repeated {
				t.Parts = append(t.Parts, s.part)
				continue
			}
			call := ToolCall{ID: c.ID, Name: c.Name, Arguments: args, IDGenerated: c.generated, Opaque: c.opaque}
			if c.generated {
				call.ProviderID = c.ProviderID
			}
			t.Parts = append(t.Parts, call)
		case partComplete:
			t.Parts = append(t.Parts, s.part)
		}
	}
	switch {
	case t.FinishReason == "":
		t.FinishReason = FinishUnknown
		if !a.finished {
			t.Warnings = append(t.Warnings, Warning{WarnNoFinish, "the answer ended without a finish reason"})
		}
	case t.FinishReason == FinishToolCalls && len(a.calls) == 0:
		t.Warnings = append(t.Warnings, Warning{WarnNoCalls, "the finish reason speaks of tool calls, but none came"})
	}
}

// orderByEnd puts the calls into the places of calls in the order of their ends.
func (a *Accumulator) orderByEnd() {
	if !a.OrderByEnd || len(a.calls) < 2 {
		return
	}
	order := a.ended
	for i := range a.calls {
		if !a.calls[i].Closed {
			order = append(order, i)
		}
	}
	ordered := make([]partBuilder, len(order))
	for n, i := range order {
		ordered[n] = a.builders[a.calls[i].builder]
	}
	for i := range a.builders {
		if a.builders[i].kind == partCall {
			a.builders[i], ordered = ordered[0], ordered[1:]
		}
	}
}

func (a *Accumulator) warn(code, message string) {
	a.response.Warnings = append(a.response.Warnings, Warning{code, message})
}

// tail returns the text or reasoning part that a delta belongs to.
func (a *Accumulator) tail(kind partKind, refusal bool) *partBuilder {
	if n := len(a.builders); n > 0 {
		if s := &a.builders[n-1]; s.kind == kind && !s.closed && s.refusal == refusal {
			return s
		}
	}
	return a.push(partBuilder{kind: kind, refusal: refusal})
}

func (a *Accumulator) push(s partBuilder) *partBuilder {
	if n := len(a.builders); n < cap(a.builders) { // the memory of a part of an earlier response
		s.buf = a.builders[:n+1][n].buf[:0]
	}
	a.builders = append(a.builders, s)
	return &a.builders[len(a.builders)-1]
}

func (a *Accumulator) addStart(e ToolCallStart) *OpenCall {
	if e.Index != 0 && e.Name != "" {
		if c := a.nameless(e.Index); c != nil {
			c.Name = e.Name
			if e.Opaque != nil {
				c.opaque = e.Opaque
			}
			return c
		}
	}
	return a.open(OpenCall{Index: e.Index, Name: e.Name, opaque: e.Opaque}, e.ID)
}

func (a *Accumulator) open(c OpenCall, providerID string) *OpenCall {
	c.ID, c.ProviderID = providerID, providerID
	if a.NewID != nil {
		c.ID, c.generated = a.NewID(providerID)
	}
	c.builder = len(a.builders)
	if n := len(a.calls); n < cap(a.calls) { // the memory of a call of an earlier response
		old := &a.calls[:n+1][n]
		c.buf, c.ends = old.buf[:0], old.ends[:0]
	}
	a.calls = append(a.calls, c)
	a.push(partBuilder{kind: partCall, call: len(a.calls) - 1})
	a.many.note(a.calls)
	return &a.calls[len(a.calls)-1]
}

func (a *Accumulator) addComplete(p Part) *OpenCall {
	c, ok := p.(ToolCall)
	if !ok || c.ProviderExecuted {
		a.push(partBuilder{kind: partComplete, part: p})
		return nil
	}
	open := a.open(OpenCall{Name: c.Name, Closed: true, opaque: c.Opaque, first: c.Arguments}, c.ID)
	a.ended = append(a.ended, len(a.calls)-1)
	if !c.IDGenerated && c.ProviderID == "" {
		a.builders[open.builder].part = p
	}
	return open
}

func (a *Accumulator) addFinish(e Finish) {
	a.finished = true
	t := &a.response
	set := func(to *string, v string) {
		if v != "" {
			*to = v
		}
	}
	if e.Reason != "" {
		t.FinishReason, t.RawFinishReason = e.Reason, e.Raw
	}
	set(&t.FinishMessage, e.Message)
	set(&t.ResponseID, e.ResponseID)
	set(&t.Model, e.Model)
	if e.Opaque != nil {
		t.Opaque = e.Opaque
	}
}

func (s *partBuilder) add(text string, opaque json.RawMessage) {
	switch {
	case s.first == "" && len(s.buf) == 0:
		s.first = text
	case len(s.buf) == 0:
		s.buf = append(append(s.buf, s.first...), text...)
	default:
		s.buf = append(s.buf, text...)
	}
	if opaque != nil {
		s.opaque, s.closed = opaque, true
	}
}

func (s *partBuilder) text() string {
	if len(s.buf) > 0 {
		return string(s.buf)
	}
	return s.first
}

// add appends a delta of the arguments.
func (c *OpenCall) add(args string) {
	switch {
	case args == "":
	case c.first == "" && len(c.ends) == 0:
		c.first = args
	default:
		if len(c.ends) == 0 {
			c.buf = append(c.buf, c.first...)
			c.ends = append(c.ends, len(c.first))
		}
		c.buf = append(c.buf, args...)
		c.ends = append(c.ends, len(c.buf))
	}
}

// Arguments returns the raw arguments that have arrived so far.
func (c *OpenCall) Arguments() string {
	if len(c.ends) > 0 {
		return string(c.buf)
	}
	return c.first
}

// arguments returns the received arguments. It repairs them where they are repeated
// unambiguously.
func (c *OpenCall) arguments() (args string, repaired bool) {
	args = c.Arguments()
	// Cumulative deltas begin with the first one. Of two equal values that end in } the first ends
	// in } too, so that arguments whose only } is their last byte repeat no value.
	cumulative := len(c.ends) > 1 && strings.HasPrefix(args[c.ends[0]:], args[:c.ends[0]])
	if !cumulative && (args == "" || strings.HasSuffix(args, "}") && strings.Count(args, "}") == 1) || isJSON(args) {
		return args, false
	}
	if last, ok := c.cumulative(args); ok {
		return last, true
	}
	if one, ok := singleValue(args); ok {
		return one, true
	}
	return args, false
}

// cumulative returns the last delta if each delta begins with the delta before it.
func (c *OpenCall) cumulative(args string) (string, bool) {
	prev, from := "", 0
	for _, to := range c.ends {
		delta := args[from:to]
		if !strings.HasPrefix(delta, prev) {
			return "", false
		}
		prev, from = delta, to
	}
	return prev, isJSON(prev)
}

// isJSON reports whether text is one JSON value in valid UTF-8.
func isJSON(text string) bool {
	d := jsonio.NewDec(text)
	d.Skip()
	return d.End() == nil && utf8.ValidString(text)
}

// singleValue splits the arguments into JSON values. It returns the value if all are equal. It ignores
// placeholders {} before an object.
func singleValue(args string) (string, bool) {
	const placeholder = "{}"
	d := jsonio.NewDec(args)
	var keep, canonical string
	n, placeholders := 0, false
	for ; d.Peek() != 0; n++ {
		raw := d.Raw()
		if d.Err() != nil {
			return "", false
		}
		switch same := jsonval.Canonical(raw); {
		case keep == "" && same == placeholder:
			placeholders = true
		case keep == "":
			keep, canonical = raw, same
		case same != canonical:
			return "", false
		}
	}
	if keep == "" {
		keep = placeholder
	}
	complete := d.Offset() == len(args) // Peek returns 0 also for a NUL
	return keep, complete && n > 1 && (!placeholders || keep[0] == '{')
}

// fewCalls is the maximum number of calls that are searched linearly. Larger responses use tables,
// so that the cost per call is constant.
const fewCalls = 16

// manyCalls finds the open calls of a response with more than fewCalls calls. It stores their
// positions in order and removes ended calls when it finds them. The zero value is empty.
type manyCalls struct {
	open     []int // all that were opened
	byIndex  map[int][]int
	byID     map[string][]int
	nameless map[int][]int // by index, except index 0
}

// note takes the last of the calls, and all that came before if it is the first of many.
func (m *manyCalls) note(calls []OpenCall) {
	from := len(calls) - 1
	switch {
	case from < fewCalls:
		return
	case from == fewCalls:
		from = 0
		m.byIndex, m.byID, m.nameless = map[int][]int{}, map[string][]int{}, map[int][]int{}
	}
	for at := from; at < len(calls); at++ {
		c := &calls[at]
		if c.Closed {
			continue
		}
		m.open = append(m.open, at)
		if c.Index != 0 {
			m.byIndex[c.Index] = append(m.byIndex[c.Index], at)
			if c.Name == "" {
				m.nameless[c.Index] = append(m.nameless[c.Index], at)
			}
		}
		if c.ProviderID != "" {
			m.byID[c.ProviderID] = append(m.byID[c.ProviderID], at)
		}
	}
}

// nameless returns the first open call of an index, which is not 0, that has no name.
func (a *Accumulator) nameless(index int) *OpenCall {
	if len(a.calls) <= fewCalls {
		return a.scanNameless(index)
	}
	places := a.many.nameless[index]
	for len(places) > 0 && (a.calls[places[0]].Closed || a.calls[places[0]].Name != "") {
		places = places[1:]
	}
	a.many.nameless[index] = places
	if len(places) == 0 {
		return nil
	}
	return &a.calls[places[0]]
}

func (a *Accumulator) scanNameless(index int) *OpenCall {
	for i := range a.calls {
		if c := &a.calls[i]; c.Index == index && !c.Closed && c.Name == "" {
			return c
		}
	}
	return nil
}

// find returns the open call that an event names: by index, else by ID, else
// the last one opened or the first unfinished one.
func (a *Accumulator) find(index int, id string, last bool) *OpenCall {
	if len(a.calls) <= fewCalls {
		return a.scan(index, id, last)
	}
	m := &a.many
	if c := lastOpen(a.calls, m.byIndex, index); c != nil {
		return c
	}
	if c := lastOpen(a.calls, m.byID, id); c != nil {
		return c
	}
	m.open = endsOpen(a.calls, m.open)
	switch n := len(m.open); {
	case n == 0:
		return nil
	case last:
		return &a.calls[m.open[n-1]]
	}
	for a.calls[m.open[0]].Closed {
		m.open = m.open[1:]
	}
	return &a.calls[m.open[0]]
}

// lastOpen returns the last open call of a key.
func lastOpen[K comparable](calls []OpenCall, by map[K][]int, key K) *OpenCall {
	places, known := by[key]
	if !known {
		return nil
	}
	places = endsOpen(calls, places)
	by[key] = places
	if len(places) == 0 {
		return nil
	}
	return &calls[places[len(places)-1]]
}

// endsOpen returns places without the ended calls after the last open call.
func endsOpen(calls []OpenCall, places []int) []int {
	for len(places) > 0 && calls[places[len(places)-1]].Closed {
		places = places[:len(places)-1]
	}
	return places
}

func (a *Accumulator) scan(index int, id string, last bool) *OpenCall {
	var byID, fallback *OpenCall
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := &a.calls[i]
		if c.Closed {
			continue
		}
		if index != 0 && c.Index == index {
			return c
		}
		if byID == nil && id != "" && c.ProviderID == id {
			byID = c
		}
		if !last || fallback == nil {
			fallback = c
		}
	}
	if byID != nil {
		return byID
	}
	return fallback
}
