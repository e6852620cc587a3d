package gemini

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

type writer struct {
	codec.Writer
	gemini3 bool // of a request
}

// contents writes the messages from first on. Consecutive tool messages become one content,
// because the API requires the results of a step in one content (SG-01). Contents without parts
// are omitted (SG-06).
func (w *writer) contents(first int) {
	w.Raw("contents", "[")
	start := len(w.Dst)
	list := w.Req.Messages
	for i := first; i < len(list); i++ {
		m := &list[i]
		role := w.role(i, m.Role)
		before := len(w.Dst)
		w.Next(`{"parts":[`)
		parts := len(w.Dst)
		w.parts(i)
		for m.Role == llm.RoleTool && i+1 < len(list) && list[i+1].Role == llm.RoleTool {
			i++
			w.parts(i)
		}
		if len(w.Dst) == parts {
			w.Dst = w.Dst[:before]
			continue
		}
		w.Add("]")
		w.Text("role", role)
		w.end(restOf(m.Opaque), "parts", "role")
	}
	if w.Message = 0; len(w.Dst) == start {
		w.Fail("messages: no content: add a user message")
	}
	w.Add("]")
}

func (w *writer) end(rest codec.Members, except ...string) {
	w.Dst = append(rest.Append(w.Dst, except...), '}')
}

const (
	roleUser  = "user"
	roleModel = "model"
)

func (w *writer) role(i int, r llm.Role) string {
	w.Message = i + 1
	switch r {
	case llm.RoleUser, llm.RoleTool:
		return roleUser
	case llm.RoleAssistant:
		return roleModel
	case llm.RoleSystem:
		w.Fail("the Gemini API has no system message within a conversation: move its text to Request.System")
	default:
		w.Fail("unknown role %q: want %q, %q or %q", r, llm.RoleUser, llm.RoleTool, llm.RoleAssistant)
	}
	return ""
}

func (w *writer) parts(i int) {
	called := false
	w.Message = i + 1
	for j, p := range w.Req.Messages[i].Parts {
		w.Part = j + 1
		switch p := p.(type) {
		case llm.ToolResult:
			w.result(i, &p)
		case llm.ToolCall:
			if !ranElsewhere(&p) {
				sign := w.gemini3 && !called && !p.ProviderExecuted
				called = called || sign
				w.call(&p, sign)
			}
		case llm.Unknown:
			if !codec.Omits(name, w.Req.Messages[i].Role, p) {
				w.part(p)
			}
		case llm.Reasoning:
			if !thoughtElsewhere(p) {
				w.part(p)
			}
		default:
			w.part(p)
		}
	}
	w.Part = 0
}

// part writes a part as an element. Empty text without opaque data is omitted.
func (w *writer) part(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		w.text(p.Text, restOf(p.Opaque), false)
	case llm.Reasoning:
		w.text(p.Text, restOf(p.Opaque), true)
	case llm.Media:
		w.media(&p)
	case llm.ToolCall:
		w.call(&p, false)
	case llm.ToolResult:
		w.Fail("a response contains no tool result")
	case llm.Unknown:
		w.unknown(p)
	default:
		w.Fail("missing part")
	}
}

func (w *writer) text(text string, rest codec.Members, thought bool) {
	if text == "" && len(rest) == 0 {
		return
	}
	w.Next("{")
	w.Text("text", text)
	if thought {
		w.Raw(keyThought, "true")
	}
	w.end(rest, "text", keyThought)
}

// kindPart is the kind of an llm.Unknown that contains a Gemini part in its member "part".
const kindPart = "gemini_part"

func (w *writer) unknown(p llm.Unknown) {
	part := codec.Get(p.Raw, "part")
	if err := codec.CheckUnknown(name, p); err != nil {
		w.Fail("%w", err)
	}
	if part == nil || codec.IsNull(part) {
		w.Fail("the part of the kind %q has no member part: keep it as it was read", p.Kind)
	}
	w.Next("")
	w.Dst = codec.AppendValue(w.Dst, part)
}

const (
	keyInline = "inlineData"
	keyFile   = "fileData"
)

func (w *writer) media(p *llm.Media) {
	data, kind, key := p.Data, p.MediaType, keyInline
	if len(data) == 0 {
		if k, d, ok := dataURL(p.URL); ok {
			data, kind = d, cmp.Or(kind, k)
		}
	}
	if len(data) == 0 {
		key = keyFile
	}
	w.Next("{")
	w.Raw(key, "{")
	w.OptionalText("mimeType", kind)
	switch {
	case len(data) > 0 && kind == "":
		w.Fail("missing media type: set one, such as image/png")
	case len(data) > 0:
		w.Base64("data", "", data)
	case p.URL != "":
		w.Text("fileUri", p.URL)
	case p.Digest != "":
		w.Fail("the content of the media is stored elsewhere (%s): load it first", p.Digest)
	default:
		w.Fail("the media has neither data nor a URL")
	}
	rest := restOf(p.Opaque)
	w.end(codec.MembersOf(rest.Find(key)), "mimeType", "data", "fileUri")
	w.end(rest, key)
}

