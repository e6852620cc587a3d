package watch

import (
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// conversation returns the messages of a request. The calls of a received response are in one
// message, and their results in the next. The items of Responses are not messages: a client
// may send each call with its output after it.
func (w *Monitor) conversation(q *Request) *Conversation {
	c, p := &Conversation{request: q}, newPrefix()
	list := q.Request.Messages
	if q.Protocol.Name() != responses {
		c.add(p, list)
		return c
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.memory(q.key())
	var out []llm.Message
	for len(list) > 0 {
		joined, n := m.byHash[c.Hash()].join(list)
		c.add(p, joined)
		out, list = append(out, joined...), list[n:]
	}
	q.Request.Messages = out
	return c
}

// join returns the first n messages of a list as a response and its results, or the first
// message alone if its calls are not separate. The receiver may be nil.
func (h *received) join(list []llm.Message) (joined []llm.Message, n int) {
	if h != nil {
		for _, m := range slices.Backward(h.responses) {
			if joined, n = joinCalls(m, list); n > len(joined) {
				return joined, n
			}
		}
	}
	return list[:1], 1
}

// joinCalls joins the first messages that have calls of a response, each once, and results.
func joinCalls(response llm.Message, list []llm.Message) (joined []llm.Message, n int) {
	open := map[string]bool{}
	for c := range callsOf(response) {
		open[c.ID] = true
	}
	echo, results := llm.Message{Role: llm.RoleAssistant}, llm.Message{Role: llm.RoleTool}
	for _, m := range list {
		calls, known := 0, 0
		for c := range callsOf(m) {
			if calls++; open[c.ID] {
				known++
			}
			delete(open, c.ID)
		}
		switch {
		case m.Role == llm.RoleTool && n > 0:
			results.Parts = append(results.Parts, m.Parts...)
		case calls > 0 && known == calls:
			echo.Parts = append(echo.Parts, m.Parts...)
		default:
			return []llm.Message{echo, results}, n
		}
		n++
	}
	return []llm.Message{echo, results}, n
}

// callsOf returns the calls of a message that the client has to run.
func callsOf(m llm.Message) iter.Seq[llm.ToolCall] {
	return func(yield func(llm.ToolCall) bool) {
		for _, p := range m.Parts {
			if c, is := p.(llm.ToolCall); is && !c.ProviderExecuted && !yield(c) {
				return
			}
		}
	}
}

// adapt returns the response with the changes that a client may make: its own ids for calls
// without ids or with the id of another call, JSON in another representation, and, in
// Responses, items without their ids.
func (q *Request) adapt(response llm.Message, before, next []llm.Message) llm.Message {
	if len(next) == 0 {
		return response
	}
	calls, echo := response.Calls(), next[0].Calls()
	response.Parts = slices.Clone(response.Parts)
	ids := map[string]bool{}
	for _, c := range calls {
		ids[c.ID] = true
	}
	// A program may give ids of its own to all calls of a response. No provider rejects them, so only
	// a recording has a note about them.
	renamed := !q.recorded && slices.EqualFunc(calls, echo, func(a, b llm.ToolCall) bool {
		return a.Name == b.Name && !ids[b.ID]
	})
	seen := map[string]bool{}
	for _, m := range before {
		for c := range callsOf(m) {
			seen[c.ID] = true
		}
	}
	places := map[string]int{} // of the echo's calls
	for i, c := range echo {
		places[c.ID] = i
	}
	n := 0
	for i, part := range response.Parts {
		c, ok := part.(llm.ToolCall)
		if !ok || c.ProviderExecuted {
			response.Parts[i] = adaptExecuted(part, next[0].Parts)
			continue
		}
		at, ok := places[c.ID]
		newID := c.ID == "" || seen[c.ID] || c.IDGenerated || renamed
		if newID || !ok {
			at, ok = n, n < len(echo)
		}
		if ok {
			c = q.adaptCall(c, echo[at], newID)
		}
		seen[c.ID] = true
		response.Parts[i] = c
		n++
	}
	if q.Protocol.Name() == responses {
		dropTextIDs(response.Parts, next[0].Parts)
		dropReasoningIDs(response.Parts, next[0].Parts)
	}
	adaptOpaque(response.Parts, next[0].Parts)
	return response
}

// adaptCall returns a call with the allowed changes of its echo, also its id if newID.
func (q *Request) adaptCall(c, echo llm.ToolCall, newID bool) llm.ToolCall {
	if newID {
		c.ID, c.ProviderID = echo.ID, echo.ProviderID
	}
	if equalArguments(c.Arguments, echo.Arguments) {
		c.Arguments = echo.Arguments
	}
	if !protocol.IsName(c.Name) { // no provider accepts it
		c.Name = echo.Name
	}
	if q.Protocol.Name() == responses {
		if itemID(c) != "" && itemID(echo) == "" {
			c.Opaque = withoutMember(c.Opaque, "id")
		}
		c.Opaque = requiredOpaque(c.Opaque, echo.Opaque)
	}
	return c
}

// adaptExecuted returns a provider-executed call with the arguments of its echo if they are
// equal or repaired: no provider accepts arguments that are not an object.
func adaptExecuted(part llm.Part, echo []llm.Part) llm.Part {
	c, ok := part.(llm.ToolCall)
	if !ok {
		return part
	}
	for _, p := range echo {
		d, ok := p.(llm.ToolCall)
		if ok && d.ProviderExecuted && d.ID == c.ID && (equalArguments(c.Arguments, d.Arguments) || !jsonio.IsObject(c.Arguments)) {
			c.Arguments = d.Arguments
		}
	}
	return c
}

// equalArguments reports whether a client may send arguments for those of the response. Clients
// decode and encode JSON, with U+FFFD for halves of surrogate pairs, and drop values that are
// nested too deeply.
func equalArguments(received, sent string) bool {
	const maxNesting = 500
	if sent == "{}" && strings.Count(received, "[")+strings.Count(received, "{") > maxNesting {
		return true
	}
	return received == sent || jsonval.EqualDecoded(received, sent)
}

// adaptOpaque replaces opaque data by that of the echo which clients treat as equal.
func adaptOpaque(parts, echo []llm.Part) {
	var list []json.RawMessage
	sent := map[string]json.RawMessage{}
	for _, p := range echo {
		editOpaque(p, func(raw json.RawMessage) json.RawMessage {
			list, sent[jsonio.View(raw)] = append(list, raw), raw
			return raw
		})
	}
	equal := sync.OnceValue(func() map[string]json.RawMessage {
		by := map[string]json.RawMessage{}
		for _, raw := range list {
			by[canonical(raw)] = raw
		}
		return by
	})
	for i, p := range parts {
		parts[i] = editOpaque(p, func(raw json.RawMessage) json.RawMessage {
			if same, ok := sent[jsonio.View(raw)]; ok {
				return same
			}
			if same, ok := equal()[canonical(raw)]; ok {
				return same
			}
			return raw
		})
	}
}

// joinTexts joins the consecutive texts of a message. Gemini streams them separately and
// accepts them joined: the signature of the last one is that of all.
func joinTexts(m llm.Message) llm.Message {
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

// dropTextIDs removes the opaque data of texts if no text of the echo has any.
func dropTextIDs(parts, echo []llm.Part) {
	for _, p := range echo {
		if t, ok := p.(llm.Text); ok && t.Opaque != nil {
			return
		}
	}
	for i, p := range parts {
		if t, ok := p.(llm.Text); ok {
			t.Opaque = nil
			parts[i] = t
		}
	}
}

// dropReasoningIDs removes the ids of reasoning that the echo has with the same encrypted content and
// without an id.
func dropReasoningIDs(parts, echo []llm.Part) {
	content := func(r llm.Reasoning) string { return textMember(jsonio.View(r.Opaque), "encrypted_content") }
	unnamed := map[string]bool{}
	for _, p := range echo {
		if r, ok := p.(llm.Reasoning); ok && itemID(r) == "" {
			unnamed[content(r)] = true
		}
	}
	for i, p := range parts {
		if r, ok := p.(llm.Reasoning); ok && content(r) != "" && unnamed[content(r)] {
			r.Opaque = withoutMember(r.Opaque, "id")
			parts[i] = r
		}
	}
}

// thoughts is plain reasoning in a text, as models such as DeepSeek R1 write it. Servers and clients
// make reasoning of it, or the reverse.
var thoughts = regexp.MustCompile(`(?s)<think>.*?</think>`)

func withoutThoughts(text string) string {
	if !strings.Contains(text, "</think>") {
		return text
	}
	return thoughts.ReplaceAllLiteralString(text, "")
}

// withoutOpaque returns the parts that have a form in every protocol, without opaque data.
func withoutOpaque(parts []llm.Part) (out []llm.Part) {
	for _, p := range parts {
		switch p.(type) {
		case llm.Reasoning, llm.Unknown:
		default:
			out = append(out, editOpaque(p, func(json.RawMessage) json.RawMessage { return nil }))
		}
	}
	return out
}

// required returns the parts of a response or its echo that a client must send back. Plain
// reasoning is optional: some providers need it, others refuse it.
func (q *Request) required(parts []llm.Part) (out []llm.Part) {
	_, stored := q.Request.Extra["store"] // the codec omits false; the provider stores the items otherwise
	var details []byte                    // of Chat, whose messages have no places for them among the parts
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok {
			t.Text = withoutThoughts(t.Text)
			p = t
		}
		r, ok := p.(llm.Reasoning)
		switch {
		case ok && q.Protocol.Name() == chat:
			details = appendSigned(details, r.Opaque)
		case ok && q.Protocol.Name() == responses && !stored && textMember(jsonio.View(r.Opaque), "encrypted_content") == "":
			// The provider cannot identify it.
		case q.Protocol.Name() == generate:
			out = append(out, editOpaque(p, plainProto))
		default:
			out = append(out, editOpaque(p, func(raw json.RawMessage) json.RawMessage { return plainBytes(withoutDefaults(raw)) }))
		}
	}
	if details != nil {
		out = append(out, llm.Reasoning{Opaque: plainBytes(append(details, ']'))})
	}
	return out
}

// appendSigned appends OpenRouter's reasoning details, except plain ones, to an open array.
func appendSigned(dst []byte, opaque json.RawMessage) []byte {
	d := jsonio.NewDec(member(jsonio.View(opaque), "reasoning_details"))
	for range d.Elements() {
		raw := d.Raw()
		if textMember(raw, "signature")+textMember(raw, "data")+textMember(raw, "id") == "" {
			continue
		}
		sep := byte(',')
		if dst == nil {
			sep = '['
		}
		dst = append(append(dst, sep), raw...)
	}
	return dst
}

// cacheMark is the member that marks where a provider may cache a prompt. Clients move it from
// request to request.
const cacheMark = "cache_control"

// unmarked returns the request without the cache marks of its messages, which are not part of
// the conversation.
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

func unmark(opaque json.RawMessage) json.RawMessage {
	if member(jsonio.View(opaque), cacheMark) == "" {
		return opaque
	}
	return withoutMember(opaque, cacheMark)
}

// member returns the JSON of a member of an object, or "".
func member(object, name string) (value string) {
	if object == "" {
		return ""
	}
	d := jsonio.NewDec(object)
	for key := range d.Members() {
		if raw := d.Raw(); key == name && value == "" {
			value = raw
		}
	}
	return value
}

// textMember returns a member of an object if it is a string, or "".
func textMember(object, name string) string {
	d := jsonio.NewDec(member(object, name))
	if d.Peek() != '"' {
		return ""
	}
	return d.String()
}

// withoutMember is deleteMember, and nil for an object without other members.
func withoutMember(object json.RawMessage, name string) json.RawMessage {
	if out := deleteMember(object, name); string(out) != "{}" {
		return out
	}
	return nil
}

// deleteMember returns a copy of an object without a member.
func deleteMember(object json.RawMessage, name string) json.RawMessage {
	d, out := jsonio.NewDec(jsonio.View(object)), []byte{'{'}
	for key := range d.Members() {
		raw := d.Raw()
		if key == name {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonio.AppendString(out, key), ':'), raw...)
	}
	return append(out, '}')
}

// withoutDefaults returns opaque data without members that have their default value.
func withoutDefaults(raw json.RawMessage) json.RawMessage {
	if string(raw) == "{}" {
		return nil
	}
	switch {
	case textMember(member(jsonio.View(raw), "caller"), "type") == "direct": // of Anthropic
		return deleteMember(raw, "caller")
	case textMember(jsonio.View(raw), "type") == "tool_use": // of Bedrock Converse
		return withoutMember(raw, "type")
	}
	return raw
}

func opaqueSet(parts []llm.Part) map[string]bool {
	out := map[string]bool{}
	for _, p := range parts {
		if raw := llm.PartOpaque(p); raw != nil {
			out[canonical(raw)] = true
		}
	}
	return out
}

// canonical returns the same string for JSON that clients treat as equal: 2.50 is 2.5, and a
// null member is a missing one.
func canonical(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	text, _ := json.Marshal(withoutNulls(v)) // it was decoded from JSON
	return string(text)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if v[key] = withoutNulls(member); member == nil {
				delete(v, key)
			}
		}
	case []any:
		for i, element := range v {
			v[i] = withoutNulls(element)
		}
	}
	return v
}

