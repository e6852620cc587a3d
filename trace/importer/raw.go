package importer

import (
	"encoding/json"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// What follows looks into values that are known to be JSON, and finds nothing in those
// of another kind, nil among them.

// membersOf yields the members of an object.
func membersOf(raw json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := jsonio.NewDec(jsonio.View(raw))
		if d.Peek() != '{' {
			return
		}
		d.Object()
		for first := true; ; {
			key, ok := d.Key(&first)
			if !ok || !yield(key, json.RawMessage(d.Raw())) {
				return
			}
		}
	}
}

// memberOf returns the value at the end of a path of names.
func memberOf(raw json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		object := raw
		raw = nil
		for key, value := range membersOf(object) {
			if key == name {
				raw = value
			}
		}
	}
	return raw
}

// elementsOf yields the elements of an array.
func elementsOf(raw json.RawMessage) iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		d := jsonio.NewDec(jsonio.View(raw))
		if d.Peek() != '[' {
			return
		}
		d.Array()
		first := true
		for n := 0; d.More(&first); n++ {
			if !yield(n, json.RawMessage(d.Raw())) {
				return
			}
		}
	}
}

// textOf returns a string.
func textOf(raw json.RawMessage) (text string, ok bool) {
	d := jsonio.NewDec(jsonio.View(raw))
	if d.Peek() != '"' {
		return "", false
	}
	return d.String(), true
}

// isNull reports whether a value is null, or is none.
func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// scalar returns the text of a string or a number, and nothing of all else.
func scalar(raw json.RawMessage) string {
	if text, ok := textOf(raw); ok {
		return text
	}
	if len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return string(raw)
	}
	return ""
}

// epochOf returns a number from 0 up, or NoEpoch.
func epochOf(raw json.RawMessage) int {
	if n, err := strconv.Atoi(scalar(raw)); err == nil && n >= 0 {
		return n
	}
	return NoEpoch
}

// finite puts in quotes what stands for numbers that are none, as Python writes them,
// and for which JSON has no word: NaN, Infinity and -Infinity. All else stays as it is.
func finite(text string) string {
	if !strings.Contains(text, "NaN") && !strings.Contains(text, "Infinity") {
		return text
	}
	return notFinite.ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == '"' {
			return s
		}
		return `"` + s + `"`
	})
}

// notFinite matches texts too, for what stands in them is none.
var notFinite = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|NaN|-?Infinity`)
