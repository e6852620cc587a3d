package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// generateSchemas looks at the schemas that are Gemini's own; those in JSON Schema
// have other members.
func generateSchemas(body object) *Error {
	for i, t := range listed(body.get("tools")).elements() {
		for j, f := range listed(t.object().either("functionDeclarations")).elements() {
			for _, key := range []string{"parameters", "response"} {
				path := fmt.Sprintf("tools[%d].function_declarations[%d].%s", i, j, key)
				if e := badSchema(path, f.get(key), 0); e != nil {
					return e
				}
			}
		}
	}
	config := body.either("generationConfig").object()
	return badSchema("generation_config.response_schema", config.either("responseSchema"), 0)
}

// schemaMembers are those of a Schema ("Schema", Gemini API).
var schemaMembers = []string{
	"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
	"minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering",
	"default", "items", "minimum", "maximum",
}

// badSchema refuses what is no JSON of a Schema.
func badSchema(path string, schema value, depth int) *Error {
	if depth > deepest {
		return nil
	}
	for _, m := range schema.object() {
		if !slices.ContainsFunc(schemaMembers, func(key string) bool { return spells(m.key, key) }) {
			return unknownName("SG-09", m.key, path, "Cannot find field.")
		}
		if e := badMember(path, m, depth+1); e != nil {
			return e
		}
	}
	return nil
}

func badMember(path string, m member, depth int) *Error {
	at := path + "." + snake(m.key)
	switch at[len(path)+1:] {
	case "type":
		return badType(path, m.value)
	case "items":
		return badSchema(at, m.value, depth)
	case "properties":
		for i, p := range m.object() {
			if e := badSchema(fmt.Sprintf("%s[%d].value", at, i), p.value, depth); e != nil {
				return e
			}
		}
	case "any_of":
		for i, s := range listed(m.value).elements() {
			if e := badSchema(fmt.Sprintf("%s[%d]", at, i), s, depth); e != nil {
				return e
			}
		}
	}
	return nil
}

// badType refuses a type that is a list, or none.
func badType(path string, v value) *Error {
	if v.is('[') {
		return unknownName("SG-10", "type", path, "Proto field is not repeating, cannot start list.")
	}
	switch strings.ToUpper(v.text()) {
	case "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED":
		return nil
	}
	if !v.given() {
		return nil
	}
	return reject("SG-11", "Invalid value at '%s.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %s", path, v)
}

// generateValues refuses what no rule of quirks has, and Gemini refuses all the same: a
// mode that has to call where there is nothing to call, functions of one name, a
// temperature out of range, arguments that are a text, and parts that are two things.
func generateValues(body object, contents []content) *Error {
	names := map[string]bool{}
	for _, t := range listed(body.get("tools")).elements() {
		for _, f := range listed(t.object().either("functionDeclarations")).elements() {
			name := f.get("name").text()
			if names[name] {
				return reject("", "Duplicate function declaration found: %s", name)
			}
			names[name] = true
		}
	}
	calling := body.either("toolConfig").object().either("functionCallingConfig")
	if calling.get("mode").text() == "ANY" && len(names) == 0 {
		return reject("", "Function calling config is set without function_declarations.")
	}
	if heat, heated := body.either("generationConfig").get("temperature").number(); heated && (heat < 0 || heat > 2) {
		return reject("", "The temperature has to be in the range from 0 to 2, and is %v.", heat)
	}
	for i, c := range contents {
		for j, p := range c.parts {
			path := fmt.Sprintf("contents[%d].parts[%d]", i, j)
			if e := cmp.Or(twofold(path, p), textForArgs(path, p)); e != nil {
				return e
			}
		}
	}
	return nil
}

// textForArgs refuses arguments that are JSON in a text, as OpenAI has them.
func textForArgs(path string, part object) *Error {
	args := part.either("functionCall").get("args")
	if !args.is('"') {
		return nil
	}
	return reject("", "Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct), %s", path, args)
}

// twofold refuses a part with more than one of the members of which it has one.
func twofold(path string, part object) *Error {
	one := false
	for _, key := range partData {
		if !part.either(key).given() {
			continue
		}
		if one {
			return reject("", "Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", path, key)
		}
		one = true
	}
	return nil
}
