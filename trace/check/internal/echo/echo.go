// Package echo compares a response of a model with the assistant message by which a later
// request repeats it.
package echo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/internal/signed"
)

// HasOpaque reports whether a message or one of its parts has opaque data.
func HasOpaque(m llm.Message) bool {
	return m.Opaque != nil || slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return llm.PartOpaque(p) != nil })
}

// PartName describes a part.
func PartName(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return "text"
	case llm.Reasoning:
		return "reasoning"
	case llm.Media:
		return "media"
	case llm.ToolCall:
		return "tool call " + p.ID
	case llm.ToolResult:
		return "tool result " + p.ID
	case llm.Unknown:
		return p.Kind
	}
	return "nothing"
}

// Describe returns the first call or text of a message.
func Describe(m llm.Message) string {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.ToolCall:
			return "the call " + strconv.Quote(p.ID)
		case llm.Text:
			if p.Text != "" {
				return "the text " + strconv.Quote(p.Text)
			}
		case llm.Reasoning, llm.Media, llm.ToolResult, llm.Unknown:
		}
	}
	return "other content"
}

// Difference is the first difference between the opaque data of a response and its echo.
type Difference struct {
	Kind Kind
	Part llm.Part // of the response, or an added one; nil if it is the message
}

// Kind is how opaque data differs.
type Kind int

// The kinds of differences.
const (
	Same      Kind = iota
	Changed        // other signed or encrypted data
	Moved          // the part is at another place
	Omitted        // the data or the part is missing
	Rewritten      // other opaque data, which is not signed or encrypted
	Added          // a part that the response does not have
)

// String returns the difference as in "sent back with the part text changed"; empty if there
// is none.
func (d Difference) String() string {
	how := [...]string{Changed: "changed", Moved: "moved", Omitted: "missing", Rewritten: "changed", Added: "added"}
	switch {
	case d.Kind == Same:
		return ""
	case d.Part == nil:
		return "other opaque data of the message"
	}
	if c, ok := d.Part.(llm.ToolCall); ok && !c.ProviderExecuted && d.Kind == Omitted {
		return "the part " + PartName(d.Part) + " without its opaque data"
	}
	return "the part " + PartName(d.Part) + " " + how[d.Kind]
}

// OpaqueChange compares the opaque data of the echo. The parts with opaque data, and the calls
// between them, must be the same in the same order. If the text is the same, they must also be
// at the same places in the text.
func OpaqueChange(response, echo *llm.Message, sameText bool) Difference {
	if !bytes.Equal(response.Opaque, echo.Opaque) {
		return Difference{kindOf(response.Opaque, secrets(echo.Opaque), nil), nil}
	}
	want, got := fixedParts(response.Parts), fixedParts(echo.Parts)
	for i, p := range want {
		if i >= len(got) || !samePart(p.part, got[i].part) || sameText && llm.PartOpaque(p.part) != nil && p.offset != got[i].offset {
			return explain(p.part, response.Parts, echo.Parts)
		}
	}
	if len(got) > len(want) {
		return Difference{Added, got[len(want)].part}
	}
	return Difference{}
}

// explain returns how the echo differs in a part of the response.
func explain(part llm.Part, response, echo []llm.Part) Difference {
	if slices.ContainsFunc(echo, func(p llm.Part) bool { return samePart(part, p) }) {
		return Difference{Moved, part}
	}
	collect := func(parts []llm.Part) (list []string) {
		for _, p := range parts {
			if sameKind(part, p) {
				list = append(list, secrets(llm.PartOpaque(p))...)
			}
		}
		return list
	}
	d := Difference{kindOf(llm.PartOpaque(part), collect(echo), collect(response)), part}
	isData := func(p llm.Part) bool { return sameKind(part, p) && llm.PartOpaque(p) != nil }
	if d.Kind == Rewritten && !slices.ContainsFunc(echo, isData) {
		d.Kind = Omitted
	}
	r, ok := part.(llm.Reasoning)
	signs := func(p llm.Part) bool { return sameKind(part, p) && bytes.Equal(llm.PartOpaque(p), r.Opaque) }
	if ok && len(secrets(r.Opaque)) > 0 && slices.ContainsFunc(echo, signs) {
		d.Kind = Changed // the text of reasoning with its signature
	}
	return d
}

// kindOf returns how opaque data differs from an echo with these secrets. Own are those of all
// parts of the response.
func kindOf(opaque json.RawMessage, sent, own []string) Kind {
	want := secrets(opaque)
	own = append(own, want...)
	lost := slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(sent, s) })
	other := slices.ContainsFunc(sent, func(s string) bool { return !slices.Contains(own, s) })
	switch {
	case lost && other:
		return Changed
	case lost:
		return Omitted
	}
	return Rewritten
}

