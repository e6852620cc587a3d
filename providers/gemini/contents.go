package gemini

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// contents writes the messages. Consecutive tool messages become one content, because the API
// requires the results of a step in one content (SG-01). Contents without parts are omitted
// (SG-06).
func (e *requestEncoder) contents() error {
	e.dst = append(wirejson.AppendKey(e.dst, "contents"), '[')
	start := len(e.dst)
	list := e.req.Messages
	for i := e.first(); i < len(list); i++ {
		m := &list[i]
		role, err := roleOf(m.Role)
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		before := len(e.dst)
		e.dst = append(wirejson.AppendComma(e.dst), `{"parts":[`...)
		parts := len(e.dst)
		if err := e.parts(i); err != nil {
			return err
		}
		for m.Role == llm.RoleTool && i+1 < len(list) && list[i+1].Role == llm.RoleTool {
			i++
			if err := e.parts(i); err != nil {
				return err
			}
		}
		if len(e.dst) == parts {
			e.dst = e.dst[:before]
			continue
		}
		e.dst = wirejson.AppendString(append(e.dst, ']'), "role", role)
		e.dst = append(appendMembers(e.dst, restOf(m.Opaque), "parts", "role"), '}')
	}
	if len(e.dst) == start {
		return errors.New("messages: no content: add a user message")
	}
	e.dst = append(e.dst, ']')
	return nil
}

func roleOf(r llm.Role) (string, error) {
	switch r {
	case llm.RoleUser, llm.RoleTool:
		return roleUser, nil
	case llm.RoleAssistant:
		return roleModel, nil
	case llm.RoleSystem:
		return "", errors.New("the Gemini API has no system message within a conversation: move its text to Request.System")
	}
	return "", fmt.Errorf("unknown role %q: want %q, %q or %q", r, llm.RoleUser, llm.RoleTool, llm.RoleAssistant)
}

const (
	roleUser  = "user"
	roleModel = "model"
)

// parts writes the parts of message i.
func (e *requestEncoder) parts(i int) error {
	called := false
	for j, p := range e.req.Messages[i].Parts {
		var err error
		switch p := p.(type) {
		case llm.ToolResult:
			err = e.result(i, &p)
		case llm.ToolCall:
			if ranElsewhere(&p) {
				continue
			}
			sign := e.gemini3 && !called && !p.ProviderExecuted
			called = called || sign
			e.dst, err = appendCall(e.dst, &p, sign)
		case llm.Unknown:
			if !codec.Omits(name, e.req.Messages[i].Role, p) {
				e.dst, err = appendUnknown(e.dst, p)
			}
		case llm.Reasoning:
			if !thoughtElsewhere(p) {
				e.dst, err = appendPart(e.dst, p)
			}
		case llm.Text, llm.Media:
			e.dst, err = appendPart(e.dst, p)
		}
		if err != nil {
			return fmt.Errorf("messages[%d].parts[%d]: %w", i, j, err)
		}
	}
	return nil
}

// appendPart appends a part as an element. Empty text without opaque data is omitted.
func appendPart(dst []byte, p llm.Part) ([]byte, error) {
	switch p := p.(type) {
	case llm.Text:
		rest := restOf(p.Opaque)
		if p.Text == "" && len(rest) == 0 {
			return dst, nil
		}
		dst = wirejson.AppendString(append(wirejson.AppendComma(dst), '{'), "text", p.Text)
		return append(appendMembers(dst, rest, "text", keyThought), '}'), nil
	case llm.Reasoning:
		rest := restOf(p.Opaque)
		if p.Text == "" && len(rest) == 0 {
			return dst, nil
		}
		dst = wirejson.AppendString(append(wirejson.AppendComma(dst), '{'), "text", p.Text)
		dst = append(wirejson.AppendKey(dst, keyThought), "true"...)
		return append(appendMembers(dst, rest, "text", keyThought), '}'), nil
	case llm.Media:
		return appendMedia(dst, &p)
	case llm.ToolCall:
		return appendCall(dst, &p, false)
	case llm.ToolResult:
		return dst, errors.New("a response contains no tool result")
	case llm.Unknown:
		return appendUnknown(dst, p)
	}
	return dst, errors.New("missing part")
}

// kindPart is the kind of an llm.Unknown that contains a Gemini part in its member "part".
const kindPart = "gemini_part"

