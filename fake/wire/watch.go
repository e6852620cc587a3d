package wire

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// memory is what was asked and answered in a lane.
type memory struct {
	by     map[uint64]*heard   // by a hash of the conversation
	saying map[string][]*heard // by what the answer says, in the order of the requests
	wrong  map[uint64]bool     // conversations that broke an invariant
}

// heard is what was answered to one conversation.
type heard struct {
	said     []llm.Message // one for each try that had another answer
	hash     uint64        // of the conversation
	request  int           // the first
	lane     string        // of its URL
	followed bool          // a request went on from it
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

// check notes what is wrong with the messages that a client sends. What was sent
// before, and answered, is not told again, and neither is a request that is repeated.
func (x *exchange) check(req *llm.Request) {
	lane := cmp.Or(x.lane, req.Model)
	hashes := prefixes(req.Messages)
	known, answers, again := x.recall(lane, hashes)
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
		found = x.rewritten(name, lane, req.Messages, hashes, known)
	}
	x.server.mu.Lock()
	m := x.server.memory(lane)
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
		if id := gjson.GetBytes(said.Opaque, "container.id").Str; id != "" && string(req.Extra["container"]) == quoted(id) {
			said.Opaque = nil // Anthropic takes it at the request's top
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

// opaques is the set of the opaque data of parts.
func opaques(parts []llm.Part) map[string]bool {
	out := map[string]bool{}
	for _, p := range parts {
		if raw := llm.OpaqueOf(p); raw != nil {
			out[meaning(raw)] = true
		}
	}
	return out
}

// rewritten tells if the last answer among the messages is one of this lane, and what
// stands before it is not what it was given to.
func (x *exchange) rewritten(name, lane string, list []llm.Message, hashes []uint64, known int) []check.Violation {
	at := len(list) - 1
	for at >= 0 && list[at].Role != llm.RoleAssistant {
		at--
	}
	if at < 1 || known > 0 && at == known {
		return nil
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	given := x.server.memory(lane).saying[saying(list[at])]
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
func (x *exchange) recall(lane string, hashes []uint64) (known int, answers []llm.Message, again bool) {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	m := x.server.memory(lane)
	for i, hash := range hashes {
		if before := m.by[hash]; before != nil && i < len(hashes)-1 {
			before.followed = true
			known, answers = i+1, before.said
		}
		x.known = hash
	}
	return known, answers, m.wrong[x.known]
}

// remember notes what an answer says, as the project's own client reads it. An
// answer that cannot be read is not one to go on from.
func (x *exchange) remember(lane string, p *play, r *reply) {
	said, ok := p.said(r)
	if !ok {
		return
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.memory(lane)
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

// asEchoed is said with what a client may well make of it: ids of its own for calls
// that came without one, or with one that another has, in the turn or before it, JSON
// in another spelling, and, in Responses, items without their ids.
func (x *exchange) asEchoed(said llm.Message, before, next []llm.Message) llm.Message {
	if len(next) == 0 {
		return said
	}
	echo := callsOf(next[0].Parts)
	said.Parts = slices.Clone(said.Parts)
	renamed := renames(callsOf(said.Parts), echo)
	seen := map[string]bool{}
	for _, m := range before {
		for _, c := range m.Calls() {
			seen[c.ID] = true
		}
	}
	n := 0
	for i, part := range said.Parts {
		c, ok := part.(llm.ToolCall)
		if !ok || c.ProviderExecuted {
			said.Parts[i] = ranAs(part, next[0].Parts)
			continue
		}
		if n < len(echo) {
			if c.ID == "" || seen[c.ID] || c.Minted || renamed {
				c.ID, c.ProviderID = echo[n].ID, echo[n].ProviderID
			}
			if mends(c.Args, echo[n].Args) {
				c.Args = echo[n].Args
			}
			if !isName(c.Name) { // no provider takes it back as it is
				c.Name = echo[n].Name
			}
			if x.proto.Name() == responses && echo[n].Opaque == nil {
				c.Opaque = nil
			}
		}
		seen[c.ID] = true
		said.Parts[i] = c
		n++
	}
	if x.proto.Name() == responses {
		dropTextIDs(said.Parts, next[0].Parts)
	}
	respell(said.Parts, next[0].Parts)
	return said
}

// renames reports whether an echo has the same calls under other ids, all of them: some
// clients name calls by themselves.
func renames(said, echo []llm.ToolCall) bool {
	ids := map[string]bool{}
	for _, c := range said {
		ids[c.ID] = true
	}
	return slices.EqualFunc(said, echo, func(a, b llm.ToolCall) bool { return a.Name == b.Name && !ids[b.ID] })
}

// ranAs is a call that the provider ran, with its arguments as the echo spells them.
func ranAs(part llm.Part, echo []llm.Part) llm.Part {
	c, ok := part.(llm.ToolCall)
	if !ok {
		return part
	}
	for _, p := range echo {
		if d, ok := p.(llm.ToolCall); ok && d.ProviderExecuted && d.ID == c.ID && mends(c.Args, d.Args) {
			c.Args = d.Args
		}
	}
	return c
}

// mends reports whether arguments stand for those that were said: clients read JSON
// and write it again, with U+FFFD for halves of surrogate pairs, and none take back
// what nests as deep as nobody means it.
func mends(said, args string) bool {
	if args == "{}" && strings.Count(said, "[")+strings.Count(said, "{") > maxNesting {
		return true
	}
	var was, is any
	return json.Unmarshal([]byte(said), &was) == nil && json.Unmarshal([]byte(args), &is) == nil && reflect.DeepEqual(was, is)
}

// maxNesting is how deep arguments may nest for a client to send them back.
const maxNesting = 500

// respell writes opaque data as the echo does, where they are the same JSON.
func respell(said, echo []llm.Part) {
	spelt := map[string]json.RawMessage{}
	for _, p := range echo {
		editOpaque(p, func(raw json.RawMessage) json.RawMessage {
			spelt[meaning(raw)] = raw
			return raw
		})
	}
	for i, p := range said {
		said[i] = editOpaque(p, func(raw json.RawMessage) json.RawMessage {
			if same, ok := spelt[meaning(raw)]; ok {
				return same
			}
			return raw
		})
	}
}

// meaning is the same text for all that is the same JSON to clients, to which 2.50 is
// 2.5.
func meaning(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	text, _ := json.Marshal(v) // it came from JSON
	return string(text)
}

// inOnePiece is a message with texts that came in pieces as one, as Gemini streams them
// and takes them back: what signs the last piece signs the whole.
func inOnePiece(m llm.Message) llm.Message {
	var parts []llm.Part
	for _, p := range m.Parts {
		t, ok := p.(llm.Text)
		if n := len(parts) - 1; ok && n >= 0 {
			if before, ok := parts[n].(llm.Text); ok && before.Opaque == nil {
				t.Text = before.Text + t.Text
				parts[n] = t
				continue
			}
		}
		parts = append(parts, p)
	}
	m.Parts = parts
	return m
}

// dropTextIDs takes the opaque data off texts, if no text of the echo has any.
func dropTextIDs(said, echo []llm.Part) {
	for _, p := range echo {
		if t, ok := p.(llm.Text); ok && t.Opaque != nil {
			return
		}
	}
	for i, p := range said {
		if t, ok := p.(llm.Text); ok {
			t.Opaque = nil
			said[i] = t
		}
	}
}

func callsOf(parts []llm.Part) (calls []llm.ToolCall) {
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			calls = append(calls, c)
		}
	}
	return calls
}

// cacheMark is the member that marks where a prompt may be cached. Clients move it
// from request to request.
const cacheMark = "cache_control"

// unmarked returns the request without the marks for caching in its messages, which
// are none of the conversation.
func unmarked(req *llm.Request) *llm.Request {
	out := *req
	out.Messages = slices.Clone(req.Messages)
	for i, m := range out.Messages {
		m.Opaque = unmark(m.Opaque)
		m.Parts = slices.Clone(m.Parts)
		for j, p := range m.Parts {
			m.Parts[j] = editOpaque(p, unmark)
		}
		out.Messages[i] = m
	}
	return &out
}

// editOpaque returns the part with other opaque data.
func editOpaque(p llm.Part, edit func(json.RawMessage) json.RawMessage) llm.Part {
	switch p := p.(type) {
	case llm.Text:
		p.Opaque = edit(p.Opaque)
		return p
	case llm.Reasoning:
		p.Opaque = edit(p.Opaque)
		return p
	case llm.Media:
		p.Opaque = edit(p.Opaque)
		return p
	case llm.ToolCall:
		p.Opaque = edit(p.Opaque)
		return p
	case llm.ToolResult:
		p.Opaque, p.Content = edit(p.Opaque), slices.Clone(p.Content)
		for i, c := range p.Content {
			p.Content[i] = editOpaque(c, edit)
		}
		return p
	case llm.Unknown:
		p.Raw = edit(p.Raw)
		return p
	}
	return p
}

func unmark(opaque json.RawMessage) json.RawMessage {
	if !gjson.GetBytes(opaque, cacheMark).Exists() {
		return opaque
	}
	out, err := sjson.DeleteBytes(slices.Clone(opaque), cacheMark)
	if err != nil || string(out) == "{}" {
		return nil
	}
	return out
}
