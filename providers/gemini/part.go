package gemini

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
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
	rest      codec.Members
}

type call struct {
	id, name     string
	args         string // as JSON; "" if there are none
	partial      []partialArg
	willContinue bool // willContinue
	rest         codec.Members
}

type result struct {
	id, name, response string
	media              []llm.Part
	rest               codec.Members
}

type media struct {
	kind, url string
	data      []byte
	rest      codec.Members
}

// read reads a part. With keep it keeps unknown members.
func (p *part) read(d *jsonio.Dec, keep bool) {
	*p = part{rest: p.rest[:0], call: call{partial: p.call.partial[:0]}}
	from := d.Offset()
	for key := range codec.RequiredFields(d) {
		switch key = jsonval.CamelCase(key); key {
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
			p.other = p.other || !slices.Contains(plain, key)
			p.rest = keepMember(p.rest, keep, key, d.Raw())
		}
	}
	if p.raw = d.Since(from); p.data != "text" && p.text != "" { // next to data of another type
		p.rest = keepMember(p.rest, keep, "text", codec.Quote(p.text))
	}
}

func keepMember(rest codec.Members, keep bool, key, raw string) codec.Members {
	if keep {
		rest.AddRaw(key, raw)
	}
	return rest
}

func (c *call) read(d *jsonio.Dec, keep bool) {
	for key := range codec.RequiredFields(d) {
		switch key = jsonval.CamelCase(key); {
		case key == "name":
			c.name = toolName(d.String())
		case key == "args" && d.Peek() == '"': // as text; not Google does so
			c.args = d.String()
		case key == "args":
			c.args = codec.CompactText(d.Raw())
		case key == "id":
			c.id = d.String()
		case key == "willContinue" && !keep:
			c.willContinue = d.Bool()
		case key == "partialArgs" && !keep:
			c.readPartial(d)
		default:
			c.rest = keepMember(c.rest, keep, key, d.Raw())
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

func camelNames(members codec.Members) codec.Members {
	for i := range members {
		members[i].Key = jsonval.CamelCase(members[i].Key)
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
			return llm.Unknown{Kind: kindPart, Raw: json.RawMessage(`{"type":"` + kindPart + `","part":` + codec.CompactText(p.raw) + `}`)}
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
	if written := response(&out, ""); written != r.response && written != codec.CompactText(r.response) {
		rest.AddRaw("response", read)
	}
	out.Opaque = p.opaque(rest)
	out.Content = append(out.Content, r.media...)
	return out
}

func (p *part) executed() llm.ToolCall {
	value := camelNames(codec.MembersOf(p.value))
	c := llm.ToolCall{
		ID: memberText(value, "id"), Name: "code_execution", Arguments: codec.CompactText(p.value), ProviderExecuted: true, Opaque: json.RawMessage(codec.CompactText(p.raw)),
	}
	if p.data == keyToolCall {
		c.Name, c.Arguments = memberText(value, "toolType"), codec.CompactText(cmp.Or(value.Find("args"), "{}"))
	}
	return c
}

// memberText returns a string, or another value as JSON, or "" for a missing member.
func memberText(members codec.Members, key string) string {
	return valueText(cmp.Or(members.Find(key), `""`))
}

// opaque returns the opaque data of the part. Inner are the opaque members of its object.
func (p *part) opaque(inner codec.Members) json.RawMessage {
	thought := p.thought && p.data != "text" && p.data != ""
	var other codec.Members
	own := make(codec.Members, 0, 6) // on the stack
	if p.signature != "" {
		own = append(own, codec.Member{Key: keySignature, Raw: p.signature})
	}
	if thought {
		own = append(own, codec.Member{Key: keyThought, Raw: "true"})
	}
	for _, m := range p.rest {
		if slices.Contains(plain, m.Key) {
			own = append(own, m)
		} else {
			other = append(other, m)
		}
	}
	if other.AddObject(p.data, inner); other != nil {
		own = append(own, codec.Member{Key: keyOther, Raw: string(other.Object())})
	}
	return own.Object()
}

// Readers of objects of responses and errors, and of requests.
var (
	lenient = codec.Object{Name: jsonval.CamelCase}
	strict  = codec.Object{Strict: true, Name: jsonval.CamelCase}
)

// readObject reads an object and returns its other members, except null.
func readObject(d *jsonio.Dec, fields ...any) (rest codec.Members) {
	readInto(d, &rest, fields...)
	return rest
}

func readInto(d *jsonio.Dec, rest *codec.Members, fields ...any) {
	strict.Read(d, func(key string) { rest.Add(d, key) }, fields...)
}

// eachElement calls f for each element of an array, with the value still to read. An object is
// an array of one element: Google accepts it, and its own REST examples omit the brackets.
func eachElement(d *jsonio.Dec, f func()) {
	if d.Peek() == '{' {
		f()
		return
	}
	for range d.Elements() {
		f()
	}
}

// Members of a part that are opaque data under their own names.
const (
	keySignature = "thoughtSignature"
	keyThought   = "thought"
	// keyOther contains the unknown members.
	keyOther = "gemini"
)

// plain are the members of a part that are opaque data under their own names.
var plain = []string{keySignature, keyThought, "videoMetadata", "mediaResolution", "partMetadata"}

// restOf returns the opaque members of Gemini. A history may have begun with another provider.
func restOf(opaque json.RawMessage) (out codec.Members) {
	for _, m := range codec.MembersOf(opaque) {
		switch {
		case slices.Contains(plain, m.Key):
			out = append(out, m)
		case m.Key == keyOther:
			out = append(out, codec.MembersOf(m.Raw)...)
		}
	}
	return out
}

// ranElsewhere reports whether another provider ran a call.
func ranElsewhere(c *llm.ToolCall) bool {
	own := codec.MembersOf(c.Opaque)
	return c.ProviderExecuted && own.Find(keyCode) == "" && own.Find(keyToolCall) == ""
}

// thoughtElsewhere reports whether reasoning has only opaque members of another provider.
func thoughtElsewhere(r llm.Reasoning) bool {
	return len(codec.MembersOf(r.Opaque)) > 0 && len(restOf(r.Opaque)) == 0
}

// keyKept is the member of a message's opaque data that contains the members of the
// response and its candidate that this package does not know, such as groundingMetadata.
// Members of more than [codec.MaxKept] bytes are omitted. They are not sent back.
const (
	keyKept            = "gemini_answer"
	keyCandidate       = "candidate"
	keyResponseMembers = "response"
)

// keptMembers collects these members. Of those in several chunks the last one counts.
type keptMembers struct{ candidate, response codec.MemberSet }

func (k *keptMembers) opaque() json.RawMessage {
	var inner, out codec.Members
	inner.AddObject(keyCandidate, k.candidate.Members(codec.MaxKept))
	inner.AddObject(keyResponseMembers, k.response.Members(codec.MaxKept))
	out.AddObject(keyKept, inner)
	return out.Object()
}
