// Package watch checks the requests of clients to models, over any of the wire protocols:
// against the invariants that requests show, and against the earlier requests and responses
// of the same client. A server adds requests as they come, the reader of a recording adds
// recorded ones. A provider's own rules are in package fake/wire.
//
// Each violation is reported once, for the first request that shows it. A request that may be
// of another client, whose conversation begins the same, is not compared with the responses.
package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
)

// The protocols whose clients need special handling, by Protocol.Name.
const (
	chat      = "openai-chat"
	responses = "openai-responses"
	generate  = "gemini"
	messages  = "anthropic-messages"
)

// Monitor remembers requests and responses. Its zero value is ready, and it is safe for use by
// many goroutines. It grows with the conversations and their responses.
type Monitor struct {
	// Rewrites is true if clients may replace a history. Such a client has handled the calls of
	// the old one.
	Rewrites bool

	mu       sync.Mutex
	sessions map[string]*memory
}

// Request is a request to a model.
type Request struct {
	Protocol protocol.Protocol
	Number   int // from 1
	// Session names the client; empty if unknown.
	Session string
	// Model distinguishes the conversations of clients without a session.
	Model   string
	Request *llm.Request

	replaced bool // values replace signatures of Gemini
	recorded bool // the history may have been replaced on purpose; see isChange
	unknown  bool // recorded and not accepted, and no rule of the provider shows why
}

func (q *Request) key() string { return cmp.Or(q.Session, q.Model) }

func (q *Request) name() string { return "request " + strconv.Itoa(q.Number) }

// Conversation is the messages of a request, for AddResponse.
type Conversation struct {
	request *Request
	hashes  []uint64 // of the messages up to each one
}

// Hash identifies the conversation; it is 0 if there are no messages.
func (c *Conversation) Hash() uint64 {
	if len(c.hashes) == 0 {
		return 0
	}
	return c.hashes[len(c.hashes)-1]
}

func (c *Conversation) add(p *prefix, next []llm.Message) {
	c.hashes = slices.Grow(c.hashes, len(next))
	for _, m := range next {
		c.hashes = append(c.hashes, p.add(m))
	}
}

type memory struct {
	byHash    map[uint64]*received   // by a hash of the conversation
	byContent map[string][]*received // by the content of the response, in the order of the requests
	invalid   map[uint64]bool        // conversations with violations
}

func (w *Monitor) memory(session string) *memory {
	m := w.sessions[session]
	if m == nil {
		m = &memory{byHash: map[uint64]*received{}, byContent: map[string][]*received{}, invalid: map[uint64]bool{}}
		if w.sessions == nil {
			w.sessions = map[string]*memory{}
		}
		w.sessions[session] = m
	}
	return m
}

// received is the responses to one conversation.
type received struct {
	responses []llm.Message // different ones; there are several after retries
	hash      uint64        // of the conversation
	request   int           // the first
	session   string        // of the client
	protocol  string        // of the first request
	continued bool          // by a request
	// superseded is encrypted content that a stream replaced by later content of the same item.
	superseded map[string]bool
	systems    map[uint64]bool // hashes of the system prompts, in a recording
	repeated   bool            // a request repeats a response, in a recording
	next       uint64          // hash of the message after the repeated response; see following
}

// Sessions returns the sessions with requests, sorted.
func (w *Monitor) Sessions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.sessions))
}

// Pending is the calls of a response that no request continues.
type Pending struct {
	Session string
	Request int // the first with this response
	Calls   []llm.ToolCall
}

// Pending returns the calls without results, by session.
func (w *Monitor) Pending() (list []Pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, session := range slices.Sorted(maps.Keys(w.sessions)) {
		for _, h := range w.sessions[session].byHash {
			if h.continued {
				continue
			}
			for _, m := range h.responses {
				if calls := m.Calls(); len(calls) > 0 {
					list = append(list, Pending{session, h.request, calls})
				}
			}
		}
	}
	return list
}

// AddRequest checks the messages of a request. It does not report again what an earlier
// request showed, and nothing for a repeated request; repeated reports that this one is a
// repetition of a request with violations. AddRequest sets q.Request to a copy without cache
// marks. If the client sends the calls of a response one by one, they are one message of it.
func (w *Monitor) AddRequest(q *Request) (c *Conversation, found []check.Violation, repeated bool) {
	return w.add(q, (*check.List).Done)
}

