package wire

import (
	"fmt"
	"slices"
	"strings"
)

// generateSchemas looks at the schemas that are Gemini's own; those in JSON Schema
// have other members.
func generateSchemas(body object) *refusal {
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
func badSchema(path string, schema value, depth int) *refusal {
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

func badMember(path string, m member, depth int) *refusal {
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
func badType(path string, v value) *refusal {
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
	return refused("SG-11", "Invalid value at '%s.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %s", path, v)
}
