// Package meaning normalizes the body of a model request, so that two bodies with the same meaning
// compare as equal. It does not use the codecs. A difference is allowed by one of its rules, or is a
// difference of the meaning.
package meaning

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Object is a JSON object. Numbers in it are of type json.Number.
type Object = map[string]any

// rule is a difference of the form that does not change the meaning. apply converts a body to the
// shorter form, and reports whether it had another.
type rule struct {
	about string
	apply func(body Object) bool
}

// Of returns the normalized body of a request in a protocol (openai-chat, openai-responses,
// anthropic-messages or gemini) and the rules that applied.
func Of(protocol string, body []byte) (asked Object, needed []string, err error) {
	rules, ok := map[string][]rule{
		"openai-chat": chat, "openai-responses": responses, "anthropic-messages": anthropic, "gemini": gemini,
	}[protocol]
	if !ok {
		return nil, nil, fmt.Errorf("unknown protocol %q", protocol)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&asked); err != nil {
		return nil, nil, fmt.Errorf("the body is no JSON object: %w", err)
	}
	for _, r := range rules {
		if r.apply(asked) {
			needed = append(needed, r.about)
		}
	}
	return asked, needed, nil
}

// drop removes a member that has one of the default values.
func drop(from Object, key string, values ...any) bool {
	have, ok := from[key]
	if !ok {
		return false
	}
	for _, v := range values {
		if same(have, v) {
			delete(from, key)
			return true
		}
	}
	return false
}

// same reports whether two values are the same JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// each calls do for each object at a path of members in a value, and reports whether a call returned
// true. A list on the path continues with each of its elements.
func each(v any, path []string, do func(Object) bool) (done bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			done = each(item, path, do) || done
		}
	case Object:
		if len(path) == 0 {
			return do(v)
		}
		return each(v[path[0]], path[1:], do)
	}
	return done
}

// at returns a rule for each object at a path, whose members are separated by spaces.
func at(path string, do func(Object) bool) func(body Object) bool {
	return func(body Object) bool { return each(body, strings.Fields(path), do) }
}

// dropAt is [drop] for each object at a path.
func dropAt(path, key string, values ...any) func(body Object) bool {
	return at(path, func(o Object) bool { return drop(o, key, values...) })
}

// plainAt is [plain] for each object at a path.
func plainAt(path, key, kind string) func(body Object) bool {
	return at(path, func(o Object) bool { return plain(o, key, kind) })
}

// all applies several rules as one.
func all(rules ...func(body Object) bool) func(body Object) bool {
	return func(body Object) (done bool) {
		for _, apply := range rules {
			done = apply(body) || done
		}
		return done
	}
}

// plain replaces a list that has only one text by this text.
func plain(in Object, key, kind string) bool {
	list, _ := in[key].([]any)
	if len(list) != 1 {
		return false
	}
	part, _ := list[0].(Object)
	text, is := part["text"].(string)
	if !is || len(part) != 2 || part["type"] != kind {
		return false
	}
	in[key] = text
	return true
}

var anthropic = []rule{
	{"a free choice is the default", dropAt("", "tool_choice", Object{"type": "auto"})},
	{"a list of one text is the text", plainAt("", "system", "text")},
	{"a result without an error is the default", dropAt("messages content", "is_error", false)},
	{"a call that the model made itself is the default", dropAt("messages content", "caller", Object{"type": "direct"})},
	{"turns of one role in a row are one", join},
}

// join joins consecutive messages of one role whose contents are lists.
func join(body Object) (done bool) {
	messages, _ := body["messages"].([]any)
	var out []any
	for _, m := range messages {
		next, _ := m.(Object)
		list, is := next["content"].([]any)
		if n := len(out); n > 0 && is {
			last, _ := out[n-1].(Object)
			if before, is := last["content"].([]any); is && last["role"] == next["role"] {
				out[n-1] = Object{"role": next["role"], "content": append(before, list...)}
				done = true
				continue
			}
		}
		out = append(out, m)
	}
	if done {
		body["messages"] = out
	}
	return done
}

var gemini = []rule{
	{"the mode AUTO is the default", dropAt("", "toolConfig", Object{"functionCallingConfig": Object{"mode": "AUTO"}})},
	{"an empty configuration is equal to a missing one", dropAt("", "generationConfig", Object{})},
	{"the system's instruction has no role", dropAt("systemInstruction", "role", "user", "system")},
	{"empty arguments and responses may be omitted", all(
		fillAt("contents parts functionCall", "args"), fillAt("contents parts functionResponse", "response"),
	)},
	{"an empty text with a signature is the signature alone", at("contents parts", func(part Object) bool {
		return len(part) == 2 && part["thoughtSignature"] != nil && drop(part, "text", "")
	})},
	{"a schema may be one of Gemini's own form", all(
		jsonSchemaAt("generationConfig", "responseSchema", "responseJsonSchema"),
		jsonSchemaAt("tools functionDeclarations", "parameters", "parametersJsonSchema"),
	)},
}

// fillAt adds a missing object as an empty one.
func fillAt(path, key string) func(body Object) bool {
	return at(path, func(in Object) bool {
		missing := in[key] == nil
		if missing {
			in[key] = Object{}
		}
		return missing
	})
}

// jsonSchemaAt converts a schema in Gemini's form to JSON Schema, under the other member name.
func jsonSchemaAt(path, from, to string) func(body Object) bool {
	return at(path, func(in Object) bool {
		schema, ok := in[from]
		if ok {
			delete(in, from)
			in[to] = lower(schema)
		}
		return ok
	})
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

var chat = []rule{
	{"the choice auto is the default", dropAt("", "tool_choice", "auto")},
	{"a non-streaming response is the default", dropAt("", "stream", false)},
	{"a list of one text is the text", plainAt("messages", "content", "text")},
	{"with calls or a refusal, missing, null and empty content are equal", at("messages", func(m Object) bool {
		return (m["tool_calls"] != nil || m["refusal"] != nil) && drop(m, "content", nil, "")
	})},
	{"the index of an echoed call is its position", at("messages", func(m Object) bool {
		n := -1
		return each(m["tool_calls"], nil, func(call Object) bool {
			n++
			return drop(call, "index", n)
		})
	})},
	{"one stop sequence is a list of one", func(body Object) bool {
		one, is := body["stop"].(string)
		if is {
			body["stop"] = []any{one}
		}
		return is
	}},
}

var responses = []rule{
	{"the choice auto is the default", dropAt("", "tool_choice", "auto")},
	{"an input that is a text is a message of the user", func(body Object) bool {
		text, is := body["input"].(string)
		if is {
			body["input"] = []any{Object{"role": "user", "content": text}}
		}
		return is
	}},
	{"a message is the default among the items", dropAt("input", "type", "message")},
	{"a format that is not strict is the default", dropAt("text format", "strict", false)},
	{"an item that is completed is the default", dropAt("input", "status", "completed")},
	{"an empty list says nothing", all(
		at("input", func(item Object) bool { return item["type"] == "reasoning" && drop(item, "content", []any{}) }),
		dropAt("input content", "annotations", []any{}), dropAt("input content", "logprobs", []any{}),
	)},
	{"a list of one text is the text", all(
		plainAt("input", "content", "input_text"), plainAt("input", "content", "output_text"),
	)},
}
