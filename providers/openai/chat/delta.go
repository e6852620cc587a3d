package chat

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/internal/codec"
)

// delta contains the members of the choice in a chunk or in a non-streaming response.
type delta struct {
	content, refusal string
	parts            []contentPart // of a content that is an array
	reasoning, field string        // the text, and the field that it came in
	details          jsonio.Dec    // a reader of the reasoning_details
	calls            []callDelta
	message, choice  codec.Members // the unknown members of it and of the choice
	transcript       string        // the words of a sound
}

type contentPart struct {
	kind string // text, thinking or refusal
	text string
}

type callDelta struct {
	index          int // -1 if it is missing
	id, name, args string
	opaque         json.RawMessage // the members that are none of these
}

func (c *delta) read(d *jsonio.Dec) {
	codec.Read(d, func(key string) { addKept(&c.message, d, key) },
		"role", nil,
		"content", func() { c.readContent(d) },
		"refusal", &c.refusal,
		reasoningContent, func() { c.readReasoning(d, reasoningContent) },
		reasoningField, func() { c.readReasoning(d, reasoningField) },
		"reasoning_details", &c.details,
		"tool_calls", func() {
			for range codec.Items(d) {
				c.addCall(d, -1, (*callDelta).read)
			}
		},
		functionCall, func() { c.addCall(d, 0, (*callDelta).readFunction) },
		keyAudio, func() {
			raw := d.Raw()
			c.transcript = codec.GetString(raw, "transcript")
			c.message.AddRaw(keyAudio, raw)
		})
}

func (c *delta) addCall(d *jsonio.Dec, index int, read func(*callDelta, *jsonio.Dec)) {
	if d.Peek() != '{' {
		d.Skip()
		return
	}
	c.calls = append(c.calls, callDelta{index: index})
	read(&c.calls[len(c.calls)-1], d)
}

// readReasoning uses the first member with text. Some servers send the same text in two
// members.
func (c *delta) readReasoning(d *jsonio.Dec, field string) {
	if d.Peek() != '"' {
		d.Skip()
		return
	}
	if s := d.String(); c.reasoning == "" {
		c.reasoning, c.field = s, field
	}
}

func (c *delta) readContent(d *jsonio.Dec) {
	if d.Peek() != '[' {
		c.content = codec.String(d)
		return
	}
	for range d.Elements() {
		p, ok := readPart(d, joinedText)
		if ok {
			c.parts = append(c.parts, p)
		}
	}
}

// readPart reads an element of a content array; read reads its text. It returns false for other
// types.
func readPart(d *jsonio.Dec, read func(*jsonio.Dec) string) (p contentPart, ok bool) {
	text := func() { p.text = cmp.Or(p.text, read(d)) }
	codec.Read(d, nil, "type", &p.kind, "text", text, "thinking", text, "refusal", text)
	return p, p.kind == "text" || p.kind == "thinking" || p.kind == "refusal"
}

func joinedText(d *jsonio.Dec) string {
	if d.Peek() != '[' {
		return codec.String(d)
	}
	var text strings.Builder
	for range d.Elements() {
		if p, ok := readPart(d, codec.String); ok {
			text.WriteString(p.text)
		}
	}
	return text.String()
}

func (c *callDelta) read(d *jsonio.Dec) {
	var rest codec.Members
	function := func() { c.readFunction(d) }
	index := int64(c.index)
	codec.Read(d, func(key string) { rest.Add(d, messageNames.Stored(key)) },
		"index", &index,
		"id", &c.id,
		"type", func() {
			if codec.String(d) == "custom" {
				rest.AddString("type", "custom")
			}
		},
		"function", function,
		"custom", function)
	c.index, c.opaque = int(index), rest.Object()
}

// readFunction reads a name and arguments. Arguments may be any JSON value (quirk QO-16).
func (c *callDelta) readFunction(d *jsonio.Dec) {
	args := func() { c.args = cmp.Or(codec.Text(d), c.args) }
	codec.Read(d, nil,
		"name", func() { c.name = cmp.Or(codec.String(d), c.name) },
		"arguments", args,
		"input", args)
}
