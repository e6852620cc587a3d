package strict

import (
	"slices"
	"strconv"
)

// isSchema reports whether a value conforms to the meta-schema of JSON Schema 2020-12.
func isSchema(v value, depth int) bool {
	if v == "true" || v == "false" || depth > maxDepth {
		return true
	}
	if !v.is('{') {
		return false
	}
	return !slices.ContainsFunc(v.object(), func(m member) bool { return !isKeyword(m.key, m.value, depth+1) })
}

func isKeyword(key string, v value, depth int) bool {
	switch key {
	case "type":
		return isType(v)
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return v.is('{') && !slices.ContainsFunc(v.object(), func(m member) bool { return !isSchema(m.value, depth) })
	case "items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
		return isSchema(v, depth)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		for _, e := range v.elements() {
			if !isSchema(e, depth) {
				return false
			}
		}
		return v.is('[') && !v.empty()
	case "required":
		return isNames(v)
	case "enum", "examples":
		return v.is('[')
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return isNumber(v)
	case "multipleOf":
		f, err := strconv.ParseFloat(string(v), 64)
		return err == nil && f > 0
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return isNumber(v) && !v.is('-')
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return v == "true" || v == "false"
	case "pattern", "$ref", "$id", "$schema", "$anchor", "$dynamicRef", "$comment", "title", "description", "format", "contentEncoding", "contentMediaType":
		return v.is('"')
	}
	return true
}

func isNumber(v value) bool { return v.is('-') || v != "" && v[0] >= '0' && v[0] <= '9' }

func isType(v value) bool {
	if !v.is('[') {
		return isTypeName(v.string())
	}
	for _, e := range v.elements() {
		if !isTypeName(e.string()) {
			return false
		}
	}
	return !v.empty()
}

func isTypeName(name string) bool {
	return slices.Contains([]string{"null", "boolean", "object", "array", "number", "string", "integer"}, name)
}

func isNames(v value) bool {
	seen := map[string]bool{}
	for _, e := range v.elements() {
		if !e.is('"') || seen[e.string()] {
			return false
		}
		seen[e.string()] = true
	}
	return v.is('[')
}
