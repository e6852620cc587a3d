package check

import (
	"fmt"

	"github.com/looptape/looptape/llm"
)

// list follows the messages of one growing history: the requests of one purpose
// in a run, or a plain list. It sees INV-01 to INV-04, and the end of a run asks
// it for INV-07.
type list struct {
	n int // messages so far
	ids
	// placed are the calls in the list, in order, so that the list can be cut.
	placed []placed
	// recent is the run's last turn: most ids are found there.
	recent *batch
	turn   int // the index of the last message with calls, if there is one
	// open are the calls of that turn; late are calls of turns that other
	// messages have followed. Both are of the last requests only.
	open []openCall
	late []openCall
	// lateAt are the places in late of the first `indexed` calls there, by their
	// places, when they are many.
	lateAt     map[int32][]int32
	indexed    int
	next       int // in open: one behind the last call that has its result
	disordered bool
}

type placed struct {
	place int32 // in places
	msg   int32
	// answered is the index of the message with its result, which cannot be the
	// first; 0 if in none.
	answered int32
}

type openCall struct {
	place int32  // in places
	same  int32  // in open: the next call of this id; 0 if there is none
	id    string // empty after a cut
	event int
	at    int // in placed
	// number counts the calls of a message from 1.
	number int
	done   bool
}

func newList() list { return list{ids: newIDs()} }

// find returns the place of an id, if it is known.
func (l *list) find(id string) (i int32, known bool) {
	if l.recent != nil {
		if i, ok := l.recent.find(id); ok {
			return l.recent.calls[i].place, true
		}
	}
	if l.next < len(l.open) && id != "" && l.open[l.next].id == id {
		return l.open[l.next].place, true // results come in the order of their calls
	}
	return l.lookup(hash(id))
}

// learn returns the place of an id, a new one if need be.
func (l *list) learn(id string) (i int32, known bool) {
	if i, known = l.find(id); known {
		return i, true
	}
	return l.ids.add(hash(id)), false
}

// add takes the next message.
func (l *list) add(s *sink, m llm.Message) {
	wellFormed(s, l.n, m)
	l.take(s, m)
}

// take is add for a message that may be malformed.
func (l *list) take(s *sink, m llm.Message) {
	carries := false
	var provider ran
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok && !provider.itself(m, r.ID) {
			carries = true
			l.answer(s, r.ID)
		}
	}
	if !carries {
		l.close()
	}
	for _, p := range m.Parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			l.call(s, c.ID)
		}
	}
	l.n++
}

// ran is the calls of a message that the provider ran itself, once they were asked
// for.
type ran struct {
	ids   names
	known bool
}

// itself reports whether an assistant message holds a call of this id that the
// provider ran itself: its result stands beside it.
func (x *ran) itself(m llm.Message, id string) bool {
	if m.Role != llm.RoleAssistant {
		return false
	}
	if !x.known {
		x.known = true
		for _, p := range m.Parts {
			if c, ok := p.(llm.ToolCall); ok && c.ProviderExecuted {
				x.ids.list = append(x.ids.list, c.ID)
			}
		}
	}
	return x.ids.has(id)
}

// close says that a message other than results has come after the open turn.
func (l *list) close() {
	for _, c := range l.open {
		if !c.done {
			l.late = append(l.late, c)
		}
	}
	l.open = l.open[:0]
}

// call places a call of the message that is being added.
func (l *list) call(s *sink, id string) {
	if l.turn != l.n {
		l.close()
		l.turn, l.next, l.disordered = l.n, 0, false
	}
	i, _ := l.learn(id)
	p := &l.places[i]
	if (p.msg >= 0 || id == "") && !p.dup {
		reportDuplicate(s, id)
		p.dup = true
	}
	p.msg = int32(l.n)
	l.wait(openCall{place: i, id: id, event: s.event, at: len(l.placed), number: len(l.open) + 1})
	l.placed = append(l.placed, placed{place: i, msg: p.msg})
}

// wait adds a call to those of the open turn.
func (l *list) wait(c openCall) {
	at, p := int32(len(l.open)), &l.places[c.place]
	if l.isOpen(p.tail, c.place) {
		l.open[p.tail].same = at
	} else {
		p.open = at
	}
	p.tail = at
	l.open = append(l.open, c)
}

// isOpen reports whether the call at an index of open is of this place. What a
// place says of open may be of a turn before.
func (l *list) isOpen(at, place int32) bool {
	return int(at) < len(l.open) && l.open[at].place == place
}

// waits returns the call of a place that waits for its result: the next in order,
// else the first.
func (l *list) waits(place int32) (at int, ok bool) {
	if l.next < len(l.open) && l.open[l.next].place == place && !l.open[l.next].done {
		return l.next, true
	}
	p := &l.places[place]
	for l.isOpen(p.open, place) {
		c := &l.open[p.open]
		if !c.done {
			return int(p.open), true
		}
		if c.same == 0 {
			break
		}
		p.open = c.same
	}
	return 0, false
}

