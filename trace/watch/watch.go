// Package watch holds what clients ask of models, over any of the wire protocols,
// against the invariants that requests show, and against what the same clients asked
// before and were answered. Who takes the requests makes no difference: a server as they
// come, or the reader of a recording.
//
// It promises to tell each thing that is wrong once, at the first request that shows it,
// and to take no request for another client's: what may be somebody else's conversation
// that begins alike is not held against the answers.
package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
)

// The protocols whose clients have ways of their own, by Protocol.Name.
const (
	chat      = "openai-chat"
	responses = "openai-responses"
	generate  = "gemini"
)

// Watch remembers what was asked and answered. Its zero value is ready, and safe for use
// by many goroutines. It grows with the conversations and their answers.
type Monitor struct {
	// Rewrites says that clients may put something else in the place of a history: who
	// does has answered the calls there.
	Rewrites bool

	mu    sync.Mutex
	lanes map[string]*memory
}

// Question is a request to a model.
type Request struct {
	Protocol protocol.Protocol
	// Number counts the requests from 1.
	Number int
	// Lane names the client; it is empty if who asks is not known.
	Session string
	// Model keeps the conversations apart of clients without a lane.
	Model string
	// Request is without marks for caching; see Unmarked.
	Request *llm.Request
}

// lane is what the conversations are kept by.
func (q *Request) lane() string { return cmp.Or(q.Session, q.Model) }

// name is what violations call the request.
func (q *Request) name() string { return "request " + strconv.Itoa(q.Number) }

// Conversation is what was asked, for Answered.
type Conversation struct {
	question *Request
	hashes   []uint64
}

// Hash tells conversations apart; it is 0 if there are no messages.
func (c *Conversation) Hash() uint64 {
	if len(c.hashes) == 0 {
		return 0
	}
	return c.hashes[len(c.hashes)-1]
}

// add adds the hashes of the conversation with the next messages, one by one.
func (c *Conversation) add(so *prefix, next []llm.Message) {
	c.hashes = slices.Grow(c.hashes, len(next))
	for _, m := range next {
		c.hashes = append(c.hashes, so.add(m))
	}
}

// memory is what was asked and answered in a lane.
type memory struct {
	by     map[uint64]*heard   // by a hash of the conversation
	saying map[string][]*heard // by what the answer says, in the order of the requests
	wrong  map[uint64]bool     // conversations that broke an invariant
}

// memory returns what is known of a lane. The caller holds the lock.
func (w *Monitor) memory(lane string) *memory {
	m := w.lanes[lane]
	if m == nil {
		m = &memory{by: map[uint64]*heard{}, saying: map[string][]*heard{}, wrong: map[uint64]bool{}}
		if w.lanes == nil {
			w.lanes = map[string]*memory{}
		}
		w.lanes[lane] = m
	}
	return m
}

// heard is what was answered to one conversation.
type heard struct {
	said     []llm.Message // one for each try that had another answer
	hash     uint64        // of the conversation
	request  int           // the first
	lane     string        // of the client
	followed bool          // a request went on from it
}

// Lanes are those in which there were requests, sorted.
func (w *Monitor) Sessions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.lanes))
}

// Pending are the calls of an answer that nobody went on from.
type Pending struct {
	Session string
	Request int // the first that was answered so
	Calls   []llm.ToolCall
}

// Pending returns the calls that nobody has answered, lane by lane.
func (w *Monitor) Pending() (list []Pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, lane := range slices.Sorted(maps.Keys(w.lanes)) {
		for _, h := range w.lanes[lane].by {
			if h.followed {
				continue
			}
			for _, said := range h.said {
				if calls := said.Calls(); len(calls) > 0 {
					list = append(list, Pending{lane, h.request, calls})
				}
			}
		}
	}
	return list
}

// Asked takes a request, and returns what is wrong with its messages. What was sent
// before, and answered, is not told again, and neither is a request that is repeated;
// again says that this one is, and that it was wrong. The calls of an answer that its client
// sends back one by one stand in one message of the request from then on.
func (w *Monitor) AddRequest(q *Request) (c *Conversation, found []check.Violation, again bool) {
	return w.asked(q, (*check.List).Done)
}

