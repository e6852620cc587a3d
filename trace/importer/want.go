package importer

import (
	"encoding/json"
	"slices"
)

// Want is what should come of a run, as its recording says it. The zero Want says
// nothing.
type Want struct {
	// Answers are the final texts of which any is right; none of them is empty. A value
	// that is no text stands as its JSON.
	Answers []string
}

// wanted reads what should be answered: one value, or a list of those of which any is
// right.
func wanted(raw json.RawMessage) (w Want) {
	if isNull(raw) {
		return w
	}
	if raw[0] != '[' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	for _, value := range elementsOf(raw) {
		if text := asText(value); text != "" {
			w.Answers = append(w.Answers, text)
		}
	}
	return w
}

// asText returns a text, or the JSON of what is none.
func asText(raw json.RawMessage) string {
	if text, ok := textOf(raw); ok {
		return text
	}
	return string(raw)
}