func reportDuplicate(s *sink, id string) {
	if id == "" {
		s.report(invUniqueIDs, "a call has an empty id")
		return
	}
	s.report(invUniqueIDs, "the id %q is that of an earlier call of the run as well", id)
}

// answer takes a result.
func (l *list) answer(s *sink, id string) {
	place, known := l.find(id)
	if !known {
		reportNoCall(s, id)
		l.excuse(id)
		return
	}
	if at, ok := l.waits(place); ok {
		l.resolve(s, at, id)
		return
	}
	if c := l.lateCall(place); c != nil {
		s.report(invAdjacency, "the result of the call %q does not come directly after the turn that asked; other messages lie between", id)
		c.done = true
		return
	}
	if l.places[place].msg < 0 {
		reportNoCall(s, id)
		return
	}
	s.report(invPairing, "the call %q has more than one result", id)
}

// lateCall returns the first call of a place that waits although other messages
// have followed its turn, or nil.
func (l *list) lateCall(place int32) *openCall {
	if len(l.late) <= few {
		for i := range l.late {
			if c := &l.late[i]; c.place == place && !c.done {
				return c
			}
		}
		return nil
	}
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
	l.lateAt[place] = at[1:] // whoever asks has its result
	return &l.late[at[0]]
}

// excuse takes a result without an id as that of the next call that waits for
// one: no more is wrong than that its id is missing.
func (l *list) excuse(id string) {
	for i := l.next; id == "" && i < len(l.open); i++ {
		if c := &l.open[i]; !c.done {
			c.done, l.placed[c.at].answered, l.next = true, int32(l.n), i+1
			return
		}
	}
}

func reportNoCall(s *sink, id string) {
	s.report(invPairing, "a result is for the call %q, which no assistant turn before it has", id)
}

// resolve gives an open call its result.
func (l *list) resolve(s *sink, at int, id string) {
	c := &l.open[at]
	c.done = true
	l.placed[c.at].answered = int32(l.n)
	if at >= l.next {
		l.next = at + 1
		return
	}
	if !l.disordered {
		s.report(invResultOrder, "the result of the call %q comes after that of a later call of its turn", id)
		l.disordered = true
	}
}

// settle reports the calls that have been gone on from without a result. At a
// list's own end each is reported with the event that showed the call.
func (l *list) settle(s *sink, atCall bool) {
	for _, c := range l.late {
		if c.done {
			continue
		}
		if atCall {
			s.event = c.event
		}
		s.report(invPairing, "the call %s has no result, and other messages follow", l.name(c))
	}
	l.forgetLate()
}

func (l *list) forgetLate() {
	l.late, l.lateAt, l.indexed = l.late[:0], nil, 0
}

// sent says that the list as it is went to a model. Of a plain list, each call without a
// result is reported with the event that showed the call.
func (l *list) sent(s *sink, atCall bool) {
	l.settle(s, atCall)
	for i := range l.open {
		if c := &l.open[i]; !c.done {
			if atCall {
				s.event = c.event
			}
			s.report(invPairing, "the request was sent without a result of the call %s", l.name(*c))
			c.done = true
		}
	}
}

// ended says that the run ends with this list; pending tells the calls that are
// left for somebody else.
func (l *list) ended(s *sink, pending []string) {
	l.settle(s, false)
	waits := make(map[int32]string, len(pending))
	for _, id := range pending {
		i, known := l.find(id)
		if !known || l.places[i].turn == 0 && l.places[i].msg < 0 {
			s.report(invCompleteness, "the call %q is reported pending, but no turn asked for it", id)
			continue
		}
		waits[i] = id
	}
	for _, c := range l.open {
		id, ok := waits[c.place]
		switch {
		case ok && c.done:
			s.report(invCompleteness, "the call %q is reported pending although it has a result", id)
		case !ok && !c.done:
			s.report(invCompleteness, "the run ends without a result of the call %s, and does not report it pending", l.name(c))
		}
	}
}

// name tells a call by its id, or by its place if the list was cut since.
func (l *list) name(c openCall) string {
	if c.id != "" {
		return quoted(c.id)
	}
	return fmt.Sprintf("number %d of message %d", c.number, l.placed[c.at].msg)
}

// cut forgets all messages from the k-th on. What is left of the last turn
// with calls is open again.
func (l *list) cut(k int) {
	for n := len(l.placed); n > 0 && int(l.placed[n-1].msg) >= k; n = len(l.placed) {
		l.places[l.placed[n-1].place].msg = -1
		l.placed = l.placed[:n-1]
	}
	l.n, l.next, l.disordered = k, 0, false
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
	l.turn = int(last)
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
