package strict

import (
	"cmp"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
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

// thinking rejects thinking that is changed, missing or disabled. Mode is the type
// of the request's thinking.
func (p *scripted) thinking(mode string, history []message) *Error {
	scripts := merge(history)
	last := lastOfAssistant(scripts)
	return cmp.Or(
		first(scripts, func(i int, m mergedMessage) *Error {
			return first(m.blocks, func(j int, _ block) *Error { return p.checkUnchanged(m, j, i == last) })
		}),
		messagesThinking(mode, scripts, p.scripted),
	)
}

// messagesThinking rejects thinking that is missing or disabled. If the request has no mode, it
// accepts the thinking that accepts reports.
func messagesThinking(mode string, scripts []mergedMessage, accepts func(block) bool) *Error {
	last := lastOfAssistant(scripts)
	if last < 0 || !isOpen(scripts, last) {
		return nil
	}
	switch mode {
	case "enabled":
		return checkStart(scripts, last)
	case "adaptive":
		return nil
	case "disabled":
		accepts = func(block) bool { return false }
	}
	return checkDisabled(scripts[last], accepts)
}

func lastOfAssistant(scripts []mergedMessage) int {
	last := len(scripts) - 1
	for last >= 0 && scripts[last].role != "assistant" {
		last--
	}
	return last
}

// isOpen reports whether only results follow the assistant's message.
func isOpen(scripts []mergedMessage, last int) bool {
	return last == len(scripts)-1 || scripts[last+1].has("tool_result")
}

func checkStart(scripts []mergedMessage, last int) *Error {
	if !scripts[last].has("tool_use") {
		return nil
	}
	from := last // where the response began, before calls and results
	for from >= 2 && scripts[from-1].has("tool_result") {
		from -= 2
	}
	for _, i := range []int{from, last} {
		if len(scripts[i].blocks) > 0 && isThought(scripts[i].blocks[0].kind) {
			return nil
		}
	}
	b := scripts[last].blocks[0]
	return reject("SA-15", "%s.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", //nolint:misspell // as the provider writes it
		b.at, b.kind)
}

// checkDisabled rejects thinking where the request disables it.
func checkDisabled(t mergedMessage, accepts func(block) bool) *Error {
	return first(t.blocks, func(_ int, b block) *Error {
		if !isThought(b.kind) || accepts(b) {
			return nil
		}
		return reject("SA-16", "%s: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.", b.at)
	})
}

// scripted reports whether the script of any session has a thought.
func (p *scripted) scripted(b block) bool {
	has := func(p *scripted) bool {
		return slices.ContainsFunc(p.thoughts(), func(own thought) bool {
			return own.text == b.text("thinking") && own.signature == b.text("signature") && own.data == b.text("data")
		})
	}
	for session := range p.Config.Script.Sessions {
		if has(&scripted{Request: p.Request, session: session}) {
			return true
		}
	}
	return has(p)
}

func isThought(kind string) bool { return kind == "thinking" || kind == "redacted_thinking" }

// checkUnchanged rejects thinking of this session that was changed. It accepts unknown
// thinking, unless the server generated its signature.
func (p *scripted) checkUnchanged(t mergedMessage, j int, last bool) *Error {
	b := t.blocks[j]
	if b.kind != "thinking" {
		return nil
	}
	text, sign := b.text("thinking"), b.text("signature")
	var same, placed, otherText, otherSign bool
	for _, own := range p.thoughts() {
		switch {
		case own.text == text && own.signature == sign:
			same = true
			placed = placed || own.after == t.kindBefore(j)
		case own.signature == sign && sign != "":
			otherText = true
		case own.text == text && text != "":
			otherSign = true
		}
	}
	switch {
	case same && (placed || !last):
		return nil
	case same, otherText && last:
		return reject("SA-14", "%s: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", b.at)
	case otherText, otherSign, reply.IsSignature(sign) && sign != reply.Signature(text):
		return reject("SA-13", "%s: Invalid `signature` in `thinking` block", b.at)
	}
	return nil
}

func (t mergedMessage) kindBefore(j int) string {
	if j == 0 || t.blocks[j-1].message != t.blocks[j].message {
		return ""
	}
	return t.blocks[j-1].kind
}

type thought struct {
	text, signature string
	data            string
	after           string // the kind of the block before it; empty if it is the first
}

func (p *scripted) thoughts() []thought {
	if p.message != nil {
		return p.message
	}
	p.message = []thought{}
	for at := range p.places(p.session) {
		for _, r := range p.answered(at) {
			m, _ := r.Message() // it has no parts if the response fails
			p.message = appendThoughts(p.message, m.Parts)
		}
	}
	return p.message
}

// appendThoughts appends the thoughts of a response.
func appendThoughts(list []thought, parts []llm.Part) []thought {
	after := ""
	for _, part := range parts {
		if r, ok := part.(llm.Reasoning); ok {
			o := value(r.Opaque).object()
			list = append(list, thought{r.Text, o.text("signature"), o.text("data"), after})
		}
		after = blockKind(part)
	}
	return list
}

// answered returns a response in each form in which it was sent. It
// uses the second attempt, because quirks of first attempts only let them fail.
func (p *scripted) answered(at reply.Place) []*reply.Reply {
	t, _ := p.mergedMessage(at)
	at.Attempt = max(at.Attempt, 2)
	asked := &llm.Request{} // whatever the messages are
	if p.Decoded != nil {
		asked.Model, asked.ResponseMode = p.Decoded.Model, p.Decoded.ResponseMode
	}
	return p.Config.Render(&reply.Response{Endpoint: p.Endpoint, Key: reply.Key{Place: at}, Request: asked, Script: t})
}

func blockKind(part llm.Part) string {
	usual := "text"
	switch part := part.(type) {
	case llm.Reasoning:
		usual = "thinking"
	case llm.ToolCall:
		if !part.ProviderExecuted {
			return "tool_use"
		}
		usual = "server_tool_use"
	case llm.Unknown:
		return part.Kind
	default:
		return usual
	}
	return cmp.Or(value(llm.PartOpaque(part)).text("type"), usual)
}
