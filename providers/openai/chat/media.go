package chat

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// anyImage is the media type of an image at a URL.
const anyImage = "image/*"

// unnamedFile replaces a missing file name, which OpenAI requires.
const unnamedFile = "file"

// media writes an image, audio or a file as an element of a content. Only images may be at a
// URL.
func (w *writer) media(p llm.Media) error {
	switch {
	case p.Data == nil && p.URL == "":
		return fmt.Errorf("%s has neither data nor a URL", kind(p))
	case strings.HasPrefix(p.MediaType, "image/"), p.MediaType == "" && p.Data == nil:
		w.image(p)
		return nil
	case p.Data == nil:
		return fmt.Errorf("a Chat Completions message accepts %s by its data, not by a URL", kind(p))
	case p.MediaType == "":
		return errors.New("missing media type: set Media.MediaType")
	case strings.HasPrefix(p.MediaType, "audio/"):
		return w.sound(p)
	}
	inner := w.beginMedia("file", p.Opaque)
	w.text("filename", cmp.Or(p.Name, unnamedFile))
	w.dataURL("file_data", p)
	w.endMedia("file", p.Opaque, inner, "filename", "file_data")
	return nil
}

func (w *writer) image(p llm.Media) {
	inner := w.beginMedia("image_url", p.Opaque)
	if p.Data != nil {
		w.dataURL("url", p)
	} else {
		w.text("url", p.URL)
	}
	w.endMedia("image_url", p.Opaque, inner, "url")
}

func (w *writer) sound(p llm.Media) error {
	format := soundFormat(p.MediaType)
	if format == "" {
		return fmt.Errorf("a Chat Completions message accepts audio as audio/wav or audio/mpeg, not %s", p.MediaType)
	}
	inner := w.beginMedia("input_audio", p.Opaque)
	w.name("data")
	w.buf = append(w.buf, '"')
	w.buf = append(base64.StdEncoding.AppendEncode(w.buf, p.Data), '"')
	w.text("format", format)
	w.endMedia("input_audio", p.Opaque, inner, "data", "format")
	return nil
}

func soundFormat(mediaType string) string {
	switch mediaType {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}

// beginMedia opens an element and its inner object. It returns the opaque data of the inner
// object.
func (w *writer) beginMedia(kind string, opaque json.RawMessage) (inner json.RawMessage) {
	w.buf = append(w.buf, '{')
	w.text("type", kind)
	w.raw(kind, "{")
	return wirejson.Get(opaque, kind)
}

func (w *writer) endMedia(kind string, opaque, inner json.RawMessage, own ...string) {
	w.buf = append(wirejson.AppendMembers(w.buf, inner, own...), '}')
	w.buf = append(w.appendOwn(opaque, "type", kind), '}')
}

// dataURL writes the data as a data URL (RFC 2397).
func (w *writer) dataURL(key string, p llm.Media) {
	w.text(key, "data:"+p.MediaType+";base64,")
	w.buf = base64.StdEncoding.AppendEncode(w.buf[:len(w.buf)-1], p.Data)
	w.buf = append(w.buf, '"')
}

// readMedia reads an image_url, input_audio or file element. It returns Unknown for what Media
// cannot contain, such as a file id.
func readMedia(d *jsonio.Dec, kind string) llm.Part {
	f := mediaFields{kind: kind}
	var rest wirejson.Members
	from := d.Offset()
	for key := range d.Members() {
		switch key {
		case "type":
			d.Skip()
		case kind:
			f.read(d)
		default:
			rest.Add(d, messageNames.Stored(key))
		}
	}
	raw := d.Since(from)
	p, ok := f.media()
	if !ok {
		return unknownPart(kind, raw)
	}
	rest.AddObject(kind, f.rest)
	p.Opaque = rest.Object()
	return p
}

// unknownPart keeps an element unchanged. It marks the kind if another protocol would claim it.
func unknownPart(kind, raw string) llm.Part {
	u := llm.Unknown{Kind: kind, Raw: jsonio.AppendRaw(nil, []byte(raw))}
	if protocol.Omits(protocolName, llm.RoleAssistant, u) {
		u.Kind = protocol.ChatMark + u.Kind
	}
	return u
}

// mediaFields contains the members of the inner object.
type mediaFields struct {
	kind                    string
	url, data, format, name string
	rest                    wirejson.Members
}

func (f *mediaFields) read(d *jsonio.Dec) {
	if !wirejson.BeginObject(d) {
		return
	}
	for key := range d.MembersAfter(true) {
		switch f.kind + "." + key {
		case "image_url.url", "file.file_data":
			f.url = d.String()
		case "input_audio.data":
			f.data = d.String()
		case "input_audio.format":
			f.format = d.String()
		case "file.filename":
			f.name = d.String()
		default:
			f.rest.Add(d, key)
		}
	}
}

// media returns the Media, and reports whether it encodes to the same element.
func (f *mediaFields) media() (p llm.Media, ok bool) {
	mediaType, data, inline := cutDataURL(f.url)
	image := strings.HasPrefix(mediaType, "image/")
	switch {
	case f.kind == "image_url" && image && inline:
		return llm.Media{MediaType: mediaType, Data: data}, true
	case f.kind == "image_url":
		return llm.Media{MediaType: anyImage, URL: f.url}, f.url != ""
	case f.kind == "file":
		other := mediaType != "" && !image && !strings.HasPrefix(mediaType, "audio/")
		return llm.Media{MediaType: mediaType, Name: f.name, Data: data}, inline && other
	}
	data, err := base64.StdEncoding.DecodeString(f.data)
	switch {
	case err != nil:
		return p, false
	case f.format == "wav":
		return llm.Media{MediaType: "audio/wav", Data: data}, true
	}
	return llm.Media{MediaType: "audio/mpeg", Data: data}, f.format == "mp3"
}

// cutDataURL parses a data URL in base64.
func cutDataURL(url string) (mediaType string, data []byte, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", nil, false
	}
	mediaType, text, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return "", nil, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	return mediaType, data, err == nil
}
