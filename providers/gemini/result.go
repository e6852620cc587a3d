package gemini

import (
	"fmt"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// within is the member of a functionResponse with its media. In opaque data it is empty. It
// means that a request to a model before Gemini 3 had the media there.
const within = "parts"

// result writes a functionResponse of message i with the name and id of its call. Its parts
// contain the media; for models before Gemini 3, parts after it do.
func (e *requestEncoder) result(i int, r *llm.ToolResult) error {
	id, name := r.ID, r.Name
	if c := e.callOf(i, r.ID); c != nil {
		id, name = wireID(c), c.Name
	}
	rest := restOf(r.Opaque)
	inner := innerOf(rest, keyResponse)
	e.dst = append(wirejson.AppendKey(append(wirejson.AppendComma(e.dst), '{'), keyResponse), '{')
	but := []string{"name", "response", within}
	if id != "" {
		e.dst = wirejson.AppendString(e.dst, "id", id)
		but = append(but, "id")
	}
	e.dst = wirejson.AppendKey(wirejson.AppendString(e.dst, "name", callName(name)), "response")
	e.dst = appendResponse(e.dst, r, wirejson.Find(inner, "response"))
	var beside []byte
	for k, p := range r.Content {
		switch p := p.(type) {
		case llm.Text:
		case llm.Media:
			media, err := appendMedia([]byte{'['}, &p)
			if err != nil {
				return fmt.Errorf("content[%d]: %w", k, err)
			}
			beside = append(append(beside, ','), media[1:]...)
		default:
			return fmt.Errorf("content[%d]: a result contains only text and media", k)
		}
	}
	if beside != nil && (e.gemini3 || wirejson.Find(inner, within) != "") {
		e.dst = append(append(append(wirejson.AppendKey(e.dst, within), '['), beside[1:]...), ']')
		beside = nil
	}
	e.dst = append(appendMembers(e.dst, inner, but...), '}')
	e.dst = append(appendMembers(e.dst, rest, keyResponse), '}')
	e.dst = append(e.dst, beside...)
	return nil
}

// callOf returns the last call with an id before message i.
func (e *requestEncoder) callOf(i int, id string) *llm.ToolCall {
	for i--; i >= 0; i-- {
		for _, p := range e.req.Messages[i].Parts {
			if c, ok := p.(llm.ToolCall); ok && c.ID == id && !c.ProviderExecuted {
				return &c
			}
		}
	}
	return nil
}

// appendResponse appends a response: read unchanged, if it represents r.
func appendResponse(dst []byte, r *llm.ToolResult, read string) []byte {
	text := r.Text()
	if read != "" {
		if t, isError := textOf(read, r.Name); t == text && isError == r.IsError {
			return wirejson.AppendValue(dst, read)
		}
	}
	key := "result"
	if r.IsError {
		key = "error"
	}
	return append(wirejson.AppendString(append(dst, '{'), key, text), '}')
}

// textOf returns the text of a response: its only member result, output or error, or the
// content next to the tool's name (AI SDK), or else all of it as JSON.
func textOf(response, name string) (text string, isError bool) {
	members := wirejson.MembersOf([]byte(response))
	if len(members) == 2 {
		if content := wirejson.Find(members, "content"); content != "" && wirejson.Find(members, "name") == quote(wireName(name)) {
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
	return compact(response), false
}

// valueText returns a string, or any other value as JSON.
func valueText(raw string) string {
	if raw[0] != '"' {
		return compact(raw)
	}
	d := jsonio.NewDec(raw)
	return d.String()
}
