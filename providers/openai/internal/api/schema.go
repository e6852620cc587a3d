package api

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// parameters returns a tool's schema with what OpenAI wants of every one, strict
// or not (SO-11): the type object, and properties, if only none.
func Parameters(schema json.RawMessage) json.RawMessage {
	typed, listed, empty, object := false, false, true, false
	wirejson.EachMember(schema, func(key, raw string) {
		typed = typed || key == "type"
		object = object || key == "type" && raw == `"object"`
		listed = listed || key == "properties"
		empty = false
	})
	if typed && (listed || !object) {
		return schema
	}
	d := jsonio.NewDec(string(schema))
	if d.Peek() != '{' {
		return schema
	}
	out := jsonio.AppendRaw(nil, schema)
	out = out[:len(out)-1]
	for _, m := range [...]struct {
		there bool
		text  string
	}{{typed, `"type":"object"`}, {listed, `"properties":{}`}} {
		if m.there {
			continue
		}
		if !empty {
			out = append(out, ',')
		}
		out = append(out, m.text...)
		empty = false
	}
	return append(out, '}')
}

// followsStrict reports whether a schema keeps the rules of strict: true, as far
// as the guide "Structured model outputs" states them: objects list each of
// their properties as required and allow no other, the top is an object, and no
// keyword stands there that strict does not know.
func FollowsStrict(schema json.RawMessage) bool {
	if !jsonio.Valid(schema) {
		return false
	}
	d := jsonio.NewDec(string(schema))
	return strictSchema(&d, true)
}

// strictSchema reads one schema and reports whether it keeps the rules. If it
// does not, the decoder may stand anywhere.
func strictSchema(d *jsonio.Dec, top bool) bool {
	if d.Peek() != '{' {
		return false
	}
	var names, required []string
	object, closed, ok := false, false, true
	d.Object()
	for first := true; ok; {
		key, more := d.Key(&first)
		if !more {
			break
		}
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
	}
	optional := func(name string) bool { return !slices.Contains(required, name) }
	return ok && (object && closed && !slices.ContainsFunc(names, optional) || !object && !top)
}

// strictSchemas reads an object of schemas and returns its names.
func strictSchemas(d *jsonio.Dec) (names []string, ok bool) {
	if d.Peek() != '{' {
		return nil, false
	}
	d.Object()
	for first := true; ; {
		name, more := d.Key(&first)
		if !more {
			return names, true
		}
		if !strictSchema(d, false) {
			return nil, false
		}
		names = append(names, name)
	}
}

func strictAny(d *jsonio.Dec) bool {
	if d.Peek() != '[' {
		return false
	}
	d.Array()
	for first := true; d.More(&first); {
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
	d.Array()
	for first := true; d.More(&first); {
		list = append(list, wirejson.String(d))
	}
	return list, true
}