func (w *Monitor) add(q *Request, done func(*check.List) []check.Violation) (c *Conversation, found []check.Violation, repeated bool) {
	q.Request = unmarked(q.Request)
	c = w.conversation(q)
	known, before, repeated := w.recall(c)
	if repeated {
		return c, nil, true
	}
	list := q.list()
	list.Add(q.Request.Messages...)
	if prompt := q.Request.System.Text(); len(q.Request.Messages) == 0 && prompt != "" && q.Protocol.Name() == chat {
		list.Add(llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: prompt}}}) // which is a message there
	}
	for _, v := range done(list) {
		if known == 0 || v.Event >= known {
			found = append(found, v)
		}
	}
	sound := len(found) == 0
	if sound && before != nil {
		found = q.follow(known, before)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.memory(q.key())
	if q.recorded && sound && before != nil {
		next := q.Request.Messages[known:]
		if len(found) > 0 && !m.isChange(q, before, c.hashes[:known], next) {
			found = nil
		}
		before.repeat(next)
	}
	if sound && !q.recorded {
		found = m.rewritten(c, known, found)
	}
	m.invalid[c.Hash()] = len(found) > 0
	if w.Rewrites && (known == 0 || slices.ContainsFunc(found, func(v check.Violation) bool { return v.Invariant == "INV-05" })) {
		for _, h := range m.byHash {
			h.continued = true
		}
	}
	return c, found, false
}

func (q *Request) list() *check.List {
	return &check.List{Run: q.name(), Protocol: q.Protocol.Name(), Accepted: !q.unknown}
}

// follow compares the messages after the known ones with the responses to these. A client may
// send a response back in several messages of the assistant.
func (q *Request) follow(known int, before *received) (found []check.Violation) {
	whole, n := llm.Message{Role: llm.RoleAssistant}, known
	for n < len(q.Request.Messages) && q.Request.Messages[n].Role == llm.RoleAssistant {
		whole.Parts = append(whole.Parts, q.Request.Messages[n].Parts...)
		n++
		if n == known+1 {
			whole.Opaque = q.Request.Messages[known].Opaque
			found = q.followAs(known, before, q.Request.Messages[known:])
		} else if len(found) > 0 && len(q.followAs(known, before, append([]llm.Message{whole}, q.Request.Messages[n:]...))) == 0 {
			return nil
		}
	}
	if n == known {
		return q.followAs(known, before, q.Request.Messages[known:])
	}
	return found
}

// followAs compares next with the responses. The first message of next repeats one of them.
func (q *Request) followAs(known int, before *received, next []llm.Message) (found []check.Violation) {
	next = slices.Clone(next)
	if q.Protocol.Name() == generate {
		next[0] = joinTexts(next[0])
	}
	sent := next[0].Parts
	next[0].Parts = q.required(sent)
	other := before.protocol != q.Protocol.Name()
	if other {
		next[0].Parts, next[0].Opaque = withoutOpaque(next[0].Parts), nil
	}
	for _, m := range slices.Backward(before.responses) {
		if other {
			m.Parts, m.Opaque = withoutOpaque(m.Parts), nil
		}
		m.Parts = q.required(before.withSuperseded(m.Parts, sent))
		m = q.adapt(m, q.Request.Messages[:known], next)
		if id := textMember(member(jsonio.View(m.Opaque), "container"), "id"); id == "" || string(q.Request.Extra["container"]) == quoted(id) { // Anthropic has it at the top of the request
			m.Opaque = requiredOpaque(returnedOpaque(q.Protocol, m.Opaque), next[0].Opaque)
		}
		list := q.list()
		list.Required = func(p llm.Part) bool { return q.requires(p, m, next) }
		if found = list.Follow(known, m, next); len(found) == 0 {
			return nil
		}
	}
	if !q.recorded && q.Session == "" && !related(before.responses, next[0]) {
		return nil // the conversation of another client, which begins the same
	}
	return found
}

