package check

import (
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check/internal/idtable"
)

// names is a set of names; nil has none.
type names map[string]bool

func namesOf(list []string) (n names) {
	for _, name := range list {
		n.add(name)
	}
	return n
}

func (n *names) add(name string) {
	if *n == nil {
		*n = names{}
	}
	(*n)[name] = true
}

// list checks the messages of one growing history: the requests of one purpose in a run, or a
// plain list. It checks INV-01 to INV-04, and at the end of a run INV-07.
type list struct {
	n int // messages so far
	idtable.Table
	// placed are the calls in the list, in order, for truncate.
	placed []placed
	// recent is the run's last response, which has most ids.
	recent *batch
	// open are the calls of the last message with calls, and message is its index. late are the
	// calls of messages before it without a result, since the last request.
	message int
	open    []openCall
	late    []openCall
	unnamed int // results without an id, which may be for any of the open calls
	// lateAt has the indices of the first `indexed` calls of late by place.
	lateAt     map[int32][]int32
	indexed    int
	next       int // in open: the index after the last call with a result
	disordered bool
	joins      bool // the provider joins assistant messages that follow each other
	assistant  bool // the last message is of the assistant
	latest     int  // the last message of the assistant
	unsent     bool // nothing shows that the next message was sent
}

type placed struct {
	place int32 // in places
	msg   int32
	// answered is the index of the message with the result, which cannot be the first; 0 if
	// there is none.
	answered int32
}

type openCall struct {
	place  int32  // in places
	same   int32  // in open: the next call with this id; 0 if there is none
	id     string // empty after truncate
	event  int
	at     int // in placed
	number int // in the message, from 1
	done   bool
}

func newList() list { return list{Table: idtable.New()} }

func (l *list) find(id string) (i int32, known bool) {
	if l.recent != nil {
		if i, ok := l.recent.find(id); ok {
			return l.recent.calls[i].place, true
		}
	}
	if l.next < len(l.open) && id != "" && l.open[l.next].id == id {
		return l.open[l.next].place, true // results come in the order of their calls
	}
	return l.Lookup(idtable.Hash(id))
}

func (l *list) learn(id string) (i int32, known bool) {
	if i, known = l.find(id); known {
		return i, true
	}
	return l.Table.Add(idtable.Hash(id)), false
}

func (l *list) add(s *sink, m llm.Message) {
	if f, wrong := malformed(m); wrong != "" {
		if f == faultNoParts && m.Opaque != nil && s.protocol != nil && *s.protocol == "openai-chat" {
			f = faultNoText // with other members, the codec reads null as it reads ""
		}
		s.reportFault(f, "message %d %s", l.n, wrong)
	}
	l.take(s, m)
}

// take is add for a message that may be malformed.
func (l *list) take(s *sink, m llm.Message) {
	isAssistant := m.Role == llm.RoleAssistant
	joined := l.joins && l.assistant && isAssistant
	l.assistant = isAssistant
	if isAssistant {
		l.latest = l.n
	}
	ofTools := m.Role == llm.RoleTool // with other parts than results, such as the answer to a request for approval
	executed := executedCalls(m)
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok && !executed[r.ID] {
			ofTools = true
			l.result(s, &r)
		}
	}
	if !ofTools && !joined {
		l.close()
	}
	for _, p := range m.Parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			l.call(s, c.ID, joined)
		}
	}
	l.n++
}

// executedCalls returns the ids of the provider-executed calls of an assistant message, whose
// results are in the same message.
func executedCalls(m llm.Message) (ids names) {
	if m.Role != llm.RoleAssistant {
		return nil
	}
	for _, p := range m.Parts {
		if c, ok := p.(llm.ToolCall); ok && c.ProviderExecuted {
			ids.add(c.ID)
		}
	}
	return ids
}

// close takes a message without results after the open calls.
func (l *list) close() {
	l.closeUnnamed()
	for _, c := range l.open {
		if !c.done {
			l.late = append(l.late, c)
		}
	}
	l.open, l.next, l.disordered = l.open[:0], 0, false
}

