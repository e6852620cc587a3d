package strict

import (
	"strings"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// joined are the turns of a conversation: messages of one role in a row are one
// (they are not refused any more).
func joined(history []said) []turn {
	var out []turn
	for i, m := range history {
		if n := len(out); n == 0 || out[n-1].role != m.role {
			out = append(out, turn{first: i, said: said{role: m.role}})
		}
		t := &out[len(out)-1]
		t.last = i
		t.blocks = append(t.blocks, m.blocks...)
	}
	return out
}

// turn is one turn of a conversation.
type turn struct {
	said
	first, last int // its messages
}

func (t turn) has(kind string) bool {
	for _, b := range t.blocks {
		if b.kind == kind {
			return true
		}
	}
	return false
}

// messagesOrder refuses calls and results that do not belong together.
func messagesOrder(history []said) *Error {
	used := map[string]bool{}
	open := calls{}
	turns := joined(history)
	for _, t := range turns {
		if e := open.results(t); e != nil {
			return e
		}
		open = calls{turn: t}
		for _, b := range t.blocks {
			if b.kind != "tool_use" {
				continue
			}
			id := b.text("id")
			if used[id] {
				return reject("SA-04", "%s: `tool_use` ids must be unique", b.at)
			}
			used[id] = true
			open.ids = append(open.ids, id)
		}
	}
	if e := open.results(turn{}); e != nil {
		return e
	}
	return unfinished(turns)
}

// calls are those of one turn, which the next one has to answer.
type calls struct {
	turn turn
	ids  []string
}

// results refuses a turn that does not answer the calls, first of all: a result behind
// anything else answers none.
func (c calls) results(next turn) *Error {
	answered := map[string]bool{}
	for _, id := range c.ids {
		answered[id] = false
	}
	late := false
	for _, b := range next.blocks {
		if b.kind != "tool_result" {
			late = true
			continue
		}
		id := b.text("tool_use_id")
		done, called := answered[id]
		switch {
		case !called:
			return reject("SA-02", "%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.at, id)
		case done:
			return reject("SA-03", "%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", b.at, id)
		}
		answered[id] = !late
	}
	var open []string
	for _, id := range c.ids {
		if !answered[id] {
			open = append(open, id)
		}
	}
	if open == nil {
		return nil
	}
	return reject("SA-01", reply.UnansweredToolUses, c.turn.last, strings.Join(open, ", "))
}

// unfinished refuses a call that the provider ran, without its result. The last
// turn may have one, if it was paused, and so may a call that calls tools itself.
func unfinished(turns []turn) *Error {
	done := map[string]bool{}
	for _, t := range turns {
		for _, b := range t.blocks {
			done[b.text("tool_use_id")] = true
			done[b.get("caller").get("tool_id").text()] = true
		}
	}
	for i, t := range turns {
		for _, b := range t.blocks {
			if id := b.text("id"); b.kind == "server_tool_use" && !done[id] && i < len(turns)-1 {
				name := b.text("name")
				at, _, _ := strings.Cut(b.at, ".content")
				return reject("SA-19", "%s: `%s` tool use with id %s was found without a corresponding `%s_tool_result` block", at, name, id, name)
			}
		}
	}
	return nil
}
