package api

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// Parameters adds the type object and properties, which OpenAI requires of a schema (SO-11).
func Parameters(schema json.RawMessage) json.RawMessage {
	var typed, listed, object bool
	for key, raw := range codec.EachMember(schema) {
		typed = typed || key == "type"
		object = object || key == "type" && raw == `"object"`
		listed = listed || key == "properties"
	}
	d := jsonio.NewDec(jsonio.View(schema))
	if typed && (listed || !object) || d.Peek() != '{' {
		return schema
	}
	out := jsonio.AppendRaw(nil, schema)
	w := codec.Writer{Dst: out[:len(out)-1]}
	if !typed {
		w.Text("type", "object")
	}
	if !listed {
		w.Raw("properties", "{}")
	}
	return append(w.Dst, '}')
}

// FollowsStrict reports whether a schema follows the rules for strict: true of the guide
// "Structured model outputs". The top is an object. Objects require all of their properties and
// allow no other. All keywords are supported.
func FollowsStrict(schema json.RawMessage) bool {
	if !jsonio.Valid(schema) {
		return false
	}
	d := jsonio.NewDec(string(schema))
	return strictSchema(&d, true)
}

// strictSchema reports whether a schema follows the rules. If not, it may not read all of it.
func strictSchema(d *jsonio.Dec, top bool) bool {
	if d.Peek() != '{' {
		return false
	}
	var names, required []string
	object, closed, ok := false, false, true
	for key := range d.Members() {
		switch key {
		case "type":
			object = strings.Contains(d.Raw(), `"object"`)
		case "properties":
			names, ok = strictSchemas(d)
		case "$defs", "definitions":
			_, ok = strictSchemas(d)
		case "additionalProperties":
			closed = d.Raw() == "false"
		case "required":
			ok = d.Peek() == '['
			for range codec.Items(d) {
				required = append(required, codec.String(d))
			}
		case "items":
			ok = strictSchema(d, false)
		case "anyOf":
			ok = !top && d.Peek() == '['
			for range codec.Items(d) {
				ok = ok && strictSchema(d, false)
			}
		case "description", "title", "enum", "const", "$ref", "$schema", "pattern", "format", "multipleOf",
			"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems":
			d.Skip()
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	optional := func(name string) bool { return !slices.Contains(required, name) }
	return object && closed && !slices.ContainsFunc(names, optional) || !object && !top
}

func strictSchemas(d *jsonio.Dec) (names []string, ok bool) {
	ok = d.Peek() == '{'
	codec.Read(d, func(name string) {
		names = append(names, name)
		ok = ok && strictSchema(d, false)
	})
	return names, ok
}

// ToolChoice reads a tool choice. Name is that of its function, if any. It returns false if
// [llm.ToolChoice] cannot represent the choice.
func ToolChoice(raw, name string) (c llm.ToolChoice, ok bool) {
	switch raw {
	case `"auto"`:
	case `"required"`:
		c.Mode = llm.ChooseRequired
	case `"none"`:
		c.Mode = llm.ChooseNone
	default:
		c = llm.ToolChoice{Mode: llm.ChooseTool, Name: name}
		return c, codec.GetString(raw, "type") == "function" && name != ""
	}
	return c, true
}
