package watch

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// asEchoed is said with what a client may well make of it: ids of its own for calls
// that came without one, or with one that another has, in the turn or before it, JSON
// in another spelling, and, in Responses, items without their ids.
func (q *Request) asEchoed(said llm.Message, before, next []llm.Message) llm.Message {
	if len(next) == 0 {
		return said
	}
	echo := next[0].Calls()
	said.Parts = slices.Clone(said.Parts)
	renamed := renames(said.Calls(), echo)
	seen := map[string]bool{}
	for _, m := range before {
		for _, c := range m.Calls() {
			seen[c.ID] = true
		}
	}
	places := map[string]int{} // of the echo's calls
	for i, c := range echo {
		places[c.ID] = i
	}
	n := 0
	for i, part := range said.Parts {
		c, ok := part.(llm.ToolCall)
		if !ok || c.ProviderExecuted {
			said.Parts[i] = ranAs(part, next[0].Parts)
			continue
		}
		at, ok := places[c.ID]
		anew := c.ID == "" || seen[c.ID] || c.IDGenerated || renamed
		if anew {
			at, ok = n, n < len(echo)
		}
		if ok {
			c = q.likeEcho(c, echo[at], anew)
		}
		seen[c.ID] = true
		said.Parts[i] = c
		n++
	}
	if q.Protocol.Name() == responses {
		dropTextIDs(said.Parts, next[0].Parts)
	}
	respell(said.Parts, next[0].Parts)
	return said
}

// likeEcho is a call as its echo has it, as far as that may differ: with another id if it
// is named anew.
func (q *Request) likeEcho(c, echo llm.ToolCall, anew bool) llm.ToolCall {
	if anew {
		c.ID, c.ProviderID = echo.ID, echo.ProviderID
	}
	if mends(c.Arguments, echo.Arguments) {
		c.Arguments = echo.Arguments
	}
	if !protocol.IsName(c.Name) { // no provider takes it back as it is
		c.Name = echo.Name
	}
	if q.Protocol.Name() == responses && echo.Opaque == nil {
		c.Opaque = nil
	}
	return c
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

// ranAs is a call that the provider ran, with its arguments as the echo spells them, or
// mends them: no provider takes back what is no object.
func ranAs(part llm.Part, echo []llm.Part) llm.Part {
	c, ok := part.(llm.ToolCall)
	if !ok {
		return part
	}
	for _, p := range echo {
		d, ok := p.(llm.ToolCall)
		if ok && d.ProviderExecuted && d.ID == c.ID && (mends(c.Arguments, d.Arguments) || !jsonio.IsObject(c.Arguments)) {
			c.Arguments = d.Arguments
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