func dataURL(s string) (kind string, data []byte, ok bool) {
	s, is := strings.CutPrefix(s, "data:")
	kind, text, comma := strings.Cut(s, ",")
	if !is || !comma {
		return "", nil, false
	}
	kind, coded := strings.CutSuffix(kind, ";base64")
	if kind == "" {
		kind = "text/plain"
	}
	text, err := url.PathUnescape(text)
	if err != nil {
		return "", nil, false
	}
	if !coded {
		return kind, []byte(text), text != ""
	}
	data, ok = unbase64(text)
	return kind, data, ok && len(data) > 0
}

// unbase64 decodes base64 in either alphabet, with or without padding.
func unbase64(s string) ([]byte, bool) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	data, err := base64.RawStdEncoding.DecodeString(s)
	return data, err == nil
}

// maxArguments limits the depth of a call's arguments. Gemini reads 100 levels in all.
const maxArguments = 90

// skipValidator replaces the signature of a call that Gemini did not make ("Thought
// signatures", https://ai.google.dev/gemini-api/docs/thought-signatures for the Gemini API and
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures for Vertex AI).
const skipValidator = `"skip_thought_signature_validator"`

// call writes a call. With sign, a call without a signature gets skipValidator.
func (w *writer) call(c *llm.ToolCall, sign bool) {
	switch {
	case ranElsewhere(c):
		w.Fail("the call %q belongs to another provider, which ran it", c.Name)
		return
	case c.ProviderExecuted:
		w.Next("{")
		w.end(codec.MembersOf(c.Opaque))
		return
	}
	rest := restOf(c.Opaque)
	w.callHead(c, callName(c.Name))
	w.Key("args")
	if jsonio.IsObject(c.Arguments) && codec.Depth(c.Arguments) <= maxArguments {
		w.Dst = codec.AppendValue(w.Dst, c.Arguments)
	} else {
		w.Add("{}")
	}
	w.end(codec.MembersOf(rest.Find(keyCall)), "id", "name", "args")
	if sign && rest.Find(keySignature) == "" {
		w.Raw(keySignature, skipValidator)
	}
	w.end(rest, keyCall)
}

func (w *writer) callHead(c *llm.ToolCall, name string) {
	w.Next("{")
	w.Raw(keyCall, "{")
	w.OptionalText("id", wireID(c))
	w.Text("name", name)
}

// wireID returns the provider's id of a call, which may be empty.
func wireID(c *llm.ToolCall) string {
	if c.IDGenerated {
		return c.ProviderID
	}
	return c.ID
}

// within is the member of a functionResponse with its media. In opaque data it is empty. It
// means that a request to a model before Gemini 3 had the media there.
const within = "parts"

// result writes a functionResponse of message i with the name and id of its call. Its parts
// contain the media; for models before Gemini 3, parts after it do.
func (w *writer) result(i int, r *llm.ToolResult) {
	id, name := r.ID, r.Name
	if c := w.callWithID(i, r.ID); c != nil {
		id, name = wireID(c), c.Name
	}
	rest := restOf(r.Opaque)
	inner := codec.MembersOf(rest.Find(keyResponse))
	w.Next("{")
	w.Raw(keyResponse, "{")
	own := []string{"name", "response", within}
	if id != "" {
		w.Text("id", id)
		own = append(own, "id")
	}
	w.Text("name", callName(name))
	w.Raw("response", response(r, inner.Find("response")))
	from := len(w.Dst)
	w.Raw(within, "[")
	start := len(w.Dst)
	for k, p := range r.Content {
		w.Content = k + 1
		switch p := p.(type) {
		case llm.Text:
		case llm.Media:
			w.media(&p)
		default:
			w.Fail("a result contains only text and media")
		}
	}
	w.Content = 0
	after := string(w.Dst[start:])
	if after != "" && (w.gemini3 || inner.Find(within) != "") {
		w.Add("]")
		after = ""
	} else {
		w.Dst = w.Dst[:from]
	}
	w.end(inner, own...)
	w.end(rest, keyResponse)
	if after != "" {
		w.Next(after)
	}
}

func (w *writer) callWithID(i int, id string) *llm.ToolCall {
	for i--; i >= 0; i-- {
		for _, c := range w.Req.Messages[i].Calls() {
			if c.ID == id {
				return &c
			}
		}
	}
	return nil
}

// response returns the response of a result: as it was read, if it represents r.
func response(r *llm.ToolResult, read string) string {
	text := r.Text()
	if read != "" {
		if t, isError := textOf(read, r.Name); t == text && isError == r.IsError {
			return string(codec.AppendValue(nil, read))
		}
	}
	key := "result"
	if r.IsError {
		key = "error"
	}
	return codec.QuoteIn(`{"`+key+`":`, text, "}")
}

// textOf returns the text of a response: its only member result, output or error, or the
// content next to the tool's name (AI SDK), or else all of it as JSON.
func textOf(response, name string) (text string, isError bool) {
	members := codec.MembersOf(response)
	if len(members) == 2 {
		if content := members.Find("content"); content != "" && members.Find("name") == codec.Quote(wireName(name)) {
			return valueText(content), false
		}
	}
	if len(members) == 1 {
		switch m := members[0]; m.Key {
		case "result", "output":
			return valueText(m.Raw), false
		case "error":
			return valueText(m.Raw), true
		}
	}
	return codec.CompactText(response), false
}

func valueText(raw string) string {
	if raw[0] != '"' {
		return codec.CompactText(raw)
	}
	d := jsonio.NewDec(raw)
	return d.String()
}
