package watch

import (
	"slices"

	"github.com/looptape/looptape/llm"
)

// conversation is what was asked, in whose messages the calls of each answer that its
// client got stand in one, and their results in the next. The items of Responses are no
// messages: a client may as well send each call with its output behind it.
func (w *Monitor) conversation(q *Request) *Conversation {
	c, so := &Conversation{question: q}, newPrefix()
	list := q.Request.Messages
	if q.Protocol.Name() != responses {
		c.add(so, list)
		return c
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.memory(q.lane())
	var out []llm.Message
	for len(list) > 0 {
		turn, n := m.by[c.Hash()].gather(list)
		c.add(so, turn)
		out, list = append(out, turn...), list[n:]
	}
	q.Request.Messages = out
	return c
}

// gather returns the first messages of a list as one answer and its results, and how many
// they are; the first alone if they are not in pieces.
func (h *heard) gather(list []llm.Message) (turn []llm.Message, n int) {
	if h != nil {
		for _, said := range slices.Backward(h.said) {
			if turn, n = inOne(said, list); n > len(turn) {
				return turn, n
			}
		}
	}
	return list[:1], 1
}

// inOne puts together those of the first messages that hold calls of an answer, each
// once, and results.
func inOne(said llm.Message, list []llm.Message) (turn []llm.Message, n int) {
	waits := map[string]bool{}
	for _, c := range said.Calls() {
		waits[c.ID] = true
	}
	echo, results := llm.Message{Role: llm.RoleAssistant}, llm.Message{Role: llm.RoleTool}
	for _, m := range list {
		switch {
		case m.Role == llm.RoleTool && n > 0:
			results.Parts = append(results.Parts, m.Parts...)
		case takes(waits, m.Calls()):
			echo.Parts = append(echo.Parts, m.Parts...)
		default:
			return []llm.Message{echo, results}, n
		}
		n++
	}
	return []llm.Message{echo, results}, n
}

// takes takes the calls out of those that an answer waits for; it reports whether they are
// some, and all among these.
func takes(waits map[string]bool, calls []llm.ToolCall) bool {
	for _, c := range calls {
		if !waits[c.ID] {
			return false
		}
		delete(waits, c.ID)
	}
	return len(calls) > 0
}
