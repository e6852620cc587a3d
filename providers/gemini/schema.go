package gemini

import (
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// readSchema converts a schema in Gemini's form, a subset of OpenAPI 3.0, to JSON Schema: types
// become lower case, and nullable becomes a type.
func readSchema(d *jsonio.Dec) json.RawMessage {
	var dst []byte
	schema(d, &dst)
	return dst
}

// schema converts one schema.
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
			*dst = wirejson.AppendKey(*dst, key)
			schema(d, dst)
		case "properties":
			*dst = append(wirejson.AppendKey(*dst, key), '{')
			eachMember(d, func(name string) {
				*dst = wirejson.AppendKey(*dst, name)
				schema(d, dst)
			})
			*dst = append(*dst, '}')
		case "anyOf":
			*dst = append(wirejson.AppendKey(*dst, key), '[')
			eachElement(d, func() {
				*dst = wirejson.AppendComma(*dst)
				schema(d, dst)
			})
			*dst = append(*dst, ']')
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			*dst = append(wirejson.AppendKey(*dst, key), strings.Trim(d.Raw(), `"`)...) // 64 bits may come as a string
		default:
			*dst = append(wirejson.AppendKey(*dst, key), compact(d.Raw())...)
		}
	})
	switch {
	case nullable && kind != "":
		*dst = append(append(wirejson.AppendKey(*dst, "type"), '['), quote(kind)...)
		*dst = append(*dst, `,"null"]`...)
	case kind != "":
		*dst = wirejson.AppendString(*dst, "type", kind)
	}
	*dst = append(*dst, '}')
}
