package fake

import (
	"bytes"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// session is the script of a session and the state of its conversations.
type session struct {
	name          string
	responses     []Response
	conversations []*conversation
	lastUsed      int    // the highest index of a response that was used, or -1
	attempts      []int  // the number of attempts of each response, the maximum of all conversations
	a, b          []byte // memory of sameMessage
}

// conversation is a conversation up to one request.
type conversation struct {
	messages  []llm.Message
	continued bool
	next      llm.Message // that followed first, if continued
	index     int         // of the response
	attempts  int
}

// find returns the conversation that ends with these messages and counts an attempt.
func (l *session) find(messages []llm.Message, isolate bool) *conversation {
	var before *conversation
	for _, c := range slices.Backward(l.conversations) {
		if n := len(c.messages); (before == nil || n > len(before.messages)) && n <= len(messages) && l.sameMessages(c.messages, messages[:n]) {
			before = c
		}
	}
	at := before
	if before == nil || len(before.messages) < len(messages) {
		at = &conversation{messages: messages, index: l.lastUsed + 1}
		switch {
		case isolate:
			at.index = l.isolatedIndex(messages, before)
		case before != nil && l.continues(before, &messages[len(before.messages)]):
			at.index = before.index + 1
		}
		l.conversations = append(l.conversations, at)
	}
	at.attempts++
	l.lastUsed = max(l.lastUsed, at.index)
	if at.index < len(l.attempts) {
		l.attempts[at.index] = max(l.attempts[at.index], at.attempts)
	}
	return at
}

// isolatedIndex returns the index of the response to new messages. If before is not
// nil, the messages continue it.
func (l *session) isolatedIndex(messages []llm.Message, before *conversation) int {
	if before == nil {
		return l.indexAfter(messages)
	}
	last := before.index // of the conversations that continue before
	for _, c := range l.conversations {
		if n := len(before.messages); len(c.messages) > n && l.sameMessages(before.messages, c.messages[:n]) {
			last = max(last, c.index)
		}
	}
	added := messages[len(before.messages):]
	index := before.index + countAssistant(added)
	switch {
	case index == before.index:
		return last + 1
	case index <= last: // another conversation has used this response
		return max(index, min(l.indexAfter(added), last+1))
	}
	return index
}

// indexAfter returns the index after the last scripted response among the messages and
// after the assistant messages that follow it. It is 0 if no message is scripted.
func (l *session) indexAfter(messages []llm.Message) int {
	for i, m := range slices.Backward(messages) {
		if at := l.indexOf(m); at >= 0 {
			return at + 1 + countAssistant(messages[i+1:])
		}
	}
	return 0
}

func countAssistant(messages []llm.Message) (n int) {
	for _, m := range messages {
		if m.Role == llm.RoleAssistant {
			n++
		}
	}
	return n
}

// indexOf returns the index of the first response with the calls, or else the text, of
// a message; -1 means that the script has none.
func (l *session) indexOf(m llm.Message) int {
	if m.Role != llm.RoleAssistant || m.Text() == "" && len(m.Calls()) == 0 {
		return -1
	}
	return slices.IndexFunc(l.responses, func(t Response) bool {
		return slices.ContainsFunc(append([]Response{t}, t.Attempts...), func(t Response) bool {
			scripted := assemble(t.StreamingEvents()).Message()
			return strings.TrimSpace(scripted.Text()) == strings.TrimSpace(m.Text()) &&
				slices.EqualFunc(scripted.Calls(), m.Calls(), sameCall)
		})
	})
}

// sameCall reports whether the loop sent back a scripted call. It compares the ids, or
// the arguments if the script has no id.
func sameCall(scripted, got llm.ToolCall) bool {
	if scripted.Name != got.Name || !got.IDGenerated {
		return scripted.Name == got.Name && scripted.ID == got.ID
	}
	return jsonval.EqualDecoded(scripted.Arguments, got.Arguments)
}

// continues reports whether a message is the one that followed c first. Another
// message belongs to a rewritten history.
func (l *session) continues(c *conversation, next *llm.Message) bool {
	if !c.continued {
		c.next, c.continued = *next, true
	}
	return l.sameMessage(&c.next, next)
}

// sameMessages compares lists of one length.
func (l *session) sameMessages(a, b []llm.Message) bool {
	for i := range a {
		if !l.sameMessage(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// sameMessage compares messages. If they share their parts, they are equal.
func (l *session) sameMessage(a, b *llm.Message) bool {
	if a.Role == b.Role && len(a.Parts) == len(b.Parts) && len(a.Parts) > 0 && &a.Parts[0] == &b.Parts[0] {
		return true
	}
	l.a, l.b = a.AppendJSON(l.a[:0]), b.AppendJSON(l.b[:0])
	return bytes.Equal(l.a, l.b)
}

func (l *session) unused() (out []Recorded) {
	for i, t := range l.responses {
		if l.attempts[i] == 0 {
			out = append(out, Recorded{Session: l.name, Response: i})
			continue
		}
		for a := l.attempts[i]; a < len(t.Attempts); a++ {
			out = append(out, Recorded{Session: l.name, Response: i, Attempt: a + 1})
		}
	}
	return out
}
