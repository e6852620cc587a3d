package anthropic

import (
	"encoding/base64"
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
	more                       bool // it has members that are not known here
}

// readMedia reads an image or document. It returns Unknown if llm.Media cannot represent the
// source.
func readMedia(d *jsonio.Dec, kind string) llm.Part {
	rest := opaqueReader{known: mediaMembers}
	var src source
	p := llm.Media{}
	from := d.Offset()
	p.Opaque = rest.read(d,
		"source", func() { src = readSource(d) },
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
	codec.ReadObject(d, func(string) { s.more = true; d.Skip() },
		"type", &s.kind,
		"media_type", &s.mediaType,
		"data", &s.data,
		"url", &s.url)
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
