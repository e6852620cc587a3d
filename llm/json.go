package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

//go:generate go run ../internal/cmd/gencodec

var (
	messageCodec  = jsonio.Codec[Message]{Encode: Message.AppendJSON, Decode: readMessage}
	toolCodec     = jsonio.Codec[Tool]{Encode: Tool.AppendJSON, Decode: readTool}
	settingsCodec = jsonio.Codec[Settings]{Encode: Settings.AppendJSON, Decode: readSettings}

	systemPartCodec = jsonio.Codec[SystemPart]{
		Encode: appendSystemPart, Decode: readSystemPart,
		Text: SystemPart.plain, OfText: func(text string) SystemPart { return SystemPart{Text: text} },
	}

	// Package trace has the types of these codecs within its events.
	_ = jsonio.Register(
		messageCodec, toolCodec, settingsCodec, systemPartCodec,
		jsonio.Codec[[]Part]{Decode: readParts},
		jsonio.Codec[ToolResult]{Encode: appendResult, Decode: readResult},
		jsonio.Codec[Usage]{Encode: Usage.AppendJSON, Decode: readUsage},
	)
)

// The JSON forms. Each AppendJSON writes the only encoding of a value. Members have a fixed
// order and are absent where they are empty. The JSON has no insignificant space and no HTML
// escapes. A string that is not UTF-8 is written as base64 under its name and "_b64". Decoders
// accept any order and ignore unknown members.

// coder codes the members of the JSON forms. Its other methods are generated from the types.
type coder struct{ *jsonio.Coder }

var encoder = coder{jsonio.Encoder}

// maxDepth is the maximum depth of tool results in tool results. No tool returns nested results;
// the limit bounds the time for malicious input.
const (
	maxDepth = 100
	tooDeep  = "tool results are nested in each other more than 100 deep"
)

