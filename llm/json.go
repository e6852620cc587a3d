package llm

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

//go:generate go run ../internal/cmd/gencodec

// The codecs of the types that events of package trace contain.
var _ = jsonio.Register(
	jsonio.Codec[Message](func(c *jsonio.Coder, s scope, v Message) Message {
		coder{c}.message(s, &v)
		return v
	}),
	jsonio.Codec[[]Part](func(c *jsonio.Coder, _ scope, v []Part) []Part {
		coder{c}.list(&v)
		return v
	}),
	jsonio.Codec[ToolResult](func(c *jsonio.Coder, s scope, v ToolResult) ToolResult {
		coder{c}.toolResult(s, &v)
		return v
	}),
	jsonio.Codec[Tool](func(c *jsonio.Coder, s scope, v Tool) Tool {
		coder{c}.tool(s, &v)
		return v
	}),
	jsonio.Codec[Settings](func(c *jsonio.Coder, s scope, v Settings) Settings {
		coder{c}.settings(s, &v)
		return v
	}),
	jsonio.Codec[Usage](func(c *jsonio.Coder, s scope, v Usage) Usage {
		coder{c}.usage(s, &v)
		return v
	}),
)

// The JSON forms. Each AppendJSON writes the only encoding of a value. Members have a fixed
// order and are absent where they are empty. The JSON has no insignificant space and no HTML
// escapes. A string that is not UTF-8 is written as base64 under its name and "_b64". Decoders
// accept any order and ignore unknown members.

// coder codes the JSON forms. Its other methods are generated from the types.
type coder struct{ *jsonio.Coder }

type scope = jsonio.Scope

// maxDepth is the maximum depth of tool results in tool results. No tool returns nested results;
// the limit bounds the time for malicious input.
const (
	maxDepth = 100
	tooDeep  = "tool results are nested in each other more than 100 deep"
)

func encoder(dst []byte) coder { return coder{&jsonio.Coder{Dst: dst}} }

func (c coder) toolChoice(key string, v *ToolChoice) {
	if !c.Decoding && *v == (ToolChoice{}) {
		return
	}
	text := v.String()
	c.Text(key, &text)
	if c.Decoding && text != v.String() && v.UnmarshalText([]byte(text)) != nil {
		c.Dec.Fail("tool_choice is none of auto, required, none and tool:NAME")
	}
}

// UnmarshalText parses the form that [ToolChoice.String] returns.
func (c *ToolChoice) UnmarshalText(b []byte) error {
	mode, name, named := strings.Cut(string(b), ":")
	switch {
	case string(b) == "auto":
		*c = ToolChoice{}
	case string(b) == string(ChooseRequired), string(b) == string(ChooseNone):
		*c = ToolChoice{Mode: ToolMode(b)}
	case named && mode == string(ChooseTool):
		*c = ToolChoice{Mode: ChooseTool, Name: name}
	default:
		return fmt.Errorf("llm: unknown tool choice %q: want auto, required, none or tool:NAME", b)
	}
	return nil
}

// AppendJSON appends the message's JSON.
func (m Message) AppendJSON(dst []byte) []byte {
	c := encoder(dst)
	c.message(c.Element(), &m)
	return c.Dst
}

// AppendJSON appends the usage's JSON: input and output always, the rest where
// it is not zero.
func (u Usage) AppendJSON(dst []byte) []byte {
	c := encoder(dst)
	c.usage(c.Element(), &u)
	return c.Dst
}

// AppendJSON appends the tool definition's JSON.
func (t Tool) AppendJSON(dst []byte) []byte {
	c := encoder(dst)
	c.tool(c.Element(), &t)
	return c.Dst
}

// AppendJSON appends the request's JSON.
func (r *Request) AppendJSON(dst []byte) []byte {
	c := encoder(dst)
	c.request(c.Element(), r)
	return c.Dst
}

// AppendJSON appends the JSON of the settings that are not the default.
func (s Settings) AppendJSON(dst []byte) []byte {
	c := encoder(dst)
	c.settings(c.Element(), &s)
	return c.Dst
}

// AppendParts appends a JSON array of parts.
func AppendParts(dst []byte, parts []Part) []byte {
	dst = append(dst, '[')
	for i, p := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendPart(dst, p)
	}
	return append(dst, ']')
}

// AppendPart appends a part's JSON, an object with its "type".
func AppendPart(dst []byte, p Part) []byte {
	c := encoder(dst)
	c.part(&p)
	return c.Dst
}

// AppendEvent appends an event's JSON, an object with its "type".
func AppendEvent(dst []byte, ev Event) []byte {
	c := encoder(dst)
	c.event(&ev)
	return c.Dst
}

// MarshalJSON implements json.Marshaler.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler.
func (u Usage) MarshalJSON() ([]byte, error) { return u.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler.
func (t Tool) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler.
func (r *Request) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler.
func (s Settings) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// unmarshal decodes one JSON text.
func unmarshal[T any](b []byte, to *T, decode func(coder, *T)) error {
	if !utf8.Valid(b) {
		return fmt.Errorf("llm: the JSON text is not UTF-8")
	}
	var v T
	c := coder{&jsonio.Coder{Dec: jsonio.NewDec(string(b)), Decoding: true}}
	decode(c, &v)
	if err := c.Dec.End(); err != nil {
		return fmt.Errorf("llm: %w", err)
	}
	*to = v
	return nil
}

// parts codes a list of parts.
func (c coder) parts(key string, v *[]Part) (found bool) {
	if !c.Take(key) {
		return false
	}
	c.list(v)
	return true
}

func (c coder) list(v *[]Part) {
	switch {
	case !c.Decoding:
		c.Dst = append(c.Dst, '[')
		for i := range *v {
			if i > 0 {
				c.Dst = append(c.Dst, ',')
			}
			c.part(&(*v)[i])
		}
		c.Dst = append(c.Dst, ']')
		return
	case c.Dec.Null():
		*v = nil
		return
	}
	if c.Depth++; c.Depth > maxDepth {
		c.Dec.Fail(tooDeep)
	}
	var buf [8]Part // most messages have fewer
	list := buf[:0]
	for range c.Dec.Elements() {
		var x Part
		c.part(&x)
		list = append(list, x)
	}
	c.Depth--
	*v = nil
	if len(list) > 0 {
		*v = slices.Clone(list)
	}
}

// decoded decodes the members of a value of type T.
func decoded[T any](c coder, s scope, members func(coder, scope, *T)) T {
	var v T
	members(c, s, &v)
	return v
}

// object returns the decoder of an object.
func object[T any](members func(coder, scope, *T)) func(coder, *T) {
	return func(c coder, v *T) { members(c, c.Element(), v) }
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Message) UnmarshalJSON(b []byte) error { return unmarshal(b, m, object(coder.message)) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *Usage) UnmarshalJSON(b []byte) error { return unmarshal(b, u, object(coder.usage)) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tool) UnmarshalJSON(b []byte) error { return unmarshal(b, t, object(coder.tool)) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Request) UnmarshalJSON(b []byte) error { return unmarshal(b, r, object(coder.request)) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Settings) UnmarshalJSON(b []byte) error { return unmarshal(b, s, object(coder.settings)) }

// UnmarshalPart reads a part written by AppendPart.
func UnmarshalPart(b []byte) (p Part, err error) {
	err = unmarshal(b, &p, coder.part)
	return p, err
}

// UnmarshalEvent reads an event written by AppendEvent.
func UnmarshalEvent(b []byte) (ev Event, err error) {
	err = unmarshal(b, &ev, coder.event)
	return ev, err
}
