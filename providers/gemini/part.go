package gemini

import (
	"cmp"
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// Members that determine the type of a part, in addition to text and media.
const (
	keyCall     = "functionCall"
	keyResponse = "functionResponse"
	keyCode     = "executableCode" // run by the provider
	keyToolCall = "toolCall"       // likewise
)

// part contains the members of a part.
type part struct {
	data      string // the member that determines the type; empty if none is known
	other     bool   // the part has an unknown member
	text      string
	thought   bool
	signature string // as JSON
	call      call
	result    result
	media     media
	value     string // of data, if the provider ran it
	raw       string // the whole part
	rest      []codec.Member
}

type call struct {
	id, name     string
	args         string // as JSON; "" if there are none
	partial      []partialArg
	willContinue bool // willContinue
	rest         []codec.Member
}

type result struct {
	id, name, response string
	media              []llm.Part
	rest               []codec.Member
}

type media struct {
	kind, url string
	data      []byte
	rest      []codec.Member
}

// read reads a part. With keep it keeps unknown members.
func (p *part) read(d *jsonio.Dec, keep bool) {
	*p = part{rest: p.rest[:0], call: call{partial: p.call.partial[:0]}}
	from := d.Offset()
	for key := range d.Members() {
		if d.Null() {
			continue
		}
		switch key = camel(key); key {
		case "text":
			p.data, p.text = cmp.Or(p.data, key), d.String()
		case keyThought:
			p.thought = d.Bool()
		case keySignature:
			p.signature = d.Raw()
		case keyCall:
			p.data = key
			p.call.read(d, keep)
		case keyResponse:
			p.data = key
			p.result.read(d)
		case keyInline, keyFile:
			p.data = key
			p.media.read(d)
		case keyCode, keyToolCall:
			p.data, p.value = key, d.Raw()
		default:
			p.other = p.other || !plain(key)
			p.rest = keepMember(p.rest, keep, key, d)
		}
	}
	p.raw = d.Since(from)
}

// keepMember reads an unknown member.
func keepMember(rest []codec.Member, keep bool, key string, d *jsonio.Dec) []codec.Member {
	if !keep {
		d.Skip()
		return rest
	}
	return append(rest, codec.Member{Key: key, Raw: d.Raw()})
}

func (c *call) read(d *jsonio.Dec, keep bool) {
	for key := range d.Members() {
		if d.Null() {
			continue
		}
		switch key = camel(key); {
		case key == "id":
			c.id = d.String()
		case key == "name":
			c.name = toolName(d.String())
		case key == "args" && d.Peek() == '"': // as text; not Google does so
			c.args = d.String()
		case key == "args":
			c.args = compact(d.Raw())
		case key == "willContinue" && !keep:
			c.willContinue = d.Bool()
		case key == "partialArgs" && !keep:
			c.readPartial(d)
		default:
			c.rest = keepMember(c.rest, keep, key, d)
		}
	}
}

func (r *result) read(d *jsonio.Dec) {
	r.rest = camelNames(readObject(d,
		"id", &r.id,
		"name", func() { r.name = toolName(d.String()) },
		"response", func() {
			if d.Peek() != '{' {
				d.Fail("expected an object") // refusal SG-15
			}
			r.response = d.Raw()
		},
		within, func() {
			var p part
			eachElement(d, func() {
				p.read(d, true)
				if p.data != keyInline && p.data != keyFile {
					d.Fail("expected " + keyInline + " or " + keyFile)
					return
				}
				r.media = append(r.media, p.content())
			})
		}))
}

func (m *media) read(d *jsonio.Dec) {
	m.rest = camelNames(readObject(d,
		"mimeType", &m.kind,
		"fileUri", &m.url,
		"data", func() {
			var ok bool
			if m.data, ok = unbase64(d.String()); !ok {
				d.Fail("expected base64")
			}
		}))
}

// camelNames changes the names of members to lower camel case.
func camelNames(members []codec.Member) []codec.Member {
	for i := range members {
		members[i].Key = camel(members[i].Key)
	}
	return members
}

func (p *part) content() llm.Part {
	switch p.data {
	case keyCall:
		return llm.ToolCall{ID: p.call.id, Name: p.call.name, Arguments: cmp.Or(p.call.args, "{}"), Opaque: p.opaque(p.call.rest)}
	case keyInline, keyFile:
		return llm.Media{
			MediaType: p.media.kind, Name: memberText(p.media.rest, "displayName"), Data: p.media.data, URL: p.media.url,
			Opaque: p.opaque(p.media.rest),
		}
	case keyResponse:
		return p.toolResult()
	case keyCode, keyToolCall:
		return p.executed()
	case "":
		if p.other {
			return llm.Unknown{Kind: kindPart, Raw: append(append([]byte(`{"type":"`+kindPart+`","part":`), compact(p.raw)...), '}')}
		}
	}
	opaque := p.opaque(nil)
	switch {
	case p.text == "" && opaque == nil:
		return nil
	case p.thought:
		return llm.Reasoning{Text: p.text, Opaque: opaque}
	}
	return llm.Text{Text: p.text, Opaque: opaque}
}

func (p *part) toolResult() llm.ToolResult {
	r := &p.result
	read := cmp.Or(r.response, "{}")
	text, isError := textOf(read, r.name)
	out := llm.ToolResult{ID: r.id, Name: r.name, IsError: isError}
	if text != "" {
		out.Content = []llm.Part{llm.Text{Text: text}}
	}
	// Keep the response only if the codec would write it differently.
	rest := r.rest
	if response(&out, "") != compact(r.response) {
		rest = append(rest, codec.Member{Key: "response", Raw: read})
	}
	out.Opaque = p.opaque(rest)
	out.Content = append(out.Content, r.media...)
	return out
}

func (p *part) executed() llm.ToolCall {
	value := codec.MembersOf(json.RawMessage(p.value))
	c := llm.ToolCall{
		ID: memberText(value, "id"), Name: "code_execution", Arguments: compact(p.value), ProviderExecuted: true, Opaque: json.RawMessage(compact(p.raw)),
	}
	if p.data == keyToolCall {
		c.Name, c.Arguments = memberText(value, "toolType"), compact(cmp.Or(codec.Find(value, "args"), "{}"))
	}
	return c
}

// memberText returns a member that is a string, or any other value as JSON. It is empty if the
// member is missing.
func memberText(members []codec.Member, key string) string {
	return valueText(cmp.Or(codec.Find(members, key), `""`))
}

// opaque returns the opaque data of the part. Inner are the opaque members of its object.
func (p *part) opaque(inner []codec.Member) json.RawMessage {
	thought := p.thought && p.data != "text" && p.data != ""
	if p.signature == "" && !thought && len(inner)+len(p.rest) == 0 {
		return nil
	}
	if !thought && len(inner)+len(p.rest) == 0 {
		out := make([]byte, 0, len(p.signature)+len(`{"`+keySignature+`":}`))
		out = append(append(out, `{"`+keySignature+`":`...), p.signature...)
		return append(out, '}')
	}
	var all []codec.Member
	if p.signature != "" {
		all = append(all, codec.Member{Key: keySignature, Raw: p.signature})
	}
	if thought {
		all = append(all, codec.Member{Key: keyThought, Raw: "true"})
	}
	all = append(all, p.rest...)
	if len(inner) > 0 {
		all = append(all, codec.Member{Key: p.data, Raw: string(objectOf(inner))})
	}
	return opaqueOf(all)
}
