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

// coder codes the members of events. Its other methods are generated from the types.
type coder struct {
	*jsonio.Coder
	// recorded, if set, gets the encoded messages of a request.
	recorded *[]string
}

var encoder = coder{Coder: jsonio.Encoder}

// The codecs of the types that are members of events.
var (
	messageCodec  = jsonio.CodecOf[llm.Message]()
	partsCodec    = jsonio.CodecOf[[]llm.Part]()
	toolCodec     = jsonio.CodecOf[llm.Tool]()
	settingsCodec = jsonio.CodecOf[llm.Settings]()
	usageCodec    = jsonio.CodecOf[llm.Usage]()
	resultCodec   = jsonio.CodecOf[llm.ToolResult]()
	promptCodec   = jsonio.CodecOf[llm.SystemPart]()
	errorCodec    = jsonio.Codec[Error]{Encode: appendError, Decode: readError}
	parentCodec   = jsonio.Codec[Parent]{Encode: appendParent, Decode: readParent}
	toolInfoCodec = jsonio.Codec[ToolInfo]{Encode: appendToolInfo, Decode: readToolInfo}
)

func readError(c *jsonio.Coder) Error       { return decoded(coder{Coder: c}, coder.error) }
func readParent(c *jsonio.Coder) Parent     { return decoded(coder{Coder: c}, coder.parent) }
func readToolInfo(c *jsonio.Coder) ToolInfo { return decoded(coder{Coder: c}, coder.toolInfo) }

func appendError(v Error, dst []byte) []byte {
	return append(encoder.error(append(dst, '{'), &v), '}')
}

func appendParent(v Parent, dst []byte) []byte {
	return append(encoder.parent(append(dst, '{'), &v), '}')
}

func appendToolInfo(v ToolInfo, dst []byte) []byte {
	return append(encoder.toolInfo(append(dst, '{'), &v), '}')
}

// decoded decodes the members of a value of type T.
func decoded[T any](c coder, members func(coder, jsonio.Out, *T) jsonio.Out) T {
	var v T
	members(c, nil, &v)
	return v
}

// The methods for types that the generator does not know.

// newMessages codes the messages of a request and records them.
func (c coder) newMessages(dst jsonio.Out, key string, v *[]llm.Message) jsonio.Out {
	switch {
	case c.Encoding && len(*v) > 0:
		dst = dst.Key(key)
		for i, m := range *v {
			dst = append(dst, "[,"[min(i, 1)])
			from := len(dst)
			if dst = m.AppendJSON(dst); c.recorded != nil {
				*c.recorded = append(*c.recorded, jsonio.View(dst[from:]))
			}
		}
		return append(dst, ']')
	case c.Take(key):
		*v = nil
		for range c.Dec.Elements() {
			from := c.Dec.Offset()
			c.Begin()
			*v = append(*v, messageCodec.Decode(c.Coder))
			*c.recorded = append(*c.recorded, c.Dec.Since(from))
		}
		c.Advance()
	}
	return dst
}

func (c coder) parts(dst jsonio.Out, key string, v *[]llm.Part) jsonio.Out {
	switch {
	case c.Encoding:
		return llm.AppendParts(dst.Key(key), *v)
	case c.Take(key):
		*v = partsCodec.Decode(c.Coder)
		c.Advance()
	}
	return dst
}

func (c coder) toolChoice(dst jsonio.Out, key string, v *llm.ToolChoice) jsonio.Out {
	if c.Encoding && *v != (llm.ToolChoice{}) {
		text := v.String()
		return c.Text(dst, key, &text)
	}
	if text, ok := c.TakeText(key); ok {
		if v.UnmarshalText([]byte(text)) != nil {
			c.Dec.Fail("tool_choice is none of auto, required, none and tool:NAME")
		}
		c.Advance()
	}
	return dst
}

func (c coder) system(dst jsonio.Out, key string, v *llm.System) jsonio.Out {
	return promptCodec.TextOrList(c.Coder, dst, key, (*[]llm.SystemPart)(v))
}

func (c coder) resultPart(dst jsonio.Out, key string, v *llm.ToolResult) jsonio.Out {
	const kind = "tool_result"
	switch {
	case c.Encoding:
		return resultCodec.Encode(*v, dst.Key(key))
	case c.Take(key):
		if found, from := c.Type(); found == kind {
			*v = resultCodec.Decode(c.Coder)
		} else {
			c.Rest(from)
			c.Dec.Fail(`expected a part of type "` + kind + `"`)
		}
		c.Advance()
	}
	return dst
}

func (c coder) usageBy(dst jsonio.Out, key string, v *map[Purpose]llm.Usage) jsonio.Out {
	switch {
	case c.Encoding && len(*v) > 0:
		dst = append(dst.Key(key), '{')
		var buf [8]Purpose
		for _, p := range jsonio.SortedKeys(buf[:0], *v) {
			dst = (*v)[p].AppendJSON(dst.Name(string(p)))
		}
		return append(dst, '}')
	case c.Take(key):
		*v = map[Purpose]llm.Usage{}
		for name := range c.Dec.Members() {
			c.Begin()
			(*v)[Purpose(c.Intern(name))] = usageCodec.Decode(c.Coder)
		}
		c.Advance()
	}
	return dst
}

