package fake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
)

// Model is a scripted llm.Model. Which turn answers a request depends on the
// lane and on the conversation so far, not on who asked first:
//
//   - The lane is what WithSession put into the context, else the request's Model,
//     else Default. A lane that Lanes does not name has the script Turns, for
//     itself; without Turns it is an error.
//   - The first conversation of a lane gets the first turn, whatever history it
//     begins with.
//   - Messages that were asked about before are another attempt of that turn.
//   - Messages that go on from those of an earlier request, with the message
//     that first followed them, get the turn after the one which that request
//     got.
//   - Any other messages (a history that was rewritten) get the turn after the
//     last one that the lane has used.
//
// So runs in different lanes do not meet, and neither do equal runs in one.
//
// With Apart, several conversations may go on in a lane at once, and none moves
// another: one that the lane does not know begins at the first turn, or behind the
// last of the script's answers that it holds; one that goes on from an earlier request
// gets the turn after as many as there are new answers in it, or the one behind the last of
// the script's among these, whichever is later, if what went on from there has come so far.
//
// The exported fields must be set before the first request. A Model may be used
// by many goroutines at once; with a Clock, by its tasks.
type Model struct {
	// Clock is for delays and gates; a script without them needs none.
	Clock     *Clock
	Responses []Response
	Sessions  map[string][]Response
	// Default is the lane of requests that name none.
	Default string
	// Apart keeps the conversations of a lane apart.
	IsolateConversations bool
	// Forget keeps no requests, for long runs; Requests and Changed are then
	// empty.
	DiscardRequests bool

	mu       sync.Mutex
	lanes    map[string]*lane
	requests []Recorded
}

// NewModel returns a model that answers with these turns in every lane.
func NewModel(turns ...Response) *Model { return &Model{Responses: turns} }

// Recorded is a request that a Model got.
type Recorded struct {
	Session  string
	Response int // the turn that answered, from 0
	Attempt  int // from 1
	// Request is the request as it was, in a copy of its own.
	Request *llm.Request
	// Original is what was handed in.
	Original *llm.Request
}

// Place is where an answer stands in a script.
type Place struct {
	Session  string
	Response int // from 0
	Attempt  int // from 1
}

type (
	laneKey  struct{}
	plainKey struct{}
)

// WithSession puts the requests of a context into a lane.
func WithSession(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, laneKey{}, name)
}

// WithoutErrorFlags says that the requests of a context cannot tell which results are
// errors, as in OpenAI's protocols: what a turn expects of that is not looked at.
func WithoutErrorFlags(ctx context.Context) context.Context {
	return context.WithValue(ctx, plainKey{}, true)
}

// Stream implements llm.Model. It yields a *ScriptError if the script has no
// answer or the request is not the expected one.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		turn, _, err := m.Respond(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		p := player{ctx: ctx, clock: m.Clock}
		p.play(turn, req.ResponseMode, yield)
	}
}