// isChange reports whether recorded messages that differ from the responses are a change of one of
// them, and not another conversation or a history that was shortened or summarized: they begin with
// a message of the assistant, which is related to a response or follows the same system prompt, and
// is not the response to messages other than those of the history, which has these hashes. The message
// after it is the one that followed the response before, if there was one.
func (m *memory) isChange(q *Request, before *received, history []uint64, next []llm.Message) bool {
	isSame := related(before.responses, next[0]) || before.systems[systemHash(q.Request)]
	same := m.byContent[contentKey(next[0])]
	isOther := !slices.Contains(same, before) && slices.ContainsFunc(same, func(h *received) bool { return !slices.Contains(history, h.hash) })
	return next[0].Role == llm.RoleAssistant && isSame && !isOther && (!before.repeated || before.next == following(next))
}

// repeat records the message after a repeated response.
func (h *received) repeat(next []llm.Message) {
	if !h.repeated && next[0].Role == llm.RoleAssistant && related(h.responses, next[0]) {
		h.repeated, h.next = true, following(next)
	}
}

// following returns a hash of the second message, without the ids of its results; 0 if there is
// none.
func following(next []llm.Message) uint64 {
	if len(next) < 2 {
		return 0
	}
	m := next[1]
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			r.ID = ""
			m.Parts[i] = r
		}
	}
	return newPrefix().add(m)
}

func systemHash(req *llm.Request) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(req.System.Text())) // a hash returns no error
	return h.Sum64()
}

func quoted(s string) string { return string(jsonio.AppendString(nil, s)) }

// related reports whether a message has anything of the responses, or is not of the assistant.
func related(responses []llm.Message, m llm.Message) bool {
	if m.Role != llm.RoleAssistant {
		return true
	}
	data := opaqueSet(m.Parts)
	for _, response := range responses {
		for d := range opaqueSet(response.Parts) {
			if data[d] {
				return true
			}
		}
		text := strings.TrimSpace(withoutThoughts(response.Text()))
		if text != "" && text == strings.TrimSpace(withoutThoughts(m.Text())) {
			return true
		}
		for _, c := range response.Calls() {
			if slices.ContainsFunc(m.Calls(), func(d llm.ToolCall) bool { return c.ID == d.ID || c.Name == d.Name }) {
				return true
			}
		}
	}
	return false
}

// rewritten returns a violation if the last assistant message is a response of this session,
// and the messages before it are not those of its request. That is more than a violation at its
// place. Otherwise it returns found.
func (m *memory) rewritten(c *Conversation, known int, found []check.Violation) []check.Violation {
	list := c.request.Request.Messages
	at := len(list) - 1
	for at >= 0 && list[at].Role != llm.RoleAssistant {
		at--
	}
	compared := known > 0 && at == known // with the response at this place
	if at < 0 || compared == (len(found) == 0) {
		return found
	}
	before, are := uint64(0), "are missing"
	if at > 0 {
		before, are = c.hashes[at-1], "are not those of that request"
	}
	same := m.byContent[contentKey(list[at])]
	if len(same) == 0 || slices.ContainsFunc(same, func(h *received) bool { return h.hash == before }) {
		return found
	}
	h := same[len(same)-1]
	h.continued = true
	message := fmt.Sprintf("message %d is the response to request %d, and the messages before it %s", at, h.request, are)
	return []check.Violation{check.Violation{Invariant: "INV-05", Run: c.request.name(), Event: at, Message: message}.WithHint()}
}

// contentKey is the same for responses with the same text and calls. It uses the ids of calls
// that came with one. It is empty for a response without content.
func contentKey(m llm.Message) string {
	key := strings.TrimSpace(m.Text())
	for c := range callsOf(m) {
		if key += "\x00"; c.ID == "" || c.IDGenerated {
			key += c.Name + canonical(json.RawMessage(c.Arguments))
		} else {
			key += c.ID
		}
	}
	return key
}

// prefix hashes messages. It ignores reasoning, which clients may omit from older messages.
type prefix struct {
	hash.Hash64
	text []byte
}

func newPrefix() *prefix {
	const usual = 512 // bytes of a message
	return &prefix{Hash64: fnv.New64a(), text: make([]byte, 0, usual)}
}