// call takes a call of a message, which may be joined with the one before.
func (l *list) call(s *sink, id string, joined bool) {
	if l.message != l.n && !joined {
		l.close()
	}
	l.message = l.n
	i, _ := l.learn(id)
	p := &l.Places[i]
	if p.Msg >= 0 && id != "" || id == "" && !l.unsent {
		reportDuplicate(s, p, id, int(p.Msg) == l.n)
	}
	p.Msg = int32(l.n)
	l.wait(openCall{place: i, id: id, event: s.event, at: len(l.placed), number: len(l.open) + 1})
	l.placed = append(l.placed, placed{place: i, msg: p.Msg})
}

func (l *list) wait(c openCall) {
	at, p := int32(len(l.open)), &l.Places[c.place]
	if l.isOpen(p.Tail, c.place) {
		l.open[p.Tail].same = at
	} else {
		p.Open = at
	}
	p.Tail = at
	l.open = append(l.open, c)
}

// isOpen reports whether the open call at an index is of this place. A place may have indices
// of an earlier message.
func (l *list) isOpen(at, place int32) bool {
	return int(at) < len(l.open) && l.open[at].place == place
}

// waiting returns the call of a place that waits for its result: the next in order, else the
// first.
func (l *list) waiting(place int32) (at int, ok bool) {
	if l.next < len(l.open) && l.open[l.next].place == place && !l.open[l.next].done {
		return l.next, true
	}
	p := &l.Places[place]
	for l.isOpen(p.Open, place) {
		c := &l.open[p.Open]
		if !c.done {
			return int(p.Open), true
		}
		if c.same == 0 {
			break
		}
		p.Open = c.same
	}
	return 0, false
}

// reportDuplicate reports the id of a place that is empty or was used before; together means in
// the same message.
func reportDuplicate(s *sink, p *idtable.Place, id string, together bool) {
	f, together := faultReusedID, together && id != ""
	if together {
		f = faultSameID
	}
	switch {
	case p.Dup && (!together || p.Twin || s.protocol == nil):
		return
	case id == "":
		s.reportFault(faultNoID, "a call has an empty id")
	default:
		s.reportFault(f, "the id %q is already the id of an earlier call of the run", id)
	}
	p.Dup, p.Twin = true, together
}

func (l *list) result(s *sink, r *llm.ToolResult) {
	id := r.ID
	place, known := l.find(id)
	if known {
		if at, ok := l.waiting(place); ok {
			l.resolve(s, at, id)
			return
		}
		if c := l.lateCall(place); c != nil {
			s.reportFault(faultLate, "the result of the call %q does not come directly after the message with the call: other messages are between them", id)
			c.done = true
			return
		}
		if l.Places[place].Msg >= 0 {
			s.reportFault(faultTwoResults, "the call %q has more than one result", id)
			return
		}
	}
	switch {
	case id != "":
		s.reportFault(faultOrphan, "a result is for the call %q, which no assistant message before it has", id)
		return
	case r.Name != "":
		s.reportFault(faultOrphan, "a result without an id is for the function %q, and belongs to no call that waits for a result", r.Name)
	default:
		s.reportFault(faultOrphan, "a result has neither the id of a call nor the name of a function")
	}
	l.unnamed++
}

// closeUnnamed takes the results without an id, which are reported, as those of the first calls that
// have no other one: only the id is wrong.
func (l *list) closeUnnamed() {
	for i := range l.open {
		if c := &l.open[i]; l.unnamed > 0 && !c.done {
			c.done = true
			l.placed[c.at].answered = int32(l.message) + 1
			l.unnamed--
		}
	}
	l.unnamed = 0
}

// lateCall returns the first late call of a place without a result, or nil. The caller gives
// it its result.
func (l *list) lateCall(place int32) *openCall {
	if l.lateAt == nil {
		l.lateAt = map[int32][]int32{}
	}
	for ; l.indexed < len(l.late); l.indexed++ {
		if c := &l.late[l.indexed]; !c.done {
			l.lateAt[c.place] = append(l.lateAt[c.place], int32(l.indexed))
		}
	}
	at := l.lateAt[place]
	if len(at) == 0 {
		return nil
	}
	l.lateAt[place] = at[1:]
	return &l.late[at[0]]
}

func (l *list) resolve(s *sink, at int, id string) {
	c := &l.open[at]
	c.done = true
	l.placed[c.at].answered = int32(l.n)
	if at >= l.next {
		l.next = at + 1
		return
	}
	if !l.disordered {
		s.reportFault(faultOrder, "the result of the call %q comes after the result of a later call", id)
		l.disordered = true
	}
}

