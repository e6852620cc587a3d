package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
)

// lane is a script and how far its conversations have come.
type lane struct {
	name  string
	turns []Response
	talks []*talk
	last  int         // the highest turn that was used, or -1
	tries map[int]int // attempts by turn, the most of any conversation
}

// talk is a conversation up to one request.
type talk struct {
	messages []llm.Message
	next     []llm.Message // the message that followed them, once one has
	turn     int
	attempts int
}

// find returns where these messages stand in the script, counting this attempt.
func (l *lane) find(messages []llm.Message, apart bool) *talk {
	var before *talk
	for _, t := range slices.Backward(l.talks) {
		if n := len(t.messages); (before == nil || n > len(before.messages)) && n <= len(messages) && sameMessages(t.messages, messages[:n]) {
			before = t
		}
	}
	at := before
	if before == nil || len(before.messages) < len(messages) {
		at = &talk{messages: messages, turn: l.last + 1}
		switch {
		case apart:
			at.turn = l.apart(messages, before)
		case before != nil && before.goesOn(messages[len(before.messages)]):
			at.turn = before.turn + 1
		}
		l.talks = append(l.talks, at)
	}
	at.attempts++
	l.last = max(l.last, at.turn)
	l.tries[at.turn] = max(l.tries[at.turn], at.attempts)
	return at
}

// apart returns the turn of messages that are new, and of which an earlier request
// was the beginning, unless before is nil.
func (l *lane) apart(messages []llm.Message, before *talk) int {
	if before == nil {
		return l.behind(messages)
	}
	last := before.turn // of what went on from there, or was put in its place
	for _, t := range l.talks {
		if n := len(before.messages); len(t.messages) > n && sameMessages(before.messages, t.messages[:n]) {
			last = max(last, t.turn)
		}
	}
	added := messages[len(before.messages):]
	turn := before.turn + answers(added)
	switch {
	case turn == before.turn:
		return last + 1
	case turn <= last: // it has come further before
		return max(turn, min(l.behind(added), last+1))
	}
	return turn
}

// behind returns the turn behind the last of the script's answers among messages, and
// behind the others that follow it; 0 if there is none of the script's.
func (l *lane) behind(messages []llm.Message) int {
	for i, m := range slices.Backward(messages) {
		if at := l.saying(m); at >= 0 {
			return at + 1 + answers(messages[i+1:])
		}
	}
	return 0
}

// answers counts the assistant's messages.
func answers(messages []llm.Message) (n int) {
	for _, m := range messages {
		if m.Role == llm.RoleAssistant {
			n++
		}
	}
	return n
}

// saying returns the first turn that says what a message says: its calls, or else its
// text; -1 if none does.
func (l *lane) saying(m llm.Message) int {
	if m.Role != llm.RoleAssistant || m.Text() == "" && len(m.Calls()) == 0 {
		return -1
	}
	return slices.IndexFunc(l.turns, func(t Response) bool {
		return slices.ContainsFunc(append([]Response{t}, t.Attempts...), func(t Response) bool {
			said := assemble(t.StreamingEvents()).Message()
			return strings.TrimSpace(said.Text()) == strings.TrimSpace(m.Text()) &&
				slices.EqualFunc(said.Calls(), m.Calls(), sameCall)
		})
	})
}

// sameCall reports whether a call of the script is the one that was echoed: by its id, or
// by its arguments if it came without one.
func sameCall(said, echo llm.ToolCall) bool {
	if said.Name != echo.Name || !echo.IDGenerated {
		return said.Name == echo.Name && said.ID == echo.ID
	}
	var was, is any
	return json.Unmarshal([]byte(said.Arguments), &was) == nil && json.Unmarshal([]byte(echo.Arguments), &is) == nil && reflect.DeepEqual(was, is)
}

// goesOn reports whether a message is what followed these, or the first to do so.
// Another one is of a history that was rewritten.
func (t *talk) goesOn(next llm.Message) bool {
	if t.next == nil {
		t.next = []llm.Message{next}
	}
	return sameMessages(t.next, []llm.Message{next})
}

// sameMessages compares messages of the same number. Those that share their
// parts are the same without a look at them.
func sameMessages(a, b []llm.Message) bool {
	for i := range a {
		x, y := a[i], b[i]
		if x.Role == y.Role && len(x.Parts) == len(y.Parts) && len(x.Parts) > 0 && &x.Parts[0] == &y.Parts[0] {
			continue
		}
		if !bytes.Equal(x.AppendJSON(nil), y.AppendJSON(nil)) {
			return false
		}
	}
	return true
}

func (l *lane) unused() (out []string) {
	for i, t := range l.turns {
		if l.tries[i] == 0 {
			out = append(out, fmt.Sprintf("lane %q: turn %d", l.name, i+1))
			continue
		}
		for a := l.tries[i]; a < len(t.Attempts); a++ {
			out = append(out, fmt.Sprintf("lane %q: turn %d, attempt %d", l.name, i+1, a+1))
		}
	}
	return out
}
