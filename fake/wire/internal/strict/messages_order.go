package strict

import (
	"slices"
	"strings"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// merge joins messages of one role in a row, which the provider accepts.
func merge(history []message) []mergedMessage {
	var out []mergedMessage
	for i, m := range history {
		if n := len(out); n == 0 || out[n-1].role != m.role {
			out = append(out, mergedMessage{first: i, message: message{role: m.role}})
		}
		t := &out[len(out)-1]
		t.last = i
		t.blocks = append(t.blocks, m.blocks...)
	}
	return out
}

type mergedMessage struct {
	message
	first, last int // indexes of its messages
}

func (t mergedMessage) has(kind string) bool {
	return slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind == kind })
}

func messagesOrder(history []message) *Error {
	used := map[string]bool{}
	open := calls{}
	scripts := merge(history)
	for _, t := range append(scripts[:len(scripts):len(scripts)], mergedMessage{}) {
		if e := open.results(t); e != nil {
			return e
		}
		open = calls{from: t}
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
	return unfinished(scripts)
}

type calls struct {
	from mergedMessage
	ids  []string
}

// results rejects a message that does not answer the calls before all else.
func (c calls) results(next mergedMessage) *Error {
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
	open := slices.DeleteFunc(c.ids, func(id string) bool { return answered[id] })
	if len(open) == 0 {
		return nil
	}
	return reject("SA-01", reply.UnansweredToolUses, c.from.last, strings.Join(open, ", "))
}

// unfinished rejects a call that the provider ran, without its result. The last message
// may have one, if it was paused, and so may a call that calls tools itself.
func unfinished(scripts []mergedMessage) *Error {
	done := map[string]bool{}
	for _, t := range scripts {
		for _, b := range t.blocks {
			done[b.text("tool_use_id")] = true
			done[b.get("caller").text("tool_id")] = true
		}
	}
	return first(scripts, func(i int, t mergedMessage) *Error {
		return first(t.blocks, func(_ int, b block) *Error {
			id, name := b.text("id"), b.text("name")
			if b.kind != "server_tool_use" || done[id] || i == len(scripts)-1 {
				return nil
			}
			at, _, _ := strings.Cut(b.at, ".content")
			return reject("SA-19", "%s: `%s` tool use with id %s was found without a corresponding `%s_tool_result` block", at, name, id, name)
		})
	})
}
