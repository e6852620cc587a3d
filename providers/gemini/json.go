package gemini

import (
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// eachMember calls f for each member of an object, with the value still to read. A null is no
// member, as in the JSON form of protocol buffers.
func eachMember(d *jsonio.Dec, f func(key string)) {
	if !d.Object() {
		return
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		switch {
		case !ok:
			return
		case !d.Null():
			f(key)
		}
	}
}

// eachElement calls f for each element of an array, with the value still to read. An object is
// an array of one element: Google accepts it, and its own REST examples omit the brackets.
func eachElement(d *jsonio.Dec, f func()) {
	if d.Peek() == '{' {
		f()
		return
	}
	if !d.Array() {
		return
	}
	for first := true; d.More(&first); {
		f()
	}
}

// camel returns the name of a member in lower camel case. Google accepts both this form and
// the one with underscores.
func camel(key string) string {
	if !strings.Contains(key, "_") {
		return key
	}
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// appendMembers appends members to an open object, except those named.
func appendMembers(dst []byte, list []wirejson.Member, except ...string) []byte {
	for _, m := range list {
		if !slices.Contains(except, m.Key) {
			dst = wirejson.AppendRaw(dst, m.Key, m.Raw)
		}
	}
	return dst
}

// compact returns a JSON value without white space.
func compact(raw string) string {
	if !strings.ContainsAny(raw, " \n\r\t") {
		return raw
	}
	return string(wirejson.Compact(raw))
}
