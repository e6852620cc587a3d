package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// The types of blocks that this package interprets. blockUnknown means any other.
const (
	blockUnknown  = "?"
	blockText     = "text"
	blockThinking = "thinking"
	blockRedacted = "redacted_thinking"
	blockToolUse  = "tool_use"
	blockServer   = "server_tool_use"
	blockResult   = "tool_result"
	blockImage    = "image"
	blockDocument = "document"
)

// Media types of content at a URL, which the protocol does not name.
const (
	anyImage = "image/*"
	pdf      = "application/pdf"
	plain    = "text/plain"
)

func readBlock(d *jsonio.Dec) llm.Part {
	switch kind := kindOf(d); {
	case kind == blockText:
		return readText(d)
	case kind == blockThinking:
		return readThinking(d)
	case kind == blockRedacted:
		return llm.Reasoning{Opaque: readUnknown(d, kind).Raw}
	case kind == blockToolUse:
		return readCall(d, "")
	case kind == blockResult:
		return readResult(d)
	case kind == blockImage || kind == blockDocument:
		return readMedia(d, kind)
	case strings.HasSuffix(kind, "_tool_use"):
		return readCall(d, kind)
	default:
		return readUnknown(d, kind)
	}
}

func readUnknown(d *jsonio.Dec, kind string) llm.Unknown {
	if d.Peek() != '{' {
		d.Fail("expected an object")
	}
	raw := d.Raw()
	if d.Err() != nil {
		return llm.Unknown{}
	}
	return llm.Unknown{Kind: kind, Raw: codec.Compact(raw)}
}

func readText(d *jsonio.Dec) (p llm.Text) {
	rest := opaqueReader{known: textMembers, key: "citations", value: "[]"}
	p.Opaque = rest.read(d, "text", &p.Text)
	return p
}

func readThinking(d *jsonio.Dec) (p llm.Reasoning) {
	var rest opaqueReader
	p.Opaque = rest.read(d, "thinking", &p.Text, "signature", func() {
		if s := d.String(); s != "" {
			rest.own.AddString("signature", s)
		}
	})
	return p
}

// readCall reads a tool_use block or, with a kind, a call that the provider ran.
func readCall(d *jsonio.Dec, kind string) (p llm.ToolCall) {
	p.ProviderExecuted = kind != ""
	rest := opaqueReader{known: callMembers, key: "caller", value: directCaller}
	if kind != "" && kind != blockServer {
		rest.own.AddString("type", kind)
	}
	p.Opaque = rest.read(d, "id", &p.ID, "name", &p.Name, "input", func() { p.Arguments = codec.Text(d) })
	return p
}

func readResult(d *jsonio.Dec) (p llm.ToolResult) {
	rest := opaqueReader{known: resultMembers}
	p.Opaque = rest.read(d,
		"tool_use_id", &p.ID,
		"content", func() { p.Content = readContent(d, true) },
		"is_error", &p.IsError)
	return p
}

// readContent reads a string or an array of blocks. Within is true for a tool_result.
func readContent(d *jsonio.Dec, within bool) (parts []llm.Part) {
	switch d.Peek() {
	case 'n':
		d.Null()
		return nil
	case '"':
		if s := d.String(); s != "" {
			return []llm.Part{llm.Text{Text: s}}
		}
		return nil
	}
	for range d.Elements() {
		if within && kindOf(d) == blockResult {
			d.Fail("a tool_result must not contain a tool_result")
			return nil
		}
		parts = append(parts, readBlock(d))
	}
	return parts
}

type source struct {
	kind, mediaType, data, url string
	more                       bool // it has members, or values of members, that are not known here
}

// readMedia reads an image or document, as Unknown if llm.Media cannot represent the source.
func readMedia(d *jsonio.Dec, kind string) llm.Part {
	rest := opaqueReader{known: mediaMembers}
	var src source
	p := llm.Media{}
	from := d.Offset()
	p.Opaque = rest.read(d,
		"source", codec.NotNull(func() { src = readSource(d) }),
		"title", func() {
			if kind == blockDocument {
				p.Name = d.String()
				return
			}
			rest.other.Add(d, "title")
		})
	if d.Err() == nil && src.fill(&p, kind, d) {
		return p
	}
	if d.Err() != nil {
		return llm.Unknown{}
	}
	return llm.Unknown{Kind: kind, Raw: codec.Compact(d.Since(from))}
}

