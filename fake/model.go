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

// Model is a scripted [llm.Model]. The session and the conversation so far select the
// response to a request:
//
//   - The session is the name in the context (see [WithSession]), or else the request's
//     Model, or else Default. A session without an entry in Sessions uses a copy of
//     Responses. The request fails if Responses is nil and Sessions is not.
//   - The first conversation of a session gets the first response, whatever its history.
//   - Messages that were sent before are another attempt of the same response.
//   - Messages that continue those of an earlier request, with the message that followed
//     them first, get the next response.
//   - Other messages (a rewritten history) get the response after the last one that the
//     session has used.
//
// With IsolateConversations, a session can have several conversations. A new one begins
// at the first response, or after the last scripted response in its messages. One that
// continues an earlier request advances by the number of new assistant messages. If
// another conversation has used that response, it gets the one after the last scripted
// response among the new messages, if that is later.
//
// Set the exported fields before the first request. A Model is safe for concurrent use;
// with a Clock, by the clock's tasks.
type Model struct {
	// Clock is the clock for delays and gates. Other scripts need none.
	Clock     *Clock
	Responses []Response
	Sessions  map[string][]Response
	// Default is the session of requests without a session and a model.
	Default string
	// IsolateConversations keeps the conversations of a session apart.
	IsolateConversations bool
	// DiscardRequests saves memory in long runs: RecordedRequests, Requests and
	// MutatedRequests return nothing.
	DiscardRequests bool

	mu       sync.Mutex
	sessions map[string]*session
	requests []Recorded
}

// NewModel returns a model that sends these responses in every session.
func NewModel(responses ...Response) *Model { return &Model{Responses: responses} }

// Recorded is a request with the position of its response in the script.
type Recorded struct {
	Session  string
	Response int // from 0
	Attempt  int // from 1
	// Request is a copy of the request.
	Request *llm.Request
	// Original is the request that the caller passed.
	Original *llm.Request
}

// String returns the position in the script, counted from 1. The Attempt 0 is omitted.
func (r Recorded) String() string {
	at := fmt.Sprintf("session %q: response %d", r.Session, r.Response+1)
	if r.Attempt > 0 {
		at += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	return at
}

type sessionKey struct{}

// WithSession returns a context whose requests belong to the named session.
func WithSession(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, sessionKey{}, name)
}

