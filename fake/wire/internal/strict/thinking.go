package strict

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// thinking refuses thinking that was altered, is missing or should not be there.
// Mode is the type of the request's thinking.
func (p *past) thinking(mode string, history []said) *Error {
	turns := joined(history)
	last := -1 // of the assistant
	for i, t := range turns {
		if t.role == "assistant" {
			last = i
		}
	}
	for i, t := range turns {
		for j := range t.blocks {
			if e := p.altered(t, j, i == last); e != nil {
				return e
			}
		}
	}
	if last < 0 || !goesOn(turns, last) {
		return nil
	}
	switch mode {
	case "enabled":
		return unthought(turns, last)
	case "adaptive":
		return nil
	}
	return p.thoughtful(turns[last], mode == "disabled")
}

// goesOn reports whether the turn of the assistant that is turns[last] is going
// on: nothing came after it but results.
func goesOn(turns []turn, last int) bool {
	return last == len(turns)-1 || turns[last+1].has("tool_result")
}

// unthought refuses a turn with calls that does not begin with thinking.
func unthought(turns []turn, last int) *Error {
	if !turns[last].has("tool_use") {
		return nil
	}
	first := last // the message with which the turn began, calls and results later
	for first >= 2 && turns[first-1].has("tool_result") {
		first -= 2
	}
	for _, i := range []int{first, last} {
		if len(turns[i].blocks) > 0 && isThought(turns[i].blocks[0].kind) {
			return nil
		}
	}
	b := turns[last].blocks[0]
	return reject("SA-15", "%s.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", //nolint:misspell // so spelt
		b.at, b.kind)
}

// thoughtful refuses thinking where the request has it off. Where it does not say
// so, the thinking of the script is taken: it thinks whether asked to or not.
func (p *past) thoughtful(t turn, off bool) *Error {
	for _, b := range t.blocks {
		if isThought(b.kind) && (off || !p.scripted(b)) {
			return reject("SA-16", "%s: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.", b.at)
		}
	}
	return nil
}

// scripted reports whether a block is thinking of any lane.
func (p *past) scripted(b block) bool {
	like := func(own thought) bool {
		return own.text == b.text("thinking") && own.signature == b.text("signature") && own.data == b.text("data")
	}
	if slices.ContainsFunc(p.thoughts(), like) {
		return true
	}
	for lane := range p.Config.Script.Sessions {
		other := past{Request: p.Request, lane: lane}
		if slices.ContainsFunc(other.thoughts(), like) {
			return true
		}
	}
	return false
}

func isThought(kind string) bool { return kind == "thinking" || kind == "redacted_thinking" }

// altered refuses thinking of this lane that is not as it was sent. Thinking that
// the script does not know is another's, unless it has a signature that only this
// server makes.
func (p *past) altered(t turn, j int, last bool) *Error {
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

// kindBefore is the kind of the block that stands before another in its message.
func (t turn) kindBefore(j int) string {
	if j == 0 || t.blocks[j-1].message != t.blocks[j].message {
		return ""
	}
	return t.blocks[j-1].kind
}

// thought is thinking that the lane's script has.
type thought struct {
	text, signature string
	data            string // of what is redacted
	after           string // the kind of the block before it; empty if it is the first
}

// thoughts are all of the lane, in order, with those that quirks add.
func (p *past) thoughts() []thought {
	if p.said != nil {
		return p.said
	}
	p.said = []thought{}
	for at := range p.places(p.lane) {
		after := ""
		for _, part := range p.answered(at) {
			kind := blockKind(part)
			if r, ok := part.(llm.Reasoning); ok {
				o := value(r.Opaque).object()
				p.said = append(p.said, thought{r.Text, o.get("signature").text(), o.get("data").text(), after})
			}
			after = kind
		}
	}
	return p.said
}

// answered are the parts of the answer at a place, as a client reads them; there are
// none of one that fails. Where the script does not tell tries apart, it is that to a
// second one: what quirks do to the first alone is to let it fail.
func (p *past) answered(at fake.Place) []llm.Part {
	t, _ := p.turn(at)
	at.Attempt = max(at.Attempt, 2)
	asked := &llm.Request{} // not about what was said since
	if p.Decoded != nil {
		asked.Model, asked.ResponseMode = p.Decoded.Model, p.Decoded.ResponseMode
	}
	a := &reply.Response{Endpoint: p.Endpoint, Key: reply.Key{Place: at}, Request: asked, Script: t}
	r := p.Config.Render(a)
	m, _ := a.Message(r)
	return m.Parts
}

// blockKind is the type of the block that a part of an answer is.
func blockKind(part llm.Part) string {
	kindOf := func(opaque json.RawMessage, usual string) string {
		if kind := value(opaque).get("type").text(); kind != "" {
			return kind
		}
		return usual
	}
	switch part := part.(type) {
	case llm.Reasoning:
		return kindOf(part.Opaque, "thinking")
	case llm.ToolCall:
		if part.ProviderExecuted {
			return kindOf(part.Opaque, "server_tool_use")
		}
		return "tool_use"
	case llm.Unknown:
		return part.Kind
	case llm.Text, llm.Media, llm.ToolResult:
	}
	return "text"
}
