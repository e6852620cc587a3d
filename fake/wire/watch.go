package wire

import (
	"bytes"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
)

// memory is what was asked and answered in a lane.
type memory struct {
	by     map[uint64]*heard   // by a hash of the conversation
	saying map[string][]*heard // by what the answer says, in the order of the requests
	wrong  map[uint64]bool     // conversations that broke an invariant
}

// memory returns what is known of a lane. The caller holds the Server's lock.
func (s *Server) memory(lane string) *memory {
	m := s.heard[lane]
	if m == nil {
		m = &memory{by: map[uint64]*heard{}, saying: map[string][]*heard{}, wrong: map[uint64]bool{}}
		if s.heard == nil {
			s.heard = map[string]*memory{}
		}
		s.heard[lane] = m
	}
	return m
}

// heard is what was answered to one conversation.
type heard struct {
	said     []llm.Message // one for each try that had another answer
	hash     uint64        // of the conversation
	request  int           // the first
	lane     string        // of its URL
	followed bool          // a request went on from it
}

// check notes what is wrong with the messages that a client sends. What was sent
// before, and answered, is not told again, and neither is a request that is repeated.
func (x *exchange) check(req *llm.Request) {
	hashes := prefixes(req.Messages)
	known, answers, again := x.recall(hashes)
	if again {
		x.broke = true
		return
	}
	name := "request " + strconv.Itoa(x.n)
	var found []check.Violation
	for _, v := range check.Messages(name, req.Messages) {
		if v.Event >= known {
			found = append(found, v)
		}
	}
	if len(found) == 0 && len(answers) > 0 {
		found = x.follow(name, req, known, answers)
	}
	if len(found) == 0 {
		found = x.rewritten(name, req.Messages, hashes, known)
	}
	x.server.mu.Lock()
	m := x.server.memory(x.played)
	m.wrong[x.known] = len(found) > 0
	if x.server.cfg.Suppress["INV-05"] != "" && (known == 0 || slices.ContainsFunc(found, func(v check.Violation) bool { return v.Invariant == "INV-05" })) {
		for _, h := range m.by { // who may put something in the place of a history has answered its calls there
			h.followed = true
		}
	}
	x.server.mu.Unlock()
	x.violated(found...)
}

// follow holds the messages behind those that are known against the answers to these.
func (x *exchange) follow(name string, req *llm.Request, known int, answers []llm.Message) (found []check.Violation) {
	next := slices.Clone(req.Messages[known:])
	if x.proto.Name() == generate {
		next[0] = inOnePiece(next[0])
	}
	for _, said := range slices.Backward(answers) {
		said = x.asEchoed(said, req.Messages[:known], next)
		if id := gjson.GetBytes(said.Opaque, "container.id").Str; id == "" || string(req.Extra["container"]) == quoted(id) { // Anthropic takes it at the request's top
			said.Opaque = owed(protocol.SentBack(x.proto, said.Opaque), next[0].Opaque)
		}
		if found = check.Follow(name, known, said, next); len(found) == 0 {
			return nil
		}
	}
	if x.lane == "" && !tied(answers, next[0]) {
		return nil // somebody else's conversation, which begins alike
	}
	return found
}

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
		for _, c := range callsOf(said.Parts) {
			if slices.ContainsFunc(callsOf(m.Parts), func(d llm.ToolCall) bool { return c.ID == d.ID || c.Name == d.Name }) {
				return true
			}
		}
	}
	return false
}

