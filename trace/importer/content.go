package importer

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// content reads a message's content that is not null: a text or an array of
// parts.
func (c *conversation) content(d *jsonio.Dec) (parts []llm.Part) {
	if d.Peek() == '"' {
		return append(c.room(1), llm.Text{Text: c.resolve(d.String())})
	}
	if d.Peek() != '[' {
		d.Fail("the content is neither a text nor a list of parts")
		return nil
	}
	d.Array()
	for first := true; d.More(&first); {
		if d.Peek() == '"' {
			parts = append(parts, llm.Text{Text: c.resolve(d.String())})
			continue
		}
		parts = append(parts, c.part(d))
	}
	return parts
}

// part reads a content part. One of a kind that llm has no word for, and one
// that is not as its kind has it, is kept whole, as the "value" of an
// llm.Unknown, whose own kind begins with "openai.": some of llm's kinds have the
// same names and other members.
func (c *conversation) part(d *jsonio.Dec) llm.Part {
	if c.inspect {
		return c.inspectPart(d)
	}
	from := d.Offset()
	var kind, text, refusal, url string
	var hasText, hasRefusal bool
	var image opaque
	var rest opaque
	if !d.Object() {
		return nil
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			break
		}
		switch c := d.Peek(); {
		case key == "type" && c == '"':
			kind = d.String()
		case key == "text" && c == '"':
			text, hasText = d.String(), true
		case key == "refusal" && c == '"':
			refusal, hasRefusal = d.String(), true
		case key == "image_url" && c == '{':
			url, image = imageURL(d)
		default:
			rest.raw(key, d.Raw())
		}
	}
	switch {
	case kind == "text" && hasText && !hasRefusal && url == "":
		return llm.Text{Text: text, Opaque: rest.json()}
	case kind == "refusal" && hasRefusal && !hasText && url == "":
		return llm.Text{Text: refusal, Refusal: true, Opaque: rest.json()}
	case kind == "image_url" && url != "" && !hasText && !hasRefusal:
		if o := image.json(); o != nil {
			rest.raw("image_url", string(o))
		}
		return picture(url, rest.json())
	}
	whole := d.Since(from)
	if p := modelPart(kind, json.RawMessage(whole)); p != nil {
		return p
	}
	return unknown("openai."+kind, whole)
}

// unknown keeps a value that llm has no word for.
func unknown(kind, value string) llm.Unknown {
	var whole opaque
	whole.text("type", kind)
	whole.raw("value", value)
	return llm.Unknown{Kind: kind, Raw: whole.json()}
}

// imageURL reads the url, and what else is said of it.
func imageURL(d *jsonio.Dec) (url string, rest opaque) {
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		switch {
		case !ok:
			return url, rest
		case key == "url" && d.Peek() == '"':
			url = d.String()
		default:
			rest.raw(key, d.Raw())
		}
	}
}

// picture is an image at a URL; one in a data URL is decoded, if that can be
// undone.
func picture(url string, rest json.RawMessage) llm.Media {
	m := llm.Media{URL: url, Opaque: rest}
	data, found := strings.CutPrefix(url, "data:")
	if !found {
		return m
	}
	mediaType, text, found := strings.Cut(data, ";base64,")
	if !found {
		return m
	}
	b, ok := decoded(text)
	if !ok {
		return m
	}
	m.MediaType, m.Data, m.URL = mediaType, b, ""
	return m
}

// decoded returns what a text is in base64, if that can be undone.
func decoded(text string) (b []byte, ok bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	return b, err == nil && base64.StdEncoding.EncodeToString(b) == text
}

// opaque collects members that have no place of their own into an object.
type opaque []byte

func (o *opaque) raw(key, value string) {
	sep := byte(',')
	if *o == nil {
		sep = '{'
	}
	*o = append(jsonio.AppendString(append(*o, sep), key), ':')
	*o = append(*o, value...)
}

func (o *opaque) text(key, value string) {
	o.raw(key, string(jsonio.AppendString(nil, value)))
}

// json returns the object, or nil if there were no members.
func (o opaque) json() json.RawMessage {
	if o == nil {
		return nil
	}
	return append(json.RawMessage(o), '}')
}
