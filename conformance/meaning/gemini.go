package meaning

import "strings"

var gemini = []rule{
	{"the mode AUTO is the default", func(body Object) bool {
		return drop(body, "toolConfig", Object{"functionCallingConfig": Object{"mode": "AUTO"}})
	}},
	{"an empty configuration is none", func(body Object) bool { return drop(body, "generationConfig", Object{}) }},
	{"the system's instruction has no role", func(body Object) bool {
		return drop(object(body, "systemInstruction"), "role", "user", "system")
	}},
	{"empty arguments and responses may be omitted", func(body Object) bool {
		return eachPart(body, func(part Object) bool {
			return fill(object(part, "functionCall"), "args") || fill(object(part, "functionResponse"), "response")
		})
	}},
	{"an empty text with a signature is the signature alone", func(body Object) bool {
		return eachPart(body, func(part Object) bool {
			return len(part) == 2 && part["thoughtSignature"] != nil && drop(part, "text", "")
		})
	}},
	{"a schema may be one of Gemini's own form", func(body Object) bool {
		config := object(body, "generationConfig")
		done := jsonSchema(config, "responseSchema", "responseJsonSchema")
		each(body["tools"], func(tool Object) bool {
			return each(tool["functionDeclarations"], func(f Object) bool {
				done = jsonSchema(f, "parameters", "parametersJsonSchema") || done
				return done
			})
		})
		return done
	}},
}

func eachPart(body Object, do func(Object) bool) bool {
	return each(body["contents"], func(content Object) bool { return each(content["parts"], do) })
}

// fill adds a missing object as an empty one.
func fill(in Object, key string) bool {
	if in == nil || in[key] != nil {
		return false
	}
	in[key] = Object{}
	return true
}

// jsonSchema converts a schema in Gemini's form to JSON Schema, under the other member name.
func jsonSchema(in Object, from, to string) bool {
	schema, ok := in[from]
	if !ok {
		return false
	}
	delete(in, from)
	in[to] = lower(schema)
	return true
}

// lower converts the names of types to those of JSON Schema, with null as a type.
func lower(v any) any {
	switch v := v.(type) {
	case Object:
		out := Object{}
		for key, x := range v {
			if name, ok := x.(string); ok && key == "type" {
				out[key] = strings.ToLower(name)
			} else {
				out[key] = lower(x)
			}
		}
		if drop(out, "nullable", true) {
			out["type"] = []any{out["type"], "null"}
		}
		return out
	case []any:
		for i, x := range v {
			v[i] = lower(x)
		}
	}
	return v
}