// asked is Asked with what judges the messages alone.
func (w *Monitor) asked(q *Request, judge func(*check.List) []check.Violation) (c *Conversation, found []check.Violation, again bool) {
	c = w.conversation(q)
	known, answers, again := w.recall(c)
	if again {
		return c, nil, true
	}
	l := check.NewList(q.name())
	for _, m := range q.Request.Messages {
		l.Add(m)
	}
	for _, v := range judge(l) {
		if known == 0 || v.Event >= known {
			found = append(found, v)
		}
	}
	sound := len(found) == 0
	if sound && len(answers) > 0 {
		found = q.follow(known, answers)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.memory(q.lane())
	if sound {
		found = m.rewritten(c, known, found)
	}
	m.wrong[c.Hash()] = len(found) > 0
	if w.Rewrites && (known == 0 || slices.ContainsFunc(found, func(v check.Violation) bool { return v.Invariant == "INV-05" })) {
		for _, h := range m.by {
			h.followed = true
		}
	}
	return c, found, false
}

// follow holds the messages behind those that are known against the answers to these.
func (q *Request) follow(known int, answers []llm.Message) (found []check.Violation) {
	next := slices.Clone(q.Request.Messages[known:])
	if q.Protocol.Name() == generate {
		next[0] = inOnePiece(next[0])
	}
	next[0].Parts = q.owing(next[0].Parts)
	for _, said := range slices.Backward(answers) {
		said.Parts = q.owing(said.Parts)
		said = q.asEchoed(said, q.Request.Messages[:known], next)
		if id := gjson.GetBytes(said.Opaque, "container.id").Str; id == "" || string(q.Request.Extra["container"]) == quoted(id) { // Anthropic takes it at the request's top
			said.Opaque = owed(protocol.ReturnedOpaque(q.Protocol, said.Opaque), next[0].Opaque)
		}
		if found = check.NewList(q.name()).Follow(known, said, next); len(found) == 0 {
			return nil
		}
	}
	if q.Session == "" && !tied(answers, next[0]) {
		return nil // somebody else's conversation, which begins alike
	}
	return found
}

// quoted is a text as JSON.
func quoted(s string) string { return string(jsonio.AppendString(nil, s)) }

// tied reports whether a message has anything of the answers, or none is in its place.
func tied(answers []llm.Message, m llm.Message) bool {
	if m.Role != llm.RoleAssistant {
		return true
	}
	marks := opaques(m.Parts)
	for _, said := range answers {
		for mark := range opaques(said.Parts) {
			if marks[mark] {
				return true
			}
		}
		if said.Text() != "" && strings.TrimSpace(said.Text()) == strings.TrimSpace(m.Text()) {
			return true
		}
		for _, c := range said.Calls() {
			if slices.ContainsFunc(m.Calls(), func(d llm.ToolCall) bool { return c.ID == d.ID || c.Name == d.Name }) {
				return true
			}
		}
	}
	return false
}

// rewritten tells if the last answer among the messages is one of this lane, and what
// stands before it is not what it was given to: that is more than what was found wrong
// with it in its place. Else it returns what was found.
func (m *memory) rewritten(c *Conversation, known int, found []check.Violation) []check.Violation {
	list := c.question.Request.Messages
	at := len(list) - 1
	for at >= 0 && list[at].Role != llm.RoleAssistant {
		at--
	}
	followed := known > 0 && at == known // it was held against what was answered there
	if at < 0 || followed == (len(found) == 0) {
		return found
	}
	before, are := uint64(0), "are left out"
	if at > 0 {
		before, are = c.hashes[at-1], "are not those of that request"
	}
	given := m.saying[saying(list[at])]
	if len(given) == 0 || slices.ContainsFunc(given, func(h *heard) bool { return h.hash == before }) {
		return found
	}
	h := given[len(given)-1]
	h.followed = true
	return []check.Violation{check.Violation{Invariant: "INV-05", Run: c.question.name(), Event: at, Message: "message " + strconv.Itoa(at) + " is the answer to request " + strconv.Itoa(h.request) + ", and the messages before it " + are}.WithHint()}
}

// saying is a text that is the same for answers that say the same, by the ids of their
// calls if they came with any; empty for one that says nothing.
func saying(m llm.Message) string {
	text := strings.TrimSpace(m.Text())
	for _, c := range m.Calls() {
		if text += "\x00"; c.ID == "" || c.IDGenerated {
			text += c.Name + meaning(json.RawMessage(c.Arguments))
		} else {
			text += c.ID
		}
	}
	return text
}

// prefix is a hash of messages. Reasoning does not count: that of earlier turns may be
// left out.
type prefix struct {
	hash.Hash64
	text []byte
}

func newPrefix() *prefix { return &prefix{Hash64: fnv.New64a()} }

// add takes the next message, and returns the hash of all so far.
func (p *prefix) add(m llm.Message) uint64 {
	if slices.ContainsFunc(m.Parts, isReasoning) {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isReasoning)
	}
	p.text = m.AppendJSON(p.text[:0])
	_, _ = p.Write(p.text) // a hash takes all
	return p.Sum64()
}

func isReasoning(p llm.Part) bool {
	_, ok := p.(llm.Reasoning)
	return ok
}

// recall returns how many of the messages were sent before and answered, and the
// answers; and whether the whole was sent before, and was wrong.
func (w *Monitor) recall(c *Conversation) (known int, answers []llm.Message, again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.memory(c.question.lane())
	for i, hash := range c.hashes {
		if before := m.by[hash]; before != nil && i < len(c.hashes)-1 {
			before.followed = true
			known, answers = i+1, before.said
		}
	}
	return known, answers, m.wrong[c.Hash()]
}

// Glance takes the body of a request that cannot be read: it goes on from the answers
// to its client whose calls it names.
func (w *Monitor) AddUnparsedRequest(lane string, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.lanes {
		for _, h := range m.by {
			if h.lane == lane && slices.ContainsFunc(h.said, func(m llm.Message) bool { return namesCall(body, m) }) {
				h.followed = true
			}
		}
	}
}

// namesCall reports whether a body has the id of one of a message's calls, or the name
// of one that came without an id.
func namesCall(body []byte, m llm.Message) bool {
	return slices.ContainsFunc(m.Calls(), func(c llm.ToolCall) bool {
		if c.ID == "" || c.IDGenerated {
			c.ID = c.Name
		}
		return bytes.Contains(body, []byte(quoted(c.ID)))
	})
}

// Answered takes what was answered, as a client reads it. An answer that cannot be read
// is not one to go on from.
func (w *Monitor) AddResponse(c *Conversation, said llm.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, hash := w.memory(c.question.lane()), c.Hash()
	h := m.by[hash]
	if h == nil {
		h = &heard{hash: hash, request: c.question.Number, lane: c.question.Session}
		m.by[hash] = h
	}
	text := string(said.AppendJSON(nil))
	same := func(m llm.Message) bool { return string(m.AppendJSON(nil)) == text }
	if slices.ContainsFunc(h.said, same) {
		return
	}
	h.said = append(h.said, said)
	if key := saying(said); key != "" {
		m.saying[key] = append(m.saying[key], h)
	}
}
