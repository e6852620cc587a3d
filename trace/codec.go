package trace

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

//go:generate go run ../internal/cmd/gencodec

// coder codes events. Its other methods are generated from the types.
type coder struct{ *jsonio.Coder }

type scope = jsonio.Scope

// The codecs of package llm.
var (
	codeMessage  = jsonio.CodecOf[llm.Message]()
	codeParts    = jsonio.CodecOf[[]llm.Part]()
	codeTool     = jsonio.CodecOf[llm.Tool]()
	codeSettings = jsonio.CodecOf[llm.Settings]()
	codeUsage    = jsonio.CodecOf[llm.Usage]()
	codeResult   = jsonio.CodecOf[llm.ToolResult]()
)

func (c coder) message(s scope, v *llm.Message)   { codeValue(c, s, v, codeMessage) }
func (c coder) tool(s scope, v *llm.Tool)         { codeValue(c, s, v, codeTool) }
func (c coder) settings(s scope, v *llm.Settings) { codeValue(c, s, v, codeSettings) }
func (c coder) usage(s scope, v *llm.Usage)       { codeValue(c, s, v, codeUsage) }

// codeValue codes *v. It does not write what it encodes: several goroutines may encode an event.
func codeValue[T any](c coder, s scope, v *T, code jsonio.Codec[T]) {
	if x := code(c.Coder, s, *v); c.Decoding {
		*v = x
	}
}

func (c coder) parts(key string, v *[]llm.Part) {
	if c.Take(key) {
		codeValue(c, scope{}, v, codeParts)
	}
}

// The methods for types that the generator does not know.

func (c coder) toolChoice(key string, v *llm.ToolChoice) {
	if !c.Decoding && *v == (llm.ToolChoice{}) {
		return
	}
	text := v.String()
	c.Text(key, &text)
	if c.Decoding && text != v.String() && v.UnmarshalText([]byte(text)) != nil {
		c.Dec.Fail("tool_choice is none of auto, required, none and tool:NAME")
	}
}

func (c coder) resultPart(key string, v *llm.ToolResult) {
	const kind = "tool_result"
	if !c.Take(key) {
		return
	}
	if !c.Decoding {
		codeResult(c.Coder, c.Typed(kind), *v)
		return
	}
	found, s := c.Type()
	if found == kind {
		*v = codeResult(c.Coder, s, *v)
		return
	}
	c.Rest(s)
	c.Dec.Fail(`expected a part of type "` + kind + `"`)
}

func (c coder) usageBy(key string, v *map[Purpose]llm.Usage) {
	switch {
	case !c.Decoding && len(*v) == 0 || !c.Take(key):
	case c.Decoding:
		*v = map[Purpose]llm.Usage{}
		for name := range c.Dec.Members() {
			name = c.Intern(name)
			var u llm.Usage
			c.usage(c.Element(), &u)
			(*v)[Purpose(name)] = u
		}
	default:
		c.Dst = append(c.Dst, '{')
		var buf [8]Purpose
		for _, p := range jsonio.SortedKeys(buf[:0], *v) {
			c.Name(string(p))
			u := (*v)[p]
			c.usage(c.Element(), &u)
		}
		c.Dst = append(c.Dst, '}')
	}
}

// options codes an object in the order of the options. It does not quote integers and booleans.
func (c coder) options(key string, v *Options) {
	switch {
	case !c.Decoding && len(*v) == 0 || !c.Take(key):
	case c.Decoding:
		*v = nil
		for name := range c.Dec.Members() {
			o := Option{Name: strings.TrimSuffix(name, base64Suffix)}
			switch c.Dec.Peek() {
			case '"':
				o.Value = c.Dec.Text(name)
			case '{', '[':
				c.Dec.Fail("an option is a word, a number, true, false or null")
			default:
				o.Value = c.Dec.Raw()
			}
			*v = append(*v, o)
		}
	default:
		for i, o := range *v {
			c.Dst = append(c.Dst, "{,"[min(i, 1)])
			if isBare(o.Value) && !strings.HasSuffix(o.Name, base64Suffix) {
				c.Dst = append(append(jsonio.AppendString(c.Dst, o.Name), ':'), o.Value...)
				continue
			}
			c.Dst = jsonio.AppendNamed(c.Dst, o.Name, o.Value)
		}
		c.Dst = append(c.Dst, '}')
	}
}

const base64Suffix = "_b64"

