package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

type writer struct{ codec.Writer }

func (w *writer) text(p llm.Text) {
	w.Add(`{"type":"text","text":%`, p.Text)
	w.end(p.Opaque, textMembers...)
}

func (w *writer) thinking(p llm.Reasoning) {
	if redacted(p.Opaque) {
		w.Add(`{"type":"redacted_thinking"`)
		w.Dst = append(members(p.Opaque).Append(w.Dst, "type"), '}')
		return
	}
	w.Add(`{"type":"thinking","thinking":%,"signature":%`, p.Text, codec.GetString(p.Opaque, "signature"))
	w.end(p.Opaque)
}

// redacted reports whether the opaque data of reasoning is a whole block.
func redacted(opaque json.RawMessage) bool {
	return codec.GetString(opaque, "type") == blockRedacted
}

func (w *writer) call(p llm.ToolCall, name string, input []byte) {
	kind := blockToolUse
	if p.ProviderExecuted {
		kind = cmp.Or(codec.GetString(p.Opaque, "type"), blockServer)
	}
	w.Add(`{"type":%,"id":%,"name":%,"input":%`, kind, p.ID, name, json.RawMessage(input))
	w.end(p.Opaque, callMembers...)
}

func (w *writer) unknown(p llm.Unknown) {
	if w.Unknown(name, p); !sane(p.Raw) {
		w.Fail("the block of type %q nests more than %d deep, or is not UTF-8", p.Kind, maxNesting)
	}
}

func (w *writer) media(p llm.Media) {
	image := strings.HasPrefix(p.MediaType, "image/")
	switch {
	case p.Data == nil && p.URL == "":
		w.Fail("%s has neither data nor a URL (digest %q): load the content", p.MediaType, p.Digest)
	case p.Data == nil && strings.HasPrefix(p.URL, "data:"):
		w.Fail("Anthropic Messages does not accept data URLs: put the bytes of the %s into Data", p.MediaType)
	case image:
		w.Add(`{"type":"image","source":{`)
	case p.MediaType == pdf, p.MediaType == plain && p.Data != nil:
		w.Add(`{"type":"document","source":{`)
	default:
		at := ""
		if p.URL != "" {
			at = " at a URL"
		}
		w.Fail("Anthropic Messages accepts images, PDF and plain text, not %s%s", p.MediaType, at)
	}
	if w.Err != nil {
		return
	}
	w.source(p, image)
	w.Add("}")
	if !image {
		w.OptionalText("title", p.Name)
	}
	w.end(p.Opaque, mediaMembers...)
}

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func (w *writer) source(p llm.Media, image bool) {
	switch {
	case p.Data == nil:
		w.Add(`"type":"url","url":%`, p.URL)
	case p.MediaType == plain:
		if !utf8.Valid(p.Data) {
			w.Fail("the text of a document is not UTF-8")
		}
		w.Add(`"type":"text","media_type":"text/plain","data":%`, string(p.Data))
	default:
		if image && !slices.Contains(imageTypes, p.MediaType) {
			w.Fail("Anthropic Messages accepts image/jpeg, image/png, image/gif and image/webp, not %s", p.MediaType)
		}
		w.Add(`"type":"base64","media_type":%`, p.MediaType)
		w.Base64("data", "", p.Data)
	}
}