// options codes an object in the order of the options. It does not quote integers and booleans.
func (c coder) options(dst jsonio.Out, key string, v *Options) jsonio.Out {
	switch {
	case c.Encoding && len(*v) > 0:
		dst = dst.Key(key)
		for i, o := range *v {
			dst = append(dst, "{,"[min(i, 1)])
			if isBare(o.Value) && !strings.HasSuffix(o.Name, base64Suffix) {
				dst = append(append(jsonio.AppendString(dst, o.Name), ':'), o.Value...)
				continue
			}
			dst = jsonio.AppendNamed(dst, o.Name, o.Value)
		}
		return append(dst, '}')
	case c.Take(key):
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
		c.Advance()
	}
	return dst
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

// appendUnknown encodes a body of which the codec has no type.
func appendUnknown(dst jsonio.Out, body Body) jsonio.Out {
	dst = jsonio.AppendString(dst.Key("kind"), string(kindOf(body)))
	u, _ := body.(Unknown)
	return u.append(dst)
}

// kindOf returns the kind of a body; empty for none.
func kindOf(body Body) Kind {
	if body == nil {
		return ""
	}
	return body.Kind()
}

// append appends the members of Raw that are not members of the envelope.
func (u Unknown) append(dst jsonio.Out) jsonio.Out {
	d := jsonio.NewDec(string(u.Raw))
	if !jsonio.Valid(u.Raw) || d.Peek() != '{' {
		return encoder.Raw(dst, "raw", &u.Raw)
	}
	for name := range d.Members() {
		value := d.Raw()
		if !slices.Contains(envelope, name) {
			dst = jsonio.AppendRaw(dst.Name(name), []byte(value))
		}
	}
	return dst
}

// envelope are the members of every event.
var envelope = []string{
	"seq", "run", "run_b64", "step", "attempt", "purpose", "purpose_b64", "at", "kind",
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
	state    jsonio.Coder
	messages []string     // of a request, encoded
	mem      jsonio.Arena // of the lines' strings
	run      string       // of the last line
	// version is the version of the lines; 0 means unknown.
	version int
	ev      Event
	request bool   // the event is a request
	hash    string // of a request
}

func newDecoder() *decoder {
	x := &decoder{}
	x.coder = coder{&x.state, &x.messages}
	x.Other = x.other
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
	x.ev, x.hash, x.messages = Event{Step: NoStep}, "", x.messages[:0]
	x.Begin()
	x.event(nil, &x.ev) // in the usual order
	if kind, ok := x.kind(text); ok {
		x.ev.Body = x.body(kind)
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

// kind decodes the kind of an event if it comes next. Otherwise it searches the line.
func (x *decoder) kind(line string) (Kind, bool) {
	if x.Take("kind") {
		kind := Kind(x.Dec.String())
		x.Advance()
		return kind, true
	}
	ahead := jsonio.NewDec(line)
	for name := range ahead.Members() {
		if name == "kind" {
			return Kind(ahead.String()), true
		}
		ahead.Skip()
	}
	for name, ok := x.Member(); ok && x.other(name); {
		name, ok = x.Member()
	}
	x.Dec.Fail(`the event has no "kind"`)
	return "", false
}

// other decodes a member that the body does not have.
func (x *decoder) other(name string) bool {
	switch {
	case name == "kind":
		_ = x.Dec.String()
	case name == "hash" && x.request:
		x.hash = x.Dec.String()
	case slices.Contains(envelope, name):
		x.event(nil, &x.ev)
		return true
	default:
		return false
	}
	x.Advance()
	return true
}

// body decodes the body of an event of the given kind. A line of unknown version with a kind of
// version 1 has version 1.
func (x *decoder) body(kind Kind) Body {
	if now, ok := v1Kinds[kind]; ok && x.Dec.Version < 2 {
		kind, x.Dec.Version = now, 1
	}
	x.request = kind == KindModelRequest
	if body := x.readBody(kind); body != nil {
		return body
	}
	u := Unknown{Name: Kind(strings.Clone(string(kind))), Raw: []byte{'{'}}
	for name, ok := x.Member(); ok; name, ok = x.Member() {
		if x.other(name) {
			continue
		}
		if len(u.Raw) > 1 {
			u.Raw = append(u.Raw, ',')
		}
		u.Raw = append(jsonio.AppendString(u.Raw, name), ':')
		u.Raw = jsonio.AppendRaw(u.Raw, []byte(x.Dec.Raw()))
		x.Advance()
	}
	u.Raw = append(u.Raw, '}')
	return u
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