// sameKind reports whether two parts are of the same kind, and calls have the same id.
func sameKind(a, b llm.Part) bool {
	switch a := a.(type) {
	case llm.ToolCall:
		b, ok := b.(llm.ToolCall)
		return ok && a.ID == b.ID
	case llm.Unknown:
		b, ok := b.(llm.Unknown)
		return ok && a.Kind == b.Kind
	default:
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
}

// secrets returns the values of the members in [signed.Members], at any depth.
func secrets(opaque json.RawMessage) (list []string) {
	if opaque == nil || !jsonio.Valid(opaque) {
		return nil
	}
	d := jsonio.NewDec(jsonio.View(opaque))
	appendSecrets(&d, &list)
	return list
}

func appendSecrets(d *jsonio.Dec, list *[]string) {
	switch d.Peek() {
	case '{':
		for key := range d.Members() {
			if d.Peek() == '"' && slices.Contains(signed.Members, key) {
				if text := d.String(); text != "" {
					*list = append(*list, text)
				}
				continue
			}
			appendSecrets(d, list)
		}
	case '[':
		for range d.Elements() {
			appendSecrets(d, list)
		}
	default:
		d.Raw()
	}
}

// fixedPart is a part and its offset in the text of the message, without spaces.
type fixedPart struct {
	part   llm.Part
	offset int
}

// fixedParts returns the parts that must stay at their places.
func fixedParts(parts []llm.Part) []fixedPart {
	var out []fixedPart
	offset := 0
	for _, p := range parts {
		if _, ok := p.(llm.ToolCall); ok || llm.PartOpaque(p) != nil {
			out = append(out, fixedPart{p, offset})
		}
		if t, ok := p.(llm.Text); ok {
			for _, word := range strings.Fields(t.Text) {
				offset += len(word)
			}
		}
	}
	return out
}

// samePart compares the kinds and the opaque data of parts. It compares the text of reasoning
// as well, because the signature signs it, and only the id of a call; see INV-09.
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

// Content is what a response contains: its text and reasoning, without surrounding space, and
// the numbers of its calls, and of its media and provider-executed calls.
type Content struct {
	Text, Reasoning string
	Calls           int
	others          int
}

// ContentOf returns the content of parts.
func ContentOf(parts []llm.Part) (c Content) {
	var text, reasoning []string
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if !p.Refusal {
				text = append(text, p.Text)
			}
		case llm.Reasoning:
			reasoning = append(reasoning, p.Text)
		case llm.ToolCall:
			if p.ProviderExecuted {
				c.others++
			} else {
				c.Calls++
			}
		case llm.Media, llm.ToolResult:
			c.others++
		case llm.Unknown: // opaque data
		}
	}
	c.Text, c.Reasoning = strings.TrimSpace(strings.Join(text, "")), strings.TrimSpace(strings.Join(reasoning, ""))
	return c
}

// Change returns what differs between two contents, with their parts; empty if nothing.
func (c Content) Change(is Content, parts, echo []llm.Part) string {
	switch {
	case c.Text != is.Text:
		return "another text"
	case c.Reasoning != is.Reasoning:
		return "other reasoning"
	case c.others+is.others > 0 && !bytes.Equal(encodeOthers(parts), encodeOthers(echo)):
		return "other media or provider-executed calls"
	}
	return ""
}

func encodeOthers(parts []llm.Part) (out []byte) {
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

// RepeatedCalls returns the number of calls that the echo has, and the change of the last
// changed or moved one. The loop may repair what no provider accepts: a call without a name,
// arguments that are not an object.
func RepeatedCalls(response, echo []llm.Part) (found int, wrong string) {
	f := callFinder{parts: echo}
	for _, p := range response {
		was, ok := p.(llm.ToolCall)
		if !ok || was.ProviderExecuted {
			continue
		}
		before := f.next
		if now, ok := f.find(was.ID); ok {
			found++
			switch {
			case was.Name != "" && now.Name != was.Name:
				wrong = "the call " + strconv.Quote(was.ID) + " of another tool"
			case cmp.Or(now.ProviderID, now.ID) != cmp.Or(was.ProviderID, was.ID):
				wrong = "another provider id for the call " + strconv.Quote(was.ID)
			case now.Arguments != was.Arguments && jsonio.IsObject(was.Arguments):
				wrong = "other arguments of the call " + strconv.Quote(was.ID)
			case f.next <= before:
				wrong = "its calls in another order"
			}
		}
	}
	return found, wrong
}

// RenamedCall returns the first call with another id in the echo, if that has the same number of
// calls in the same order, and each one has its id or, with an id that no call of the response has,
// its name or its arguments. Otherwise it returns "".
func RenamedCall(response, echo []llm.Part) (id string) {
	was, is := llm.Message{Parts: response}.Calls(), llm.Message{Parts: echo}.Calls()
	same := func(a, b llm.ToolCall) bool { return a.ID == b.ID }
	if len(was) != len(is) || slices.EqualFunc(was, is, same) {
		return ""
	}
	ids := make(map[string]bool, len(was))
	for _, c := range was {
		ids[c.ID] = true
	}
	for i, c := range was {
		now := is[i]
		switch {
		case now.ID == c.ID:
		case ids[now.ID] || now.Name != c.Name && now.Arguments != c.Arguments:
			return ""
		default:
			id = cmp.Or(id, c.ID)
		}
	}
	return id
}

// few is the number of parts that are searched before there is an index.
const few = 32

// callFinder finds calls in parts, beginning after the one that was found last.
type callFinder struct {
	parts []llm.Part
	next  int
	index map[string][]int // of all calls, once a call is not among the next few parts
}

func (f *callFinder) find(id string) (c llm.ToolCall, ok bool) {
	for range min(few, len(f.parts)) {
		at := f.next % len(f.parts)
		f.next = at + 1
		if c, ok := f.parts[at].(llm.ToolCall); ok && c.ID == id {
			return c, true
		}
	}
	if len(f.parts) <= few {
		return c, false
	}
	if f.index == nil {
		f.index = map[string][]int{}
		for i, p := range f.parts {
			if c, ok := p.(llm.ToolCall); ok {
				f.index[c.ID] = append(f.index[c.ID], i)
			}
		}
	}
	at := f.index[id]
	if len(at) == 0 {
		return c, false
	}
	f.index[id] = append(at[1:], at[0])
	f.next = at[0] + 1
	c, ok = f.parts[at[0]].(llm.ToolCall)
	return c, ok
}
