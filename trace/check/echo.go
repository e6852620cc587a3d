package check

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// said is the run's last whole answer, as the history is to have it.
type said struct {
	llm.Message
	there  bool // the message is: nobody sends an empty one
	opaque bool // it has opaque data
}

// say takes an answer. Of a forced last one, the calls are dropped.
func (r *run) say(m llm.Message) {
	if r.control.forced == forceAsked {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isCall)
	}
	s := &r.answer.said
	s.Message, s.there, s.opaque = m, !empty(m), carries(m)
}

// isCall reports whether a part is a call that the loop is to answer.
func isCall(p llm.Part) bool {
	c, ok := p.(llm.ToolCall)
	return ok && !c.ProviderExecuted
}

func carries(m llm.Message) bool {
	for _, p := range m.Parts {
		if llm.PartOpaque(p) != nil {
			return true
		}
	}
	return m.Opaque != nil
}

// echo holds the assistant message among new ones that repeats the turn against it.
// It reports whether its calls are the turn's; one that is left out is for lost to
// tell.
func (r *run) echo(messages []llm.Message) (same bool) {
	turn := &r.answer.said
	if !turn.there {
		return true
	}
	was := spoken(turn.Parts)
	m, is := lastLike(messages, was)
	if m == nil {
		return true
	}
	found, wrong := retold(turn.Parts, m.Parts)
	if is.calls != found && !r.batch.reused && r.strange(m.Parts) {
		return false
	}
	if found < was.calls {
		return true
	}
	if turn.opaque {
		if wrong := unlike(&turn.Message, m, was.words == is.words); wrong != "" {
			r.report(invOpaqueEcho, "the assistant turn is sent back with %s", wrong)
		}
	}
	switch {
	case was.words != is.words:
		wrong = "another text"
	case was.thoughts != is.thoughts:
		wrong = "other reasoning"
	case was.wholes+is.wholes > 0 && !bytes.Equal(wholes(turn.Parts), wholes(m.Parts)):
		wrong = "other media or calls that the provider ran"
	}
	if wrong != "" {
		// INV-05 is about a history that grows by what was said; a change of it
		// is a rewrite, which has an event.
		r.hold(invAppendOnly, "the assistant turn is sent back with %s, without a rewrite event", wrong)
	}
	return true
}

// lastLike returns the last assistant message that says this, or else the last of
// all; nil if there is none. There may be others where a policy has answered before
// the run's first request, behind the turns of the input, or has put messages of its
// own behind a turn.
func lastLike(messages []llm.Message, was speech) (last *llm.Message, is speech) {
	for i := len(messages) - 1; i >= 0 && (last == nil || is != was); i-- {
		m := &messages[i]
		if m.Role != llm.RoleAssistant {
			continue
		}
		if s := spoken(m.Parts); last == nil || s == was {
			last, is = m, s
		}
	}
	return last, is
}

// strange reports the first call of an echo that the model did not make.
func (r *run) strange(echo []llm.Part) bool {
	for _, p := range echo {
		c, ok := p.(llm.ToolCall)
		if ok && !c.ProviderExecuted && r.known(c.ID) == nil {
			r.report(invPairing, "the assistant turn is sent back with the call %q, which the model did not make", c.ID)
			return true
		}
	}
	return false
}

// unlike says what the echo has lost or changed of the turn's opaque data. The
// parts that carry some, and the calls between which they stand, must be the
// same in the same order; if the words are the same, they also stand where they
// stood among those.
func unlike(turn, echo *llm.Message, sameWords bool) string {
	if !bytes.Equal(turn.Opaque, echo.Opaque) {
		return "other opaque data of the message"
	}
	want, got := fixed(turn.Parts), fixed(echo.Parts)
	for i, p := range want {
		if i >= len(got) || !samePart(p.part, got[i].part) || sameWords && llm.PartOpaque(p.part) != nil && p.behind != got[i].behind {
			return "the part " + partName(p.part) + " changed, moved or left out"
		}
	}
	if len(got) > len(want) {
		return "the part " + partName(got[len(want)].part) + " added"
	}
	return ""
}

// standing is a part, and how much of the message's words stands before it.
type standing struct {
	part   llm.Part
	behind int // in bytes, space left out
}

// fixed returns the parts that must stay where they are.
func fixed(parts []llm.Part) []standing {
	var out []standing
	behind := 0
	for _, p := range parts {
		if _, ok := p.(llm.ToolCall); ok || llm.PartOpaque(p) != nil {
			out = append(out, standing{p, behind})
		}
		if t, ok := p.(llm.Text); ok {
			for _, word := range strings.Fields(t.Text) {
				behind += len(word)
			}
		}
	}
	return out
}

