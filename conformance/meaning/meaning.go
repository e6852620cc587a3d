// Package meaning reads the body of a request to a model for what it asks, so that
// two that ask the same compare as equal. It knows nothing of the codecs: a
// difference is allowed by one of its rules, or is one.
package meaning

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Object is a JSON object. Numbers in it are of type json.Number.
type Object = map[string]any

// rule is a difference in spelling that changes nothing. apply brings a body into
// the shorter spelling, and reports whether it was in another.
type rule struct {
	about string
	apply func(body Object) bool
}

// Of returns what the body of a request asks in a protocol, openai-chat,
// openai-responses, anthropic-messages or gemini, and the rules that were needed to
// see it.
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

// drop takes a member away where it is one of the values that go without saying.
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

// each calls do for every object in a list, and reports whether one of the calls
// did.
func each(list any, do func(Object) bool) (done bool) {
	items, _ := list.([]any)
	for _, item := range items {
		if o, ok := item.(Object); ok && do(o) {
			done = true
		}
	}
	return done
}

// plain puts a text in the place of a list with this one text and nothing else.
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
