package chat

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

const anyImage = "image/*"

// unnamedFile replaces a missing file name, which OpenAI requires.
const unnamedFile = "file"

// media writes an image, audio or a file. Only images may be at a URL.
func (w *writer) media(p llm.Media) {
	data := "data:" + p.MediaType + ";base64,"
	switch image := strings.HasPrefix(p.MediaType, "image/"); {
	case p.Data == nil && p.URL == "":
		w.Fail("%s has neither data nor a URL", kind(p))
	case p.Data == nil && (image || p.MediaType == ""):
		w.element("image_url", p.Opaque, func() { w.Text("url", p.URL) }, "url")
	case image:
		w.element("image_url", p.Opaque, func() { w.Base64("url", data, p.Data) }, "url")
	case p.Data == nil:
		w.Fail("a Chat Completions message accepts %s by its data, not by a URL", kind(p))
	case p.MediaType == "":
		w.Fail("missing media type: set Media.MediaType")
	case strings.HasPrefix(p.MediaType, "audio/"):
		if audioFormats[p.MediaType] == "" {
			w.Fail("a Chat Completions message accepts audio as audio/wav or audio/mpeg, not %s", p.MediaType)
		}
		w.element("input_audio", p.Opaque, func() {
			w.Base64("data", "", p.Data)
			w.Text("format", audioFormats[p.MediaType])
		}, "data", "format")
	default:
		w.element("file", p.Opaque, func() {
			w.Text("filename", cmp.Or(p.Name, unnamedFile))
			w.Base64("file_data", data, p.Data)
		}, "filename", "file_data")
	}
}

var audioFormats = map[string]string{
	"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/vnd.wave": "wav",
	"audio/mpeg": "mp3", "audio/mp3": "mp3",
}

// element writes an element with an inner object; inner writes the own members of that object.
func (w *writer) element(kind string, opaque json.RawMessage, inner func(), own ...string) {
	w.Next(`{"type":%`, kind)
	w.Raw(kind, "{")
	inner()
	w.Members(codec.Get(opaque, kind), own...)
	w.Add("}")
	w.own(opaque, "type", kind)
	w.Add("}")
}

// readMedia reads an image_url, input_audio or file element. It returns Unknown for what Media
// cannot contain, such as a file id.
func readMedia(d *jsonio.Dec, kind string) llm.Part {
	f := mediaFields{kind: kind}
	var rest codec.Members
	from := d.Offset()
	codec.ReadStrict(d,
		func(key string) { rest.Add(d, messageNames.Stored(key)) },
		"type", nil,
		kind, func() { f.read(d) })
	p, ok := f.media()
	if !ok {
		return unknownPart(kind, d.Since(from))
	}
	rest.AddObject(kind, f.rest)
	p.Opaque = rest.Object()
	return p
}

// unknownPart keeps an element unchanged. It marks the kind if another protocol would claim it.
func unknownPart(kind, raw string) llm.Part {
	u := llm.Unknown{Kind: kind, Raw: jsonio.AppendRaw(nil, []byte(raw))}
	if codec.Omits(protocolName, llm.RoleAssistant, u) {
		u.Kind = codec.ChatMark + u.Kind
	}
	return u
}

type mediaFields struct {
	kind                    string
	url, data, format, name string
	rest                    codec.Members
}

func (f *mediaFields) read(d *jsonio.Dec) {
	codec.Read(d, func(key string) {
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
	})
}

// media returns the Media, and reports whether it encodes to the same element.
func (f *mediaFields) media() (p llm.Media, ok bool) {
	mediaType, data, inline := codec.CutDataURL(f.url)
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