// isBare reports whether an option's value is written without quotes: an integer of at most 18
// digits, without a leading zero, or a boolean.
func isBare(v string) bool {
	digits := strings.TrimPrefix(v, "-")
	if v == "true" || v == "false" || digits == "0" {
		return true
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return digits != "" && digits[0] != '0' && len(digits) <= 18
}

// unknown encodes the members of Raw that are not members of the envelope, and ends the event.
func (c coder) unknown(s scope, u *Unknown) {
	d := jsonio.NewDec(string(u.Raw))
	for c.Next(&s, nil) {
		if u.Raw == nil {
			continue
		}
		if !jsonio.Valid(u.Raw) || d.Peek() != '{' {
			c.Raw("raw", &u.Raw)
			continue
		}
		for name := range d.Members() {
			value := d.Raw()
			if !slices.Contains(envelope, name) {
				c.Name(name)
				c.Dst = jsonio.AppendRaw(c.Dst, []byte(value))
			}
		}
	}
}

// envelope are the members of every event.
var envelope = []string{
	"seq", "run", "run_b64", "step", "attempt", "purpose", "purpose_b64", "at", "kind",
}

// kind returns the kind of the body; empty for none.
func (ev *Event) kind() Kind {
	if ev.Body == nil {
		return ""
	}
	return ev.Body.Kind()
}

// MarshalJSON implements json.Marshaler.
func (ev *Event) MarshalJSON() ([]byte, error) { return ev.AppendJSON(nil), nil }

// UnmarshalJSON decodes one line of a trace file, as [Event.AppendJSON] encodes it. It does not
// verify hashes, because they depend on the earlier lines.
//
// Members may have any order; unknown members are ignored. Strings of the event share the memory
// of one copy of line.
func (ev *Event) UnmarshalJSON(line []byte) error {
	x := newDecoder()
	got, err := x.line(line)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	*ev = got
	return nil
}

// decoder decodes lines.
type decoder struct {
	coder
	state jsonio.Coder
	mem   jsonio.Arena // of the lines' strings
	run   string       // of the last line
	// version is the version of the lines; 0 means unknown.
	version int
	ev      Event
	hash    string // of a request
}

func newDecoder() *decoder {
	x := &decoder{}
	x.Coder = &x.state
	x.Decoding, x.Other = true, x.other
	return x
}

// line decodes a line. If it returns an error, the event contains the run that the line names, if
// the decoder reached it.
func (x *decoder) line(line []byte) (Event, error) {
	if !jsonio.ValidUTF8(line) {
		return Event{}, fmt.Errorf("the line is not UTF-8 (byte %d)", invalidAt(line)+1)
	}
	text := x.mem.String(line)
	x.Dec = jsonio.NewDecIn(&x.mem, text)
	x.Dec.Version = x.version
	x.ev, x.hash, x.Recorded = Event{Step: NoStep}, "", x.Recorded[:0]
	s := x.Root()
	x.event(&x.ev) // in the usual order
	if kind, ok := x.kind(text); ok {
		x.ev.Body = x.decode(s, kind)
	}
	if x.ev.Run == x.run {
		x.ev.Run = x.run
	} else {
		x.run = strings.Clone(x.ev.Run)
		x.ev.Run = x.run
	}
	if err := x.Dec.End(); err != nil {
		return Event{Run: x.ev.Run}, err
	}
	if x.Dec.Version == 1 {
		v1Words.replace(&x.ev)
	}
	return x.ev, nil
}

// kind reads the kind of an event if it comes next. Otherwise it searches the line.
func (x *decoder) kind(line string) (Kind, bool) {
	if x.Take("kind") {
		return Kind(x.Dec.String()), true
	}
	ahead := jsonio.NewDec(line)
	for name := range ahead.Members() {
		if name == "kind" {
			return Kind(ahead.String()), true
		}
		ahead.Skip()
	}
	for name := range x.Dec.MembersAfter(x.First()) {
		if !x.other(name) {
			break
		}
	}
	x.Dec.Fail(`the event has no "kind"`)
	return "", false
}

// other reads a member that the body does not have.
func (x *decoder) other(name string) bool {
	switch name {
	case "kind":
		_ = x.Dec.String()
	case "hash":
		if !x.Record {
			return false
		}
		x.hash = x.Dec.String()
	default:
		return x.Named(name, func() { x.event(&x.ev) })
	}
	return true
}

// body decodes the body of an event of the given kind. A line of unknown version with a kind of
// version 1 has version 1.
func (x *decoder) decode(s scope, kind Kind) Body {
	if now, ok := v1Kinds[kind]; ok && x.Dec.Version < 2 {
		kind, x.Dec.Version = now, 1
	}
	x.Record = kind == KindModelRequest
	var body Body
	if x.body(s, kind, &body) {
		return body
	}
	u := Unknown{Name: Kind(strings.Clone(string(kind))), Raw: []byte{'{'}}
	for name := range x.Dec.MembersAfter(x.First()) {
		if x.other(name) {
			continue
		}
		if len(u.Raw) > 1 {
			u.Raw = append(u.Raw, ',')
		}
		u.Raw = append(jsonio.AppendString(u.Raw, name), ':')
		u.Raw = jsonio.AppendRaw(u.Raw, []byte(x.Dec.Raw()))
	}
	u.Raw = append(u.Raw, '}')
	x.End(s)
	return u
}

// code codes the members of a body of type T.
func code[T Body](c coder, s scope, v *Body, members func(coder, scope, *T)) {
	b, _ := (*v).(T)
	if members(c, s, &b); c.Decoding {
		*v = b
	}
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(b []byte) int {
	i := 0
	for {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
}
