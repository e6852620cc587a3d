package anthropic

import (
	"encoding/base64"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// The types of blocks that this package interprets. blockUnknown stands for any other.
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

// readBlock reads a content block.
func readBlock(d *jsonio.Dec) llm.Part {
	from := d.Offset()
	kind, first := typeOf(d)
	switch kind {
	case blockText:
		return readText(d, first)
	case blockThinking:
		return readThinking(d, first)
	case blockRedacted:
		return llm.Reasoning{Opaque: readUnknown(d, first, kind, from).Raw}
	case blockToolUse:
		return readCall(d, first, "")
	case blockResult:
		return readResult(d, first)
	case blockImage, blockDocument:
		return readMedia(d, first, kind, from)
	}
	if strings.HasSuffix(kind, "_tool_use") {
		return readCall(d, first, kind)
	}
	return readUnknown(d, first, kind, from)
}

// readUnknown reads to the end of the object that began at from and keeps it.
func readUnknown(d *jsonio.Dec, first bool, kind string, from int) llm.Unknown {
	for {
		if _, ok := d.Key(&first); !ok {
			return unknown(d, kind, from)
		}
		d.Skip()
	}
}

func unknown(d *jsonio.Dec, kind string, from int) llm.Unknown {
	if d.Err() != nil {
		return llm.Unknown{}
	}
	return llm.Unknown{Kind: kind, Raw: jsonio.AppendRaw(nil, []byte(d.Since(from)))}
}

func readText(d *jsonio.Dec, first bool) (p llm.Text) {
	rest := opaqueReader{known: textMembers}
	for key := range d.MembersAfter(first) {
		switch key {
		case "type":
			d.Skip()
		case "text":
			p.Text = optionalString(d)
		case "citations":
			if ahead := *d; !emptyArray(&ahead) {
				rest.read(d, key)
				continue
			}
			d.Skip()
		default:
			rest.read(d, key)
		}
	}
	p.Opaque = rest.object()
	return p
}

// emptyArray reads an array and reports whether it has no element.
func emptyArray(d *jsonio.Dec) bool {
	first := true
	return d.Peek() == '[' && d.Array() && !d.More(&first) && d.Err() == nil
}

func readThinking(d *jsonio.Dec, first bool) (p llm.Reasoning) {
	var rest opaqueReader
	for key := range d.MembersAfter(first) {
		switch key {
		case "type":
			d.Skip()
		case "thinking":
			p.Text = optionalString(d)
		case "signature":
			if s := optionalString(d); s != "" {
				rest.own.AddString(key, s)
			}
		default:
			rest.read(d, key)
		}
	}
	p.Opaque = rest.object()
	return p
}

// readCall reads a tool_use block or, with a kind, a call that the provider ran.
func readCall(d *jsonio.Dec, first bool, kind string) (p llm.ToolCall) {
	p.ProviderExecuted = kind != ""
	rest := opaqueReader{known: callMembers}
	if kind != "" && kind != blockServer {
		rest.own.AddString("type", kind)
	}
	for key := range d.MembersAfter(first) {
		switch key {
		case "type":
			d.Skip()
		case "id":
			p.ID = optionalString(d)
		case "name":
			p.Name = optionalString(d)
		case "input":
			p.Arguments = wirejson.Text(d)
		case "caller":
			if ahead := *d; !directCaller(&ahead) {
				rest.read(d, key)
				continue
			}
			d.Skip()
		default:
			rest.read(d, key)
		}
	}
	p.Opaque = rest.object()
	return p
}

// directCaller reads a caller and reports whether it is the model, which is the default.
func directCaller(d *jsonio.Dec) bool {
	if d.Peek() != '{' {
		return false
	}
	kind, first := typeOf(d)
	for key := range d.MembersAfter(first) {
		if key != "type" {
			return false
		}
		d.Skip()
	}
	return kind == "direct" && d.Err() == nil
}

func readResult(d *jsonio.Dec, first bool) (p llm.ToolResult) {
	rest := opaqueReader{known: resultMembers}
	for key := range d.MembersAfter(first) {
		switch key {
		case "type":
			d.Skip()
		case "tool_use_id":
			p.ID = optionalString(d)
		case "content":
			p.Content = readContent(d, true)
		case "is_error":
			p.IsError = !d.Null() && d.Bool()
		default:
			rest.read(d, key)
		}
	}
	p.Opaque = rest.object()
	return p
}

// readContent reads a string or an array of blocks. Within is true for a tool_result.
func readContent(d *jsonio.Dec, within bool) (parts []llm.Part) {
	switch {
	case d.Null():
	case d.Peek() == '"':
		if s := d.String(); s != "" {
			return []llm.Part{llm.Text{Text: s}}
		}
	case d.Array():
		for first := true; d.More(&first); {
			if ahead := *d; within && nestedResult(&ahead) {
				d.Fail("a tool_result must not contain a tool_result")
				return nil
			}
			parts = append(parts, readBlock(d))
		}
	}
	return parts
}

func nestedResult(d *jsonio.Dec) bool {
	if d.Peek() != '{' {
		return false
	}
	kind, _ := typeOf(d)
	return kind == blockResult
}

// source is the source of an image or document.
type source struct {
	kind, mediaType, data, url string
	more                       bool // it has members that are not known here
}

// readMedia reads an image or document. It returns Unknown if llm.Media cannot represent the
// source.
func readMedia(d *jsonio.Dec, first bool, kind string, from int) llm.Part {
	rest := opaqueReader{known: mediaMembers}
	var src source
	p := llm.Media{}
	for key := range d.MembersAfter(first) {
		switch {
		case key == "type":
			d.Skip()
		case key == "source":
			src = readSource(d)
		case key == "title" && kind == blockDocument:
			p.Name = optionalString(d)
		default:
			rest.read(d, key)
		}
	}
	if d.Err() != nil || !src.fill(&p, kind, d) {
		return unknown(d, kind, from)
	}
	p.Opaque = rest.object()
	return p
}

func readSource(d *jsonio.Dec) (s source) {
	if !d.Object() {
		return s
	}
	for key := range d.MembersAfter(true) {
		switch key {
		case "type":
			s.kind = wirejson.String(d)
		case "media_type":
			s.mediaType = wirejson.String(d)
		case "data":
			s.data = wirejson.String(d)
		case "url":
			s.url = wirejson.String(d)
		default:
			s.more = true
			d.Skip()
		}
	}
	return s
}

// fill copies the source to p, and reports whether p can represent it.
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