func appendUnknown(dst []byte, p llm.Unknown) ([]byte, error) {
	if err := codec.CheckUnknown(name, p); err != nil {
		return dst, err
	}
	part := wirejson.Find(wirejson.MembersOf(p.Raw), "part")
	if part == "" {
		return dst, fmt.Errorf("the part of the kind %q has no member part: keep it as it was read", p.Kind)
	}
	return wirejson.AppendValue(wirejson.AppendComma(dst), part), nil
}

// appendMedia appends inlineData or fileData.
func appendMedia(dst []byte, p *llm.Media) ([]byte, error) {
	rest := restOf(p.Opaque)
	key, media, err := mediaOf(p, rest)
	if err != nil {
		return dst, err
	}
	dst = append(wirejson.AppendKey(append(wirejson.AppendComma(dst), '{'), key), media...)
	return append(appendMembers(dst, rest, key), '}'), nil
}

const (
	keyInline = "inlineData"
	keyFile   = "fileData"
)

// mediaOf returns the object of media and its name in a part.
func mediaOf(p *llm.Media, rest []wirejson.Member) (key string, object []byte, err error) {
	data, kind := p.Data, p.MediaType
	if len(data) == 0 {
		if k, d, ok := dataURL(p.URL); ok {
			data = d
			if kind == "" {
				kind = k
			}
		}
	}
	object = []byte{'{'}
	switch {
	case len(data) > 0 && kind == "":
		return "", nil, errors.New("missing media type: set one, such as image/png")
	case len(data) > 0:
		object = append(wirejson.AppendKey(wirejson.AppendString(object, "mimeType", kind), "data"), '"')
		object = append(base64.StdEncoding.AppendEncode(object, data), '"')
		key = keyInline
	case p.URL != "":
		if kind != "" {
			object = wirejson.AppendString(object, "mimeType", kind)
		}
		object = wirejson.AppendString(object, "fileUri", p.URL)
		key = keyFile
	case p.Digest != "":
		return "", nil, fmt.Errorf("the content of the media is stored elsewhere (%s): load it first", p.Digest)
	default:
		return "", nil, errors.New("the media has neither data nor a URL")
	}
	return key, append(appendMembers(object, innerOf(rest, key), "mimeType", "data", "fileUri"), '}'), nil
}

// dataURL parses a data URL (RFC 2397).
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

// maxArgs limits the depth of arguments. Gemini reads 100 levels of JSON, including those
// around the arguments.
const maxArgs = 90

// skipValidator replaces the signature of a call that Gemini did not make ("Thought
// signatures", https://ai.google.dev/gemini-api/docs/thought-signatures for the Gemini API and
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures for Vertex AI).
const skipValidator = `"skip_thought_signature_validator"`

// appendCall appends a call. With sign, a call without a signature gets skipValidator.
func appendCall(dst []byte, c *llm.ToolCall, sign bool) ([]byte, error) {
	switch {
	case ranElsewhere(c):
		return dst, fmt.Errorf("the call %q belongs to another provider, which ran it", c.Name)
	case c.ProviderExecuted:
		return append(appendMembers(append(wirejson.AppendComma(dst), '{'), wirejson.MembersOf(c.Opaque)), '}'), nil
	}
	rest := restOf(c.Opaque)
	dst = append(wirejson.AppendKey(append(wirejson.AppendComma(dst), '{'), keyCall), '{')
	if id := wireID(c); id != "" {
		dst = wirejson.AppendString(dst, "id", id)
	}
	dst = wirejson.AppendKey(wirejson.AppendString(dst, "name", callName(c.Name)), "args")
	if jsonio.IsObject(c.Arguments) && wirejson.Depth(c.Arguments) <= maxArgs {
		dst = wirejson.AppendValue(dst, c.Arguments)
	} else {
		dst = append(dst, "{}"...)
	}
	dst = append(appendMembers(dst, innerOf(rest, keyCall), "id", "name", "args"), '}')
	if sign && wirejson.Find(rest, keySignature) == "" {
		dst = append(wirejson.AppendKey(dst, keySignature), skipValidator...)
	}
	return append(appendMembers(dst, rest, keyCall), '}'), nil
}

// wireID returns the provider's id of a call, which may be empty.
func wireID(c *llm.ToolCall) string {
	if c.IDGenerated {
		return c.ProviderID
	}
	return c.ID
}

// innerOf returns the members of an object in rest.
func innerOf(rest []wirejson.Member, key string) []wirejson.Member {
	return wirejson.MembersOf([]byte(wirejson.Find(rest, key)))
}