// samePart compares opaque data, and of reasoning the text as well: it is what
// the signature signs. Of a call only its id matters here, see INV-09.
func samePart(a, b llm.Part) bool {
	if !bytes.Equal(llm.PartOpaque(a), llm.PartOpaque(b)) {
		return false
	}
	switch a := a.(type) {
	case llm.Reasoning:
		b, ok := b.(llm.Reasoning)
		return ok && a.Text == b.Text
	case llm.ToolCall:
		b, ok := b.(llm.ToolCall)
		return ok && a.ID == b.ID
	case llm.Text:
		_, ok := b.(llm.Text)
		return ok
	case llm.Media:
		_, ok := b.(llm.Media)
		return ok
	case llm.ToolResult, llm.Unknown:
	}
	return true
}

// speech is what a turn says: its texts, without the space around them, and how
// many of its parts are calls, and media or what the provider ran itself.
type speech struct {
	words, thoughts string
	calls, wholes   int
}

func spoken(parts []llm.Part) (s speech) {
	var words, thoughts joined
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if !p.Refusal {
				words.add(p.Text)
			}
		case llm.Reasoning:
			thoughts.add(p.Text)
		case llm.ToolCall:
			if p.ProviderExecuted {
				s.wholes++
			} else {
				s.calls++
			}
		case llm.Media, llm.ToolResult:
			s.wholes++
		case llm.Unknown: // opaque, all of it
		}
	}
	s.words, s.thoughts = words.text(), thoughts.text()
	return s
}

// joined puts texts together. Most often there is one.
type joined struct {
	first string
	all   []byte // nil until there are more
}

func (j *joined) add(s string) {
	switch {
	case j.all != nil:
		j.all = append(j.all, s...)
	case j.first == "":
		j.first = s
	default:
		j.all = append([]byte(j.first), s...)
	}
}

func (j *joined) text() string {
	if j.all != nil {
		return string(bytes.TrimSpace(j.all))
	}
	return strings.TrimSpace(j.first)
}

// wholes spells the media of a turn, and the calls that the provider ran itself
// with their results.
func wholes(parts []llm.Part) (out []byte) {
	for _, p := range parts {
		switch x := p.(type) {
		case llm.ToolCall:
			if x.ProviderExecuted {
				out = llm.AppendPart(out, x)
			}
		case llm.Media, llm.ToolResult:
			out = llm.AppendPart(out, x)
		case llm.Text, llm.Reasoning, llm.Unknown:
		}
	}
	return out
}

// retold counts the turn's calls that are in the echo, and says what the last of
// them that was changed or moved has other than the turn. What no provider takes back may
// be mended on the way: a call without a name, arguments that are no object.
func retold(turn, echo []llm.Part) (found int, wrong string) {
	e := echoed{parts: echo}
	for _, p := range turn {
		was, ok := p.(llm.ToolCall)
		if !ok || was.ProviderExecuted {
			continue
		}
		before := e.next
		if now, ok := e.call(was.ID); ok {
			found++
			switch {
			case was.Name != "" && now.Name != was.Name:
				wrong = "the call " + quoted(was.ID) + " of another tool"
			case cmp.Or(now.ProviderID, now.ID) != cmp.Or(was.ProviderID, was.ID):
				wrong = "another id of the provider's for the call " + quoted(was.ID)
			case now.Arguments != was.Arguments && jsonio.IsObject(was.Arguments):
				wrong = "other arguments of the call " + quoted(was.ID)
			case e.next <= before:
				wrong = "its calls in another order"
			}
		}
	}
	return found, wrong
}

// echoed looks for calls in the parts of an echo, from the one that was found last
// on, and around.
type echoed struct {
	parts []llm.Part
	next  int
	index map[string][]int // of all calls, once one was not found among the next few
}

func (e *echoed) call(id string) (c llm.ToolCall, ok bool) {
	for range min(few, len(e.parts)) {
		at := e.next % len(e.parts)
		e.next = at + 1
		if c, ok := e.parts[at].(llm.ToolCall); ok && c.ID == id {
			return c, true
		}
	}
	if len(e.parts) <= few {
		return c, false
	}
	if e.index == nil {
		e.index = map[string][]int{}
		for i, p := range e.parts {
			if c, ok := p.(llm.ToolCall); ok {
				e.index[c.ID] = append(e.index[c.ID], i)
			}
		}
	}
	at := e.index[id]
	if len(at) == 0 {
		return c, false
	}
	e.index[id] = append(at[1:], at[0])
	e.next = at[0] + 1
	c, ok = e.parts[at[0]].(llm.ToolCall)
	return c, ok
}