func (c coder) toolChoice(dst jsonio.Out, key string, v *ToolChoice) jsonio.Out {
	if c.Encoding && *v != (ToolChoice{}) {
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

// system codes a system prompt: a string if it is one text without a mark.
func (c coder) system(dst jsonio.Out, key string, v *System) jsonio.Out {
	return systemPartCodec.TextOrList(c.Coder, dst, key, (*[]SystemPart)(v))
}

func (p SystemPart) plain() string {
	if p.CacheMark {
		return ""
	}
	return p.Text
}

func appendSystemPart(p SystemPart, dst []byte) []byte {
	return append(encoder.systemPart(append(dst, '{'), &p), '}')
}

// AppendJSON appends the message's JSON.
func (m Message) AppendJSON(dst []byte) []byte {
	return append(encoder.message(append(dst, '{'), &m), '}')
}

// AppendJSON appends the usage's JSON: input and output always, the rest where
// it is not zero.
func (u Usage) AppendJSON(dst []byte) []byte {
	return append(encoder.usage(append(dst, '{'), &u), '}')
}

// AppendJSON appends the tool definition's JSON.
func (t Tool) AppendJSON(dst []byte) []byte {
	return append(encoder.tool(append(dst, '{'), &t), '}')
}

// AppendJSON appends the request's JSON.
func (r *Request) AppendJSON(dst []byte) []byte {
	return append(encoder.request(append(dst, '{'), r), '}')
}

// AppendJSON appends the JSON of the settings that are not the default.
func (s Settings) AppendJSON(dst []byte) []byte {
	return append(encoder.settings(append(dst, '{'), &s), '}')
}

// AppendParts appends a JSON array of parts.
func AppendParts(dst []byte, parts []Part) []byte {
	dst = append(dst, '[')
	for i, p := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPart(dst, p)
	}
	return append(dst, ']')
}

// AppendPart appends a part's JSON, an object with its "type".
func AppendPart(dst []byte, p Part) []byte { return appendPart(dst, p) }

// AppendEvent appends an event's JSON, an object with its "type".
func AppendEvent(dst []byte, ev Event) []byte { return appendEvent(dst, ev) }

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
func unmarshal[T any](b []byte, to *T, decode func(*jsonio.Coder) T) error {
	if !utf8.Valid(b) {
		return fmt.Errorf("llm: the JSON text is not UTF-8")
	}
	c := jsonio.Coder{Dec: jsonio.NewDec(string(b))}
	v := decode(&c)
	if err := c.Dec.End(); err != nil {
		return fmt.Errorf("llm: %w", err)
	}
	*to = v
	return nil
}

// unmarshalObject decodes an object whose type is known.
func unmarshalObject[T any](b []byte, to *T, members func(*jsonio.Coder) T) error {
	return unmarshal(b, to, func(c *jsonio.Coder) T {
		c.Begin()
		return members(c)
	})
}

// decoded decodes the members of a value of type T.
func decoded[T any](c *jsonio.Coder, members func(coder, jsonio.Out, *T) jsonio.Out) T {
	var v T
	members(coder{c}, nil, &v)
	return v
}

func readMessage(c *jsonio.Coder) Message   { return decoded(c, coder.message) }
func readUsage(c *jsonio.Coder) Usage       { return decoded(c, coder.usage) }
func readTool(c *jsonio.Coder) Tool         { return decoded(c, coder.tool) }
func readRequest(c *jsonio.Coder) Request   { return decoded(c, coder.request) }
func readSettings(c *jsonio.Coder) Settings { return decoded(c, coder.settings) }
func readResult(c *jsonio.Coder) ToolResult { return decoded(c, coder.toolResult) }

func readSystemPart(c *jsonio.Coder) SystemPart { return decoded(c, coder.systemPart) }

func appendResult(r ToolResult, dst []byte) []byte { return appendPart(dst, r) }

// parts codes a list of parts.
func (c coder) parts(dst jsonio.Out, key string, v *[]Part) jsonio.Out {
	if c.Encoding {
		return AppendParts(dst.Key(key), *v)
	}
	if c.Take(key) {
		*v = readParts(c.Coder)
		c.Advance()
	}
	return dst
}

func readParts(c *jsonio.Coder) []Part {
	if c.Dec.Null() {
		return nil
	}
	if c.Depth++; c.Depth > maxDepth {
		c.Dec.Fail(tooDeep)
	}
	var buf [8]Part // most messages have fewer
	list := buf[:0]
	for range c.Dec.Elements() {
		list = append(list, readPart(c))
	}
	c.Depth--
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}

func (c coder) partMember(dst jsonio.Out, key string, v *Part) jsonio.Out {
	if c.Encoding {
		return appendPart(dst.Key(key), *v)
	}
	if c.Take(key) {
		*v = readPart(c.Coder)
		c.Advance()
	}
	return dst
}

// typeUnknown is the type of an [Unknown] whose kind is not the type in its JSON, such as one with
// the prefix of a protocol, or is the type of a value that this version knows. The object has the
// kind as "kind" and the JSON as "raw".
const typeUnknown = "unknown"

func appendUnknown(dst jsonio.Out, u Unknown, known ...string) jsonio.Out {
	c := jsonio.Coder{Dec: jsonio.NewDec(string(u.Raw))}
	kind, from := c.Type()
	c.Rest(from)
	if c.Dec.End() == nil && kind == u.Kind && kind != typeUnknown && !slices.Contains(known, kind) {
		return jsonio.AppendRaw(dst, u.Raw)
	}
	dst = append(dst, `{"type":"`+typeUnknown+`"`...)
	dst = encoder.Text(dst, "kind", &u.Kind)
	return append(jsonio.AppendRaw(dst.Key("raw"), u.Raw), '}')
}

// readUnknown decodes the object of an [Unknown].
func readUnknown(kind string, object json.RawMessage) Unknown {
	var form struct {
		Kind    string          `json:"kind"`
		KindB64 []byte          `json:"kind_b64"`
		Raw     json.RawMessage `json:"raw"`
	}
	if kind == typeUnknown && json.Unmarshal(object, &form) == nil && len(form.Raw) > 0 {
		return Unknown{Kind: cmp.Or(form.Kind, string(form.KindB64)), Raw: form.Raw}
	}
	return Unknown{Kind: kind, Raw: object}
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Message) UnmarshalJSON(b []byte) error { return unmarshalObject(b, m, readMessage) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *Usage) UnmarshalJSON(b []byte) error { return unmarshalObject(b, u, readUsage) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tool) UnmarshalJSON(b []byte) error { return unmarshalObject(b, t, readTool) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Request) UnmarshalJSON(b []byte) error { return unmarshalObject(b, r, readRequest) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Settings) UnmarshalJSON(b []byte) error { return unmarshalObject(b, s, readSettings) }

// UnmarshalPart reads a part written by AppendPart.
func UnmarshalPart(b []byte) (p Part, err error) {
	err = unmarshal(b, &p, readPart)
	return p, err
}

// UnmarshalEvent reads an event written by AppendEvent.
func UnmarshalEvent(b []byte) (ev Event, err error) {
	err = unmarshal(b, &ev, readEvent)
	return ev, err
}