// Answer finds the turn that answers a request, and records the request: for who
// plays the turn in another way than Stream does. The error is a *ScriptError, unless
// req is nil. The turn is not to be changed.
func (m *Model) Respond(ctx context.Context, req *llm.Request) (*Response, Place, error) {
	if req == nil {
		return nil, Place{}, errNoRequest
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name, ok := ctx.Value(laneKey{}).(string)
	if !ok {
		name = cmp.Or(req.Model, m.Default)
	}
	l := m.lane(name)
	at := l.find(req.Messages, m.IsolateConversations)
	place := Place{Session: name, Response: at.turn, Attempt: at.attempts}
	if !m.DiscardRequests {
		m.requests = append(m.requests, Recorded{name, at.turn, at.attempts, cloneRequest(req), req})
	}
	fail := &ScriptError{Session: name, Response: at.turn, Attempt: at.attempts}
	if _, ok := m.Sessions[name]; !ok && m.Responses == nil && m.Sessions != nil {
		fail.Problem = "the script has no such lane"
		fail.Diff = fmt.Sprintf("- one of %q\n+ %q", slices.Sorted(maps.Keys(m.Sessions)), name)
		return nil, place, fail
	}
	if at.turn >= len(l.turns) {
		fail.Problem = fmt.Sprintf("the script runs out: it has %s", count(len(l.turns), "turn"))
		fail.Diff = "- no more requests\n+ " + describe(req)
		return nil, place, fail
	}
	turn := &l.turns[at.turn]
	expect := turn.Expect
	if len(turn.Attempts) > 0 {
		if at.attempts > len(turn.Attempts) {
			fail.Problem = fmt.Sprintf("the script runs out: the turn has %s", count(len(turn.Attempts), "attempt"))
			fail.Diff = "- no more attempts\n+ " + describe(req)
			return nil, place, fail
		}
		turn = &turn.Attempts[at.attempts-1]
	}
	plain := ctx.Value(plainKey{}) != nil
	for _, e := range []*Expect{expect, turn.Expect} {
		if fail.Diff = e.diff(req, plain); fail.Diff != "" {
			fail.Problem = "the request is not the expected one"
			return nil, place, fail
		}
	}
	return turn, place, nil
}

// Script returns the turns of a lane, every Repeat written out. They are not to be
// changed.
func (m *Model) Script(lane string) []Response {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.lanes[lane]; l != nil {
		return l.turns
	}
	return m.script(lane)
}

func (m *Model) script(lane string) []Response {
	turns, ok := m.Sessions[lane]
	if !ok {
		turns = m.Responses
	}
	return expand(turns)
}

func (m *Model) lane(name string) *lane {
	l := m.lanes[name]
	if l == nil {
		l = &lane{name: name, turns: m.script(name), last: -1, tries: map[int]int{}}
		if m.lanes == nil {
			m.lanes = map[string]*lane{}
		}
		m.lanes[name] = l
	}
	return l
}

// Requests returns the requests in the order in which they came.
func (m *Model) RecordedRequests() []Recorded {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Asked returns the requests as they were, in the order in which they came.
func (m *Model) Requests() []*llm.Request {
	var out []*llm.Request
	for _, r := range m.RecordedRequests() {
		out = append(out, r.Request)
	}
	return out
}

// Changed tells which requests were changed after they were handed in, each as
// a line; it is empty if all is well.
func (m *Model) MutatedRequests() []string {
	var out []string
	for i, r := range m.RecordedRequests() {
		was, is := r.Request.AppendJSON(nil), r.Original.AppendJSON(nil)
		if !bytes.Equal(was, is) {
			out = append(out, fmt.Sprintf("request %d (lane %q, turn %d) was changed afterwards:\n- %s\n+ %s", i, r.Session, r.Response+1, was, is))
		}
	}
	return out
}

// Unused names the turns and the attempts that nobody asked for, counted from 1, in
// order. A script that no lane used is named as a whole; Turns as the script of
// Default, if there is one.
func (m *Model) Unused() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	names := slices.Concat(slices.Collect(maps.Keys(m.lanes)), slices.Collect(maps.Keys(m.Sessions)))
	slices.Sort(names)
	shared := len(m.Responses) > 0 // and no lane has used them yet
	for _, name := range slices.Compact(names) {
		if _, own := m.Sessions[name]; !own {
			shared = false
		}
		l := m.lanes[name]
		if l == nil {
			out = append(out, fmt.Sprintf("lane %q: all of it", name))
			continue
		}
		out = append(out, l.unused()...)
	}
	switch {
	case shared && m.Default != "":
		out = append(out, fmt.Sprintf("lane %q: all of it", m.Default))
	case shared:
		out = append(out, "turns: all of them")
	}
	return out
}

// player sends the events of one turn.
type player struct {
	ctx   context.Context
	clock *Clock
}

var errNoRequest = errors.New("fake: there is no request; pass an *llm.Request")

var errNoClock = errors.New("fake: the script has a delay, a gate or a stall, but there is no Clock to wait on; set the Clock field")

func (p player) play(t *Response, delivery llm.ResponseMode, yield func(llm.Event, error) bool) {
	if err := p.wait(t.Delay, t.Gate); err != nil {
		yield(nil, err)
		return
	}
	events := t.StreamingEvents()
	if delivery == llm.NonStreaming {
		events = t.NonStreamingEvents()
	}
	for i, ev := range events {
		if i > 0 {
			if err := p.wait(t.EventInterval, ""); err != nil {
				yield(nil, err)
				return
			}
		}
		if !yield(ev, nil) {
			return
		}
	}
	if err := p.end(t); err != nil {
		yield(nil, err)
	}
}

func (p player) end(t *Response) error {
	if !t.Stall {
		return t.err()
	}
	if p.clock == nil {
		return errNoClock
	}
	return p.clock.Until(p.ctx)
}

// wait waits for d and then for the gate, if it has a name.
func (p player) wait(d time.Duration, gate string) error {
	if err := p.ctx.Err(); err != nil {
		return context.Cause(p.ctx)
	}
	if d <= 0 && gate == "" {
		return nil
	}
	if p.clock == nil {
		return errNoClock
	}
	if err := p.clock.Sleep(p.ctx, d); err != nil || gate == "" {
		return err
	}
	return p.clock.Gate(gate).Wait(p.ctx)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