// Stream implements [llm.Model]. It yields a [*ScriptError] if the script has no response
// or expects another request.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t, _, err := m.Respond(ctx, req, true)
		if err == nil {
			err = t.play(ctx, m.Clock, req.ResponseMode, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// Respond records the request and returns it with its response, for callers that send the
// response in another way than Stream. Without error flags, as in the OpenAI protocols, a
// request cannot mark results as errors, and [ExpectResult.IsError] is not compared. The
// caller must not change the response. The error is a [*ScriptError] unless req is nil.
func (m *Model) Respond(ctx context.Context, req *llm.Request, errorFlags bool) (*Response, Recorded, error) {
	if req == nil {
		return nil, Recorded{}, errNoRequest
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name, ok := ctx.Value(sessionKey{}).(string)
	if !ok {
		name = cmp.Or(req.Model, m.Default)
	}
	l := m.session(name)
	at := l.find(req.Messages, m.IsolateConversations)
	place := Recorded{Session: name, Response: at.index, Attempt: at.attempts}
	if !m.DiscardRequests {
		place.Request, place.Original = clone(req), req
		m.requests = append(m.requests, place)
	}
	fail := func(problem, diff string) error {
		return &ScriptError{Session: name, Response: at.index, Attempt: at.attempts, Problem: problem, Diff: diff}
	}
	if _, ok := m.Sessions[name]; !ok && m.Responses == nil && m.Sessions != nil {
		return nil, place, fail("unknown session", fmt.Sprintf("- one of %q\n+ %q", slices.Sorted(maps.Keys(m.Sessions)), name))
	}
	if at.index >= len(l.responses) {
		return nil, place, fail("no response left: the script has "+count(len(l.responses), "response"), "- no more requests\n+ "+describe(req))
	}
	t := &l.responses[at.index]
	expect := t.Expect
	if len(t.Attempts) > 0 {
		if at.attempts > len(t.Attempts) {
			return nil, place, fail("no attempt left: the response has "+count(len(t.Attempts), "attempt"), "- no more attempts\n+ "+describe(req))
		}
		t = &t.Attempts[at.attempts-1]
	}
	for _, e := range []*Expect{expect, t.Expect} {
		if diff := e.diff(req, errorFlags); diff != "" {
			return nil, place, fail("unexpected request", diff)
		}
	}
	return t, place, nil
}

// Script returns the responses of a session with each Repeat expanded. The caller must
// not change them.
func (m *Model) Script(session string) []Response {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.sessions[session]; l != nil {
		return l.responses
	}
	return m.script(session)
}

func (m *Model) script(session string) []Response {
	responses, ok := m.Sessions[session]
	if !ok {
		responses = m.Responses
	}
	return expand(responses)
}

func (m *Model) session(name string) *session {
	l := m.sessions[name]
	if l == nil {
		l = m.newSession(name)
		if m.sessions == nil {
			m.sessions = map[string]*session{}
		}
		m.sessions[name] = l
	}
	return l
}

func (m *Model) newSession(name string) *session {
	responses := m.script(name)
	return &session{name: name, responses: responses, lastUsed: -1, attempts: make([]int, len(responses))}
}

// RecordedRequests returns the requests with their positions, in order of arrival.
func (m *Model) RecordedRequests() []Recorded {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Requests returns copies of the requests, in order of arrival.
func (m *Model) Requests() []*llm.Request {
	var out []*llm.Request
	for _, r := range m.RecordedRequests() {
		out = append(out, r.Request)
	}
	return out
}

// MutatedRequests describes each request that the caller changed after it was sent.
func (m *Model) MutatedRequests() []string {
	var out []string
	for i, r := range m.RecordedRequests() {
		was, is := r.Request.AppendJSON(nil), r.Original.AppendJSON(nil)
		if !bytes.Equal(was, is) {
			out = append(out, fmt.Sprintf("request %d (session %q, response %d) was changed after it was sent:\n- %s\n+ %s", i, r.Session, r.Response+1, was, is))
		}
	}
	return out
}

// Unused lists the responses and attempts that no request selected, counted from 1, in
// order. It lists an unused session as a whole, and unused Responses as the session
// Default if that is set.
func (m *Model) Unused() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, name := range m.scripted() {
		switch l := m.sessions[name]; {
		case l != nil:
			for _, r := range l.unused() {
				out = append(out, r.String())
			}
		case name == "":
			out = append(out, "all responses")
		default:
			out = append(out, fmt.Sprintf("session %q: all responses", name))
		}
	}
	return out
}

// UnusedResponses returns the responses and attempts that Unused lists. The Attempt of a
// response that no request selected is 0. Request and Original are nil.
func (m *Model) UnusedResponses() (out []Recorded) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range m.scripted() {
		l := m.sessions[name]
		if l == nil {
			l = m.newSession(name)
		}
		out = append(out, l.unused()...)
	}
	return out
}

// scripted returns the names of the sessions in order: those of the script, those that had
// requests, and Default if no session has used Responses yet.
func (m *Model) scripted() []string {
	names := slices.Concat(slices.Collect(maps.Keys(m.sessions)), slices.Collect(maps.Keys(m.Sessions)))
	slices.Sort(names)
	names = slices.Compact(names)
	shared := slices.ContainsFunc(names, func(name string) bool { _, own := m.Sessions[name]; return !own })
	if len(m.Responses) > 0 && !shared {
		names = append(names, m.Default)
	}
	return names
}

var (
	errNoRequest = errors.New("fake: missing request: pass an *llm.Request")
	errNoClock   = errors.New("fake: missing clock: set the Clock field, since the script has a delay, a gate or a stall")
	errStopped   = errors.New("fake: the consumer stopped the iteration")
)

// play sends the events of the response. It returns the error that ends it.
func (t *Response) play(ctx context.Context, clock *Clock, mode llm.ResponseMode, yield func(llm.Event, error) bool) error {
	if err := pause(ctx, clock, t.Delay, t.Gate); err != nil {
		return err
	}
	events := t.StreamingEvents()
	if mode == llm.NonStreaming {
		events = t.NonStreamingEvents()
	}
	for i, ev := range events {
		if i > 0 {
			if err := pause(ctx, clock, t.EventInterval, ""); err != nil {
				return err
			}
		}
		if !yield(ev, nil) {
			return errStopped
		}
	}
	switch {
	case !t.Stall:
		return t.err()
	case clock == nil:
		return errNoClock
	}
	return clock.Until(ctx)
}

// pause waits for d and then for the gate, if it has a name.
func pause(ctx context.Context, clock *Clock, d time.Duration, gate string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 && gate == "" {
		return nil
	}
	if clock == nil {
		return errNoClock
	}
	if err := clock.Sleep(ctx, d); err != nil || gate == "" {
		return err
	}
	return clock.WaitGate(ctx, gate)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