func readSource(d *jsonio.Dec) (s source) {
	text := func(to *string) func() {
		return func() {
			if d.Peek() == '"' {
				*to = d.String()
				return
			}
			s.more = true
			d.Skip()
		}
	}
	codec.ReadObject(d, func(string) { s.more = true; d.Skip() },
		"type", text(&s.kind),
		"media_type", text(&s.mediaType),
		"data", text(&s.data),
		"url", text(&s.url))
	return s
}

func (s source) fill(p *llm.Media, kind string, d *jsonio.Dec) bool {
	switch {
	case s.more:
		return false
	case s.kind == "base64":
		data, err := base64.StdEncoding.DecodeString(s.data)
		if err != nil {
			d.Fail("the data of this " + kind + " is not base64")
		}
		p.MediaType, p.Data = s.mediaType, data
		return err == nil
	case s.kind == "url" && kind == blockImage:
		p.MediaType, p.URL = anyImage, s.url
	case s.kind == "url":
		p.MediaType, p.URL = pdf, s.url
	case s.kind == "text" && kind == blockDocument && s.mediaType == plain:
		p.MediaType, p.Data = plain, []byte(s.data)
	default:
		return false
	}
	return true
}

// maxNesting is how deeply JSON from the caller or the model may nest in a request. JSON
// readers differ in what they accept.
const maxNesting = 500

// sane reports whether raw is JSON that may appear in a request.
func sane(raw []byte) bool {
	return codec.Depth(jsonio.View(raw)) <= maxNesting && jsonio.Valid(raw)
}

// members returns the members of opaque data that may appear in a request.
func members(opaque json.RawMessage) codec.Members {
	if !sane(opaque) {
		return nil
	}
	return codec.MembersOf(opaque)
}

// keyOther is the member of opaque data that contains the members this package does not know.
const keyOther = "anthropic"

// The members of blocks that are opaque data under their own names.
var (
	textMembers   = []string{"cache_control", "citations"}
	callMembers   = []string{"cache_control", "caller", "server_name"}
	resultMembers = []string{"cache_control"}
	mediaMembers  = []string{"cache_control", "citations", "context"}
)

// directCaller is the default of the member "caller": the model.
const directCaller = `{"type":"direct"}`

// opaqueReader collects the members of a block or message that llm has no field for.
type opaqueReader struct {
	known      []string // kept under their own names
	key, value string   // a member with its default value, which is omitted
	own, other codec.Members
}

// read reads an object into fields, and returns the opaque data of the other members, or nil.
func (r *opaqueReader) read(d *jsonio.Dec, fields ...any) json.RawMessage {
	codec.ReadStrict(d, func(key string) {
		raw := d.Raw()
		switch {
		case key == r.key && string(codec.Compact(raw)) == r.value:
		case slices.Contains(r.known, key):
			r.own.AddRaw(key, raw)
		case key != "type":
			r.other.AddRaw(key, raw)
		}
	}, fields...)
	r.own.AddObject(keyOther, r.other)
	return r.own.Object()
}

// end ends a block with the members of opaque data that it may have: the known ones and those
// that came from Anthropic. A history may have begun with another provider, so other members
// are omitted.
func (w *writer) end(opaque json.RawMessage, known ...string) {
	for _, m := range members(opaque) {
		switch {
		case m.Key == keyOther:
			w.Members(json.RawMessage(m.Raw))
		case slices.Contains(known, m.Key):
			w.Value(m.Key, []byte(m.Raw))
		}
	}
	w.Add("}")
}

// kindOf returns the type of the next object, which may be any of its members.
func kindOf(d *jsonio.Dec) string {
	ahead, first := *d, true
	if ahead.Object() && ahead.Member("type", &first) {
		return codec.String(&ahead)
	}
	ahead = *d
	return codec.GetString(ahead.Raw(), "type")
}

// ranElsewhere reports whether another provider ran a call.
func ranElsewhere(p llm.ToolCall) bool {
	if kind := codec.GetString(p.Opaque, "type"); kind != "" {
		return p.ProviderExecuted && !strings.HasSuffix(kind, "_tool_use")
	}
	return p.ProviderExecuted && (codec.Get(p.Opaque, "executableCode") != nil || codec.Get(p.Opaque, "toolCall") != nil)
}
