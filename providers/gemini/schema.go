package gemini

import (
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// readSchema reads a schema in Gemini's form, which is a subset of OpenAPI 3.0,
// as JSON Schema: types in lower case, nullable as a type of its own.
func readSchema(d *jsonio.Dec) json.RawMessage {
	var dst []byte
	schema(d, &dst)
	return dst
}

// schema copies one schema.
func schema(d *jsonio.Dec, dst *[]byte) {
	*dst = append(*dst, '{')
	kind, nullable := "", false
	eachMember(d, func(key string) {
		switch key = camel(key); key {
		case "type":
			kind = strings.ToLower(d.String())
		case "nullable":
			nullable = d.Bool()
		case "items":
			*dst = appendKey(*dst, key)
			schema(d, dst)
		case "properties":
			*dst = append(appendKey(*dst, key), '{')
			eachMember(d, func(name string) {
				*dst = appendKey(*dst, name)
				schema(d, dst)
			})
			*dst = append(*dst, '}')
		case "anyOf":
			*dst = append(appendKey(*dst, key), '[')
			eachElement(d, func() {
				*dst = appendComma(*dst)
				schema(d, dst)
			})
			*dst = append(*dst, ']')
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			*dst = append(appendKey(*dst, key), strings.Trim(d.Raw(), `"`)...) // 64 bits may come as a string
		default:
			*dst = append(appendKey(*dst, key), compact(d.Raw())...)
		}
	})
	switch {
	case nullable && kind != "":
		*dst = append(append(appendKey(*dst, "type"), '['), quote(kind)...)
		*dst = append(*dst, `,"null"]`...)
	case kind != "":
		*dst = appendMember(*dst, "type", kind)
	}
	*dst = append(*dst, '}')
}
