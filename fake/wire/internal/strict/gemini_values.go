package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// generateSchemas checks the schemas in Gemini's own form, not those in JSON Schema.
func generateSchemas(body object) *Error {
	for i, t := range asArray(body.get("tools")).elements() {
		for j, f := range asArray(t.object().either("functionDeclarations")).elements() {
			for _, key := range []string{"parameters", "response"} {
				path := fmt.Sprintf("tools[%d].function_declarations[%d].%s", i, j, key)
				if e := checkSchema(path, f.get(key), 0); e != nil {
					return e
				}
			}
		}
	}
	config := body.either("generationConfig").object()
	return checkSchema("generation_config.response_schema", config.either("responseSchema"), 0)
}

// schemaMembers are those of a Schema ("Schema", Gemini API).
var schemaMembers = []string{
	"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
	"minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering",
	"default", "items", "minimum", "maximum",
}

func checkSchema(path string, schema value, depth int) *Error {
	if depth > maxDepth {
		return nil
	}
	for _, m := range schema.object() {
		if !slices.ContainsFunc(schemaMembers, func(key string) bool { return matchesName(m.key, key) }) {
			return unknownName("SG-09", m.key, path, "Cannot find field.")
		}
		if e := checkSchemaMember(path, m, depth+1); e != nil {
			return e
		}
	}
	return nil
}

func checkSchemaMember(path string, m member, depth int) *Error {
	at := path + "." + snake(m.key)
	switch at[len(path)+1:] {
	case "type":
		return checkType(path, m.value)
	case "items":
		return checkSchema(at, m.value, depth)
	case "properties":
		for i, p := range m.object() {
			if e := checkSchema(fmt.Sprintf("%s[%d].value", at, i), p.value, depth); e != nil {
				return e
			}
		}
	case "any_of":
		for i, s := range asArray(m.value).elements() {
			if e := checkSchema(fmt.Sprintf("%s[%d]", at, i), s, depth); e != nil {
				return e
			}
		}
	}
	return nil
}

func checkType(path string, v value) *Error {
	if v.is('[') {
		return unknownName("SG-10", "type", path, "Proto field is not repeating, cannot start list.")
	}
	switch strings.ToUpper(v.string()) {
	case "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED":
		return nil
	}
	if !v.isSet() {
		return nil
	}
	return reject("SG-11", "Invalid value at '%s.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %s", path, v)
}

// generateValues rejects values that Gemini rejects although no rule of the list names
// them.
func generateValues(body object, contents []content) *Error {
	names := map[string]bool{}
	for _, t := range asArray(body.get("tools")).elements() {
		for _, f := range asArray(t.object().either("functionDeclarations")).elements() {
			name := f.text("name")
			if names[name] {
				return reject("", "Duplicate function declaration found: %s", name)
			}
			names[name] = true
		}
	}
	calling := body.either("toolConfig").object().either("functionCallingConfig")
	if calling.text("mode") == "ANY" && len(names) == 0 {
		return reject("", "Function calling config is set without function_declarations.")
	}
	if temperature, hasTemperature := body.either("generationConfig").get("temperature").number(); hasTemperature && (temperature < 0 || temperature > 2) {
		return reject("", "The temperature has to be in the range from 0 to 2, and is %v.", temperature)
	}
	for i, c := range contents {
		for j, p := range c.parts {
			path := fmt.Sprintf("contents[%d].parts[%d]", i, j)
			if e := cmp.Or(checkSingle(path, p), checkArgumentsObject(path, p)); e != nil {
				return e
			}
		}
	}
	return nil
}

func checkArgumentsObject(path string, part object) *Error {
	args := part.either("functionCall").get("args")
	if !args.is('"') {
		return nil
	}
	return reject("", "Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct), %s", path, args)
}

func checkSingle(path string, part object) *Error {
	one := false
	for _, key := range partData {
		if !part.either(key).isSet() {
			continue
		}
		if one {
			return reject("", "Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", path, key)
		}
		one = true
	}
	return nil
}
