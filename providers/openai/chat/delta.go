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
	content, refusal              string
	parts                         []contentPart // of a content that is an array
	reasoning, field              string        // the text, and the field that it came in
	details                       jsonio.Dec    // before the reasoning_details
	hasDetails                    bool
	calls                         []callDelta
	messageMembers, choiceMembers []codec.Member // what is not known of it, and of the choice
	transcript                    string         // the words of a sound
}

// contentPart is an element of a content array (quirk QO-28).
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
	for key := range codec.Fields(d) {
		switch key {
		case "content":
			c.readContent(d)
		case "refusal":
			c.refusal = codec.String(d)
		case "reasoning_content", "reasoning":
			c.readReasoning(d, key)
		case "reasoning_details":
			c.details, c.hasDetails = *d, true
			d.Skip()
		case "tool_calls":
			c.readCalls(d)
		case "function_call": // what calls were before there were several
			if d.Peek() == '{' {
				c.calls = append(c.calls, callDelta{})
				c.calls[len(c.calls)-1].readFunction(d)
				continue
			}
			d.Skip()
		case keyAudio:
			ahead := *d
			c.transcript = codec.GetString(json.RawMessage(ahead.Raw()), "transcript")
			c.messageMembers = appendKept(c.messageMembers, d, key)
		case "role":
			d.Skip()
		default:
			c.messageMembers = appendKept(c.messageMembers, d, key)
		}
	}
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
	for key := range codec.Fields(d) {
		switch key {
		case "type":
			p.kind = codec.String(d)
		case "text", "thinking", "refusal":
			p.text = cmp.Or(p.text, read(d))
		default:
			d.Skip()
		}
	}
	return p, p.kind == "text" || p.kind == "thinking" || p.kind == "refusal"
}

// joinedText reads a string, or the texts in an array of parts.
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

func (c *delta) readCalls(d *jsonio.Dec) {
	for range codec.Items(d) {
		if d.Peek() != '{' {
			d.Skip()
			continue
		}
		c.calls = append(c.calls, callDelta{index: -1})
		c.calls[len(c.calls)-1].read(d)
	}
}

func (c *callDelta) read(d *jsonio.Dec) {
	var rest codec.Members
	for key := range d.Members() {
		switch key {
		case "index":
			if b := d.Peek(); b >= '0' && b <= '9' {
				c.index = int(codec.Count(d))
				continue
			}
			d.Skip()
		case "id":
			c.id = codec.String(d)
		case "type":
			if codec.String(d) == "custom" {
				rest.AddString("type", "custom")
			}
		case "function", "custom":
			c.readFunction(d)
		default:
			rest.Add(d, messageNames.Stored(key))
		}
	}
	c.opaque = rest.Object()
}

// readFunction reads a name and arguments. Arguments may be any JSON value (quirk QO-16).
func (c *callDelta) readFunction(d *jsonio.Dec) {
	for key := range codec.Fields(d) {
		switch key {
		case "name":
			c.name = cmp.Or(codec.String(d), c.name)
		case "arguments", "input":
			c.args = cmp.Or(codec.Text(d), c.args)
		default:
			d.Skip()
		}
	}
}
