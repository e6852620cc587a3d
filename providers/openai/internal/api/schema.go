package api

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/internal/codec"
)

// Parameters adds what OpenAI requires of each tool schema (SO-11): the type object and
// properties.
func Parameters(schema json.RawMessage) json.RawMessage {
	var typed, listed, object bool
	codec.EachMember(schema, func(key, raw string) {
		typed = typed || key == "type"
		object = object || key == "type" && raw == `"object"`
		listed = listed || key == "properties"
	})
	d := jsonio.NewDec(jsonio.View(schema))
	if typed && (listed || !object) || d.Peek() != '{' {
		return schema
	}
	out := jsonio.AppendRaw(nil, schema)
	out = out[:len(out)-1]
	if !typed {
		out = codec.AppendString(out, "type", "object")
	}
	if !listed {
		out = append(codec.AppendKey(out, "properties"), "{}"...)
	}
	return append(out, '}')
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

// strictSchema reads a schema and reports whether it follows the rules. If not, the position of
// d is undefined.
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
			required, ok = stringList(d)
		case "items":
			ok = strictSchema(d, false)
		case "anyOf":
			ok = !top && strictAny(d)
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
	if d.Peek() != '{' {
		return nil, false
	}
	for name := range d.Members() {
		if !strictSchema(d, false) {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

func strictAny(d *jsonio.Dec) bool {
	if d.Peek() != '[' {
		return false
	}
	for range d.Elements() {
		if !strictSchema(d, false) {
			return false
		}
	}
	return true
}

func stringList(d *jsonio.Dec) (list []string, ok bool) {
	if d.Peek() != '[' {
		return nil, false
	}
	for range d.Elements() {
		list = append(list, codec.String(d))
	}
	return list, true
}