// settle reports the late calls without a result. If atCall, the event is the one of the call.
func (l *list) settle(s *sink, atCall bool) {
	l.unanswered(s, faultUnanswered, l.late, atCall, "the call %s has no result, and other messages follow")
	l.forgetLate()
}

func (l *list) forgetLate() {
	l.late, l.lateAt, l.indexed = l.late[:0], nil, 0
}

// sent checks the list as a request: each call needs a result.
func (l *list) sent(s *sink, atCall bool) {
	l.closeUnnamed()
	l.settle(s, atCall)
	l.unanswered(s, faultUnanswered, l.open, atCall, "the request was sent without a result of the call %s")
}

func (l *list) unanswered(s *sink, f *Fault, calls []openCall, atCall bool, format string) {
	for i := range calls {
		if c := &calls[i]; !c.done {
			if atCall {
				s.event = c.event
			}
			s.reportFault(f, format, l.name(*c))
			c.done = true
		}
	}
}

// followed reports the open calls of the last message that a text follows. Items of Responses do not show
// where a response ends: the text is of the same response, or of one after a request without the results.
func (l *list) followed(s *sink, last llm.Message) {
	before := names{} // calls before a text
	for i, p := range last.Parts {
		if t, ok := p.(llm.Text); !ok || t.Text == "" {
			continue
		}
		for _, c := range (llm.Message{Parts: last.Parts[:i]}).Calls() {
			before.add(c.ID)
		}
	}
	followed := slices.DeleteFunc(slices.Clone(l.open), func(c openCall) bool { return !before[c.id] })
	l.unanswered(s, faultFollowed, followed, true, "the call %s has no result, and a text follows, which may be of the same response")
}

// continued reports the open calls that another message of the assistant follows. Messages does not show where
// a response ends, unless the last one is whole: the model then got a request without the results.
func (l *list) continued(s *sink, whole bool) {
	before := slices.DeleteFunc(slices.Clone(l.open), func(c openCall) bool { return int(l.placed[c.at].msg) >= l.latest })
	if whole {
		l.unanswered(s, faultUnanswered, before, true, "the call %s has no result, and another response follows")
		return
	}
	l.unanswered(s, faultFollowed, before, true, "the call %s has no result, and a message of the assistant follows, which may be of the same response")
}

// ended checks the list at the end of the run. The pending calls need no result.
func (l *list) ended(s *sink, pending []string) {
	l.closeUnnamed()
	l.settle(s, false)
	isPending := make(map[int32]string, len(pending))
	for _, id := range pending {
		i, known := l.find(id)
		if !known || l.Places[i].Response == 0 && l.Places[i].Msg < 0 {
			s.report(invCompleteness, "the call %q is reported pending, but no response has it", id)
			continue
		}
		isPending[i] = id
	}
	for _, c := range l.open {
		id, ok := isPending[c.place]
		switch {
		case ok && c.done:
			s.report(invCompleteness, "the call %q is reported pending although it has a result", id)
		case !ok && !c.done:
			s.report(invCompleteness, "the run ends without a result of the call %s, and does not report it pending", l.name(c))
		}
	}
}

// name returns the id of a call, or its place after truncate.
func (l *list) name(c openCall) string {
	if c.id != "" {
		return quoted(c.id)
	}
	return fmt.Sprintf("number %d of message %d", c.number, l.placed[c.at].msg)
}

// truncate removes all messages from the k-th on. The calls of the last message that has any
// are open again.
func (l *list) truncate(k int) {
	for n := len(l.placed); n > 0 && int(l.placed[n-1].msg) >= k; n = len(l.placed) {
		l.Places[l.placed[n-1].place].Msg = -1
		l.placed = l.placed[:n-1]
	}
	l.n, l.next, l.disordered, l.unnamed = k, 0, false, 0
	l.open = l.open[:0]
	l.forgetLate()
	if len(l.placed) == 0 {
		return
	}
	last := l.placed[len(l.placed)-1].msg
	first := len(l.placed)
	for first > 0 && l.placed[first-1].msg == last {
		first--
	}
	l.message = int(last)
	for i := first; i < len(l.placed); i++ {
		p := &l.placed[i]
		if int(p.answered) >= k {
			p.answered = 0
		}
		l.wait(openCall{place: p.place, at: i, number: i - first + 1, done: p.answered > 0})
		if p.answered > 0 {
			l.next = len(l.open)
		}
	}
}