func (p *prefix) add(m llm.Message) uint64 {
	isReasoning := func(p llm.Part) bool {
		_, ok := p.(llm.Reasoning)
		return ok
	}
	if slices.ContainsFunc(m.Parts, isReasoning) {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isReasoning)
	}
	p.text = m.AppendJSON(p.text[:0])
	_, _ = p.Write(p.text) // a hash returns no error
	return p.Sum64()
}

// recall returns the number of messages that were sent before and have responses, and the
// responses, nil if there are none. Repeated reports whether the request repeats one with
// violations.
func (w *Monitor) recall(c *Conversation) (known int, responses *received, repeated bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.memory(c.request.key())
	for i, hash := range c.hashes[:max(len(c.hashes)-1, 0)] {
		before := m.byHash[hash]
		if before == nil {
			before = w.otherModel(c.request, hash, i+1)
		}
		if before != nil {
			before.continued = true
			known, responses = i+1, before
		}
	}
	return known, responses, m.invalid[c.Hash()]
}

// otherModel returns the responses of another model to the messages with this hash, if message n of a request is one of them: a client
// may continue a conversation with another model.
func (w *Monitor) otherModel(q *Request, hash uint64, n int) *received {
	next := q.Request.Messages[n]
	if q.Session != "" || q.recorded || len(w.sessions) < 2 || next.Role != llm.RoleAssistant {
		return nil
	}
	key := contentKey(next)
	if key == "" {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.sessions)) {
		h := w.sessions[name].byHash[hash]
		if h != nil && h.session == "" && slices.ContainsFunc(h.responses, func(m llm.Message) bool { return contentKey(m) == key }) {
			return h
		}
	}
	return nil
}

// AddUnparsedRequest records a request whose body cannot be parsed. It continues the responses
// to its client whose calls it names.
func (w *Monitor) AddUnparsedRequest(session string, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.sessions {
		for _, h := range m.byHash {
			if h.session == session && slices.ContainsFunc(h.responses, func(m llm.Message) bool { return namesCall(body, m) }) {
				h.continued = true
			}
		}
	}
}

// namesCall reports whether a body has the id of a call of a message, or the name of a call
// that came without an id.
func namesCall(body []byte, m llm.Message) bool {
	return slices.ContainsFunc(m.Calls(), func(c llm.ToolCall) bool {
		if c.ID == "" || c.IDGenerated {
			c.ID = c.Name
		}
		return bytes.Contains(body, []byte(quoted(c.ID)))
	})
}

// AddResponse records a response as its client reads it. A client cannot continue a response
// that it cannot read.
func (w *Monitor) AddResponse(c *Conversation, response llm.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, hash := w.memory(c.request.key()), c.Hash()
	h := m.byHash[hash]
	if h == nil {
		h = &received{hash: hash, request: c.request.Number, session: c.request.Session, protocol: c.request.Protocol.Name()}
		m.byHash[hash] = h
	}
	if c.request.recorded {
		if h.systems == nil {
			h.systems = map[uint64]bool{}
		}
		h.systems[systemHash(c.request.Request)] = true
	}
	text := string(response.AppendJSON(nil))
	if slices.ContainsFunc(h.responses, func(m llm.Message) bool { return string(m.AppendJSON(nil)) == text }) {
		return
	}
	h.responses = append(h.responses, response)
	if key := contentKey(response); key != "" {
		m.byContent[key] = append(m.byContent[key], h)
	}
}

// returnedOpaque returns the part of a response's opaque data that a request of p contains on
// the message. It is nil if there is none. Requests omit data about the response alone, such as
// logprobs, and contain some data elsewhere, such as the container of Anthropic.
func returnedOpaque(p protocol.Protocol, opaque json.RawMessage) json.RawMessage {
	if audio := member(jsonio.View(opaque), "audio"); audio != "" && textMember(audio, "id") == "" {
		opaque = withoutMember(opaque, "audio") // some servers send it for text
	}
	if opaque == nil {
		return nil
	}
	turn := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "x"}}, Opaque: opaque}
	sent, err := p.EncodeRequest(&llm.Request{Messages: []llm.Message{turn}})
	if err != nil {
		return nil
	}
	read, err := p.DecodeRequest(sent.Path, sent.Body)
	if err != nil || len(read.Messages) != 1 {
		return nil
	}
	return read.Messages[0].Opaque
}
