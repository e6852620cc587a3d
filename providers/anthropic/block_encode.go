package anthropic

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// writer appends blocks. It keeps its first error.
type writer struct {
	dst []byte
	err error
	// The position for errors: message, part, and content of the part; -1 means none.
	message, part, content int
	messages               int // messages that were written
}

func newWriter(dst []byte) *writer { return &writer{dst: dst, message: -1, part: -1, content: -1} }

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(w.where()+": "+format, args...)
	}
}

func (w *writer) where() string {
	at := "parts"
	if w.message >= 0 {
		at = fmt.Sprintf("messages[%d]", w.message)
		if w.part >= 0 {
			at += ".parts"
		}
	}
	if w.part >= 0 {
		at += fmt.Sprintf("[%d]", w.part)
	}
	if w.content >= 0 {
		at += fmt.Sprintf(".content[%d]", w.content)
	}
	return at
}

func (w *writer) text(p llm.Text) {
	w.dst = jsonio.AppendString(append(w.dst, `{"type":"text","text":`...), p.Text)
	w.dst = append(appendMembers(w.dst, p.Opaque, textMembers...), '}')
}

// thinking writes a thinking block or a redacted one.
func (w *writer) thinking(p llm.Reasoning) {
	if redacted(p.Opaque) {
		w.dst = append(w.dst, `{"type":"redacted_thinking"`...)
		eachMember(p.Opaque, func(key, raw string) {
			if key != "type" {
				w.dst = wirejson.AppendRaw(w.dst, key, raw)
			}
		})
		w.dst = append(w.dst, '}')
		return
	}
	signature := wirejson.GetString(p.Opaque, "signature")
	w.dst = jsonio.AppendString(append(w.dst, `{"type":"thinking","thinking":`...), p.Text)
	w.dst = jsonio.AppendString(append(w.dst, `,"signature":`...), signature)
	w.dst = append(appendMembers(w.dst, p.Opaque), '}')
}

// redacted reports whether the opaque data of reasoning is a whole block.
func redacted(opaque json.RawMessage) bool {
	return wirejson.GetString(opaque, "type") == blockRedacted
}

// call writes a call. Input is JSON.
func (w *writer) call(p llm.ToolCall, name string, input []byte) {
	kind := blockToolUse
	if p.ProviderExecuted {
		kind = cmp.Or(wirejson.GetString(p.Opaque, "type"), blockServer)
	}
	w.dst = jsonio.AppendString(append(w.dst, `{"type":`...), kind)
	w.dst = jsonio.AppendString(append(w.dst, `,"id":`...), p.ID)
	w.dst = jsonio.AppendString(append(w.dst, `,"name":`...), name)
	w.dst = append(append(w.dst, `,"input":`...), input...)
	w.dst = append(appendMembers(w.dst, p.Opaque, callMembers...), '}')
}

// unknown writes a block of an unknown type unchanged.
func (w *writer) unknown(p llm.Unknown) {
	if err := protocol.CheckUnknown(name, p); err != nil {
		w.fail("%w", err)
		return
	}
	if !sane(p.Raw) {
		w.fail("the block of type %q nests more than %d deep, or is not UTF-8", p.Kind, maxNesting)
		return
	}
	w.dst = wirejson.AppendValue(w.dst, p.Raw)
}

func (w *writer) media(p llm.Media) {
	image := strings.HasPrefix(p.MediaType, "image/")
	switch {
	case p.Data == nil && p.URL == "":
		w.fail("%s has neither data nor a URL (digest %q): load the content", p.MediaType, p.Digest)
	case p.Data == nil && strings.HasPrefix(p.URL, "data:"):
		w.fail("Anthropic Messages does not accept data URLs: put the bytes of the %s into Data", p.MediaType)
	case image:
		w.dst = append(w.dst, `{"type":"image","source":`...)
	case p.MediaType == pdf, p.MediaType == plain && p.Data != nil:
		w.dst = append(w.dst, `{"type":"document","source":`...)
	default:
		w.fail("Anthropic Messages accepts images, PDF and plain text, not %s%s", p.MediaType, at(p.URL))
	}
	w.source(p, image)
	w.dst = append(w.dst, '}')
	if p.Name != "" && !image {
		w.dst = jsonio.AppendString(append(w.dst, `,"title":`...), p.Name)
	}
	w.dst = append(appendMembers(w.dst, p.Opaque, mediaMembers...), '}')
}

func at(url string) string {
	if url == "" {
		return ""
	}
	return " at a URL"
}

// source writes the source of media without its closing brace.
func (w *writer) source(p llm.Media, image bool) {
	switch {
	case p.Data == nil:
		w.dst = jsonio.AppendString(append(w.dst, `{"type":"url","url":`...), p.URL)
	case p.MediaType == plain:
		if !utf8.Valid(p.Data) {
			w.fail("the text of a document is not UTF-8")
		}
		w.dst = append(w.dst, `{"type":"text","media_type":"text/plain","data":`...)
		w.dst = jsonio.AppendString(w.dst, string(p.Data))
	default:
		if image && !takenImage(p.MediaType) {
			w.fail("Anthropic Messages accepts image/jpeg, image/png, image/gif and image/webp, not %s", p.MediaType)
		}
		w.dst = jsonio.AppendString(append(w.dst, `{"type":"base64","media_type":`...), p.MediaType)
		w.dst = append(w.dst, `,"data":"`...)
		w.dst = append(base64.StdEncoding.AppendEncode(w.dst, p.Data), '"')
	}
}

func takenImage(mediaType string) bool {
	switch mediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}
