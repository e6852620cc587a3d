// Package meaning normalizes the body of a model request, so that two bodies with the same meaning
// compare as equal. It does not use the codecs. A difference is allowed by one of its rules, or is a
// difference of the meaning.
package meaning

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		return nil, nil, fmt.Errorf("there is no protocol %q", protocol)
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

// each calls do for each object in a list, and reports whether a call returned true.
func each(list any, do func(Object) bool) (done bool) {
	items, _ := list.([]any)
	for _, item := range items {
		if o, ok := item.(Object); ok && do(o) {
			done = true
		}
	}
	return done
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

func object(in Object, key string) Object {
	o, _ := in[key].(Object)
	return o
}