// rewritten tells if the last answer among the messages is one of this lane, and what
// stands before it is not what it was given to.
func (x *exchange) rewritten(name string, list []llm.Message, hashes []uint64, known int) []check.Violation {
	at := len(list) - 1
	for at >= 0 && list[at].Role != llm.RoleAssistant {
		at--
	}
	if at < 1 || known > 0 && at == known {
		return nil
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	given := x.server.memory(x.played).saying[saying(list[at])]
	if len(given) == 0 || slices.ContainsFunc(given, func(h *heard) bool { return h.hash == hashes[at-1] }) {
		return nil
	}
	h := given[len(given)-1]
	h.followed = true
	return []check.Violation{violation("INV-05", name, at, "message "+strconv.Itoa(at)+" is the answer to request "+strconv.Itoa(h.request)+", and the messages before it are not those of that request")}
}

// saying is a text that is the same for answers that say the same; empty for one that
// says nothing.
func saying(m llm.Message) string {
	text := strings.TrimSpace(m.Text())
	for _, c := range callsOf(m.Parts) {
		text += "\x00" + c.ID
	}
	return text
}

// prefixes are hashes of the first message, the first two and so on. Reasoning does not
// count: that of earlier turns may be left out.
func prefixes(list []llm.Message) []uint64 {
	h := fnv.New64a()
	var text []byte
	out := make([]uint64, len(list))
	for i, m := range list {
		if slices.ContainsFunc(m.Parts, isReasoning) {
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isReasoning)
		}
		text = m.AppendJSON(text[:0])
		_, _ = h.Write(text) // a hash takes all
		out[i] = h.Sum64()
	}
	return out
}

func isReasoning(p llm.Part) bool {
	_, ok := p.(llm.Reasoning)
	return ok
}

// recall returns how many of the messages were sent before and answered, and the
// answers; and whether the whole was sent before, and was wrong. It takes note of the
// conversation for remember.
func (x *exchange) recall(hashes []uint64) (known int, answers []llm.Message, again bool) {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	m := x.server.memory(x.played)
	for i, hash := range hashes {
		if before := m.by[hash]; before != nil && i < len(hashes)-1 {
			before.followed = true
			known, answers = i+1, before.said
		}
		x.known = hash
	}
	return known, answers, m.wrong[x.known]
}

// glance looks at a body that cannot be read: it goes on from the answers whose calls
// it names.
func (x *exchange) glance(body []byte) {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	for _, m := range x.server.heard {
		for _, h := range m.by {
			if h.lane == x.lane && slices.ContainsFunc(h.said, func(m llm.Message) bool { return namesCall(body, m) }) {
				h.followed = true
			}
		}
	}
}

// namesCall reports whether a body has the id of one of a message's calls, or the name
// of one that came without an id.
func namesCall(body []byte, m llm.Message) bool {
	return slices.ContainsFunc(callsOf(m.Parts), func(c llm.ToolCall) bool {
		if c.ID == "" || c.Minted {
			c.ID = c.Name
		}
		return bytes.Contains(body, []byte(quoted(c.ID)))
	})
}

// remember notes what an answer says, as the project's own client reads it. An
// answer that cannot be read is not one to go on from.
func (x *exchange) remember(p *play, r *reply) {
	said, ok := p.said(r)
	if !ok {
		return
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.memory(x.played)
	h := m.by[x.known]
	if h == nil {
		h = &heard{hash: x.known, request: x.n, lane: x.lane}
		m.by[x.known] = h
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

// said is what a client reads in r.
func (p *play) said(r *reply) (m llm.Message, ok bool) {
	var acc llm.Accumulator
	add := func(ev llm.Event) { acc.Add(ev) }
	if len(r.frames) == 0 {
		if r.status != 200 || p.proto.DecodeAnswer(r.body, add) != nil {
			return m, false
		}
		return acc.Turn().Message(), true
	}
	dec := p.proto.NewDecoder()
	for _, f := range r.frames {
		done, err := dec.Event(f.name, f.data, add)
		if err != nil {
			return m, false
		}
		if done {
			break
		}
	}
	if dec.End(add) != nil {
		return m, false
	}
	return acc.Turn().Message(), true
}

func callsOf(parts []llm.Part) (calls []llm.ToolCall) {
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			calls = append(calls, c)
		}
	}
	return calls
}