// requiredOpaque returns the opaque data of the echo if it has all members of the response's
// opaque data; otherwise that of the response. The echo may have more members.
func requiredOpaque(response, echo json.RawMessage) json.RawMessage {
	if len(response) == 0 || string(response) == string(echo) {
		return echo
	}
	var want, got map[string]json.RawMessage
	_ = json.Unmarshal(response, &want) // other values have no members
	_ = json.Unmarshal(echo, &got)
	for key, raw := range want {
		if canonical(raw) != canonical(got[key]) {
			return response
		}
	}
	return echo
}

// editOpaque returns a part with edited opaque data.
func editOpaque(part llm.Part, edit func(json.RawMessage) json.RawMessage) llm.Part {
	out, _ := editedPart(part, edit)
	return out
}

// editedPart is editOpaque. It returns the part itself and false if edit returns all opaque data as it is.
func editedPart(part llm.Part, edit func(json.RawMessage) json.RawMessage) (out llm.Part, edited bool) {
	was := llm.PartOpaque(part)
	raw := edit(was)
	result, _ := part.(llm.ToolResult)
	content := result.Content
	for i, c := range result.Content {
		if c, edited := editedPart(c, edit); edited {
			if &content[0] == &result.Content[0] {
				content = slices.Clone(content)
			}
			content[i] = c
		}
	}
	isSame := len(was) == len(raw) && (was == nil) == (raw == nil) && (len(raw) == 0 || &was[0] == &raw[0])
	if isSame && (len(content) == 0 || &content[0] == &result.Content[0]) {
		return part, false
	}
	switch p := part.(type) {
	case llm.Text:
		p.Opaque = raw
		return p, true
	case llm.Reasoning:
		p.Opaque = raw
		return p, true
	case llm.Media:
		p.Opaque = raw
		return p, true
	case llm.ToolCall:
		p.Opaque = raw
		return p, true
	case llm.ToolResult:
		p.Opaque, p.Content = raw, content
		return p, true
	case llm.Unknown:
		p.Raw = raw
		return p, true
	}
	return part, false
}
