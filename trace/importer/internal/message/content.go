package message

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// content reads the content of a message, which is not null: a string or an array of parts.
func (r *Reader) content(d *jsonio.Dec) (parts []llm.Part) {
	if d.Peek() == '"' {
		return append(r.alloc(1), llm.Text{Text: r.resolve(d.String())})
	}
	if d.Peek() != '[' {
		d.Fail("the content is neither a string nor a list of parts")
		return nil
	}
	for range d.Elements() {
		switch {
		case d.Peek() == '"':
			parts = append(parts, llm.Text{Text: r.resolve(d.String())})
		case r.Part != nil:
			parts = append(parts, r.Part(d))
		default:
			p := part(d)
			if u, ok := p.(llm.Unknown); ok && r.form == openAI {
				r.form = formOf(u, len(parts) == 0)
			}
			parts = append(parts, p)
		}
	}
	return parts
}

func (r *Reader) resolve(text string) string {
	if r.Resolve == nil {
		return text
	}
	return r.Resolve(text)
}

// part reads a content part of OpenAI or the AI SDK. A part of a kind that llm does not
// have, or with unexpected members, is kept whole; see [Unknown]. The prefix "openai." of
// its kind distinguishes it from a kind of llm with the same name.
func part(d *jsonio.Dec) llm.Part {
	from := d.Offset()
	var kind, text, refusal, url string
	var hasText, hasRefusal bool
	var image, rest tree.Object
	for key := range d.Members() {
		switch c := d.Peek(); {
		case key == "type" && c == '"':
			kind = d.String()
		case key == "text" && c == '"':
			text, hasText = d.String(), true
		case key == "refusal" && c == '"':
			refusal, hasRefusal = d.String(), true
		case key == "image_url" && c == '{':
			url, image = imageURL(json.RawMessage(d.Raw()))
		default:
			rest.Raw(key, d.Raw())
		}
	}
	switch {
	case d.Err() != nil:
		return nil
	case kind == "text" && (hasText || rest == nil && image == nil) && !hasRefusal && url == "":
		return llm.Text{Text: text, Opaque: rest.JSON()}
	case kind == "refusal" && hasRefusal && !hasText && url == "":
		return llm.Text{Text: refusal, Refusal: true, Opaque: rest.JSON()}
	case kind == "image_url" && url != "" && !hasText && !hasRefusal:
		rest.Add("image_url", image.JSON())
		return Image(url, rest.JSON())
	}
	whole := d.Since(from)
	if p := modelPart(kind, json.RawMessage(whole)); p != nil {
		return p
	}
	return Unknown("openai."+kind, whole)
}

// Unknown returns a part that keeps a value of a kind that llm does not have.
func Unknown(kind, value string) llm.Unknown {
	var whole tree.Object
	whole.Text("type", kind)
	whole.Raw("value", value)
	return llm.Unknown{Kind: kind, Raw: whole.JSON()}
}

// imageURL returns the url and the other members of an image_url object.
func imageURL(raw json.RawMessage) (url string, rest tree.Object) {
	for key, value := range tree.Members(raw) {
		if text, ok := tree.Text(value); ok && key == "url" {
			url = text
			continue
		}
		rest.Add(key, value)
	}
	return url, rest
}

// Image returns an image at a URL. It decodes a data URL if encoding the result again gives
// the same URL.
func Image(url string, rest json.RawMessage) llm.Media {
	m := llm.Media{URL: url, Opaque: rest}
	if data, ok := strings.CutPrefix(url, "data:"); ok {
		mediaType, text, found := strings.Cut(data, ";base64,")
		if b, ok := decodeBase64(text); found && ok {
			m.MediaType, m.Data, m.URL = mediaType, b, ""
		}
	}
	return m
}

// decodeBase64 decodes a string if encoding the result again gives the same text.
func decodeBase64(text string) (b []byte, ok bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	return b, err == nil && base64.StdEncoding.EncodeToString(b) == text
}

// OpenAI returns a message in OpenAI's form. Nil members are omitted.
func OpenAI(role string, content, callID, calls json.RawMessage) json.RawMessage {
	var m tree.Object
	m.Text("role", role)
	m.Add("content", content)
	m.Add("tool_call_id", callID)
	m.Add("tool_calls", calls)
	return m.JSON()
}
