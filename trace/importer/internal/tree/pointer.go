package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Pointer is a JSON pointer (RFC 6901) to a value within an object.
type Pointer struct {
	What  string // the name of the value in errors
	Text  string
	Names []string
	Found bool // In has found a value at least once
}

// ParsePointer parses a pointer. It returns an error if the text does not begin with / or
// has an invalid escape.
func ParsePointer(what, text string) (*Pointer, error) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, fmt.Errorf("the JSON pointer %q to the %s: missing / at the beginning", text, what)
	}
	p := &Pointer{What: what, Text: text, Names: strings.Split(rest, "/")}
	for i, name := range p.Names {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(name), "~") {
			return nil, fmt.Errorf("the JSON pointer %q to the %s: %w", text, what, errEscape)
		}
		p.Names[i] = strings.NewReplacer("~0", "~", "~1", "/").Replace(name)
	}
	return p, nil
}

var errEscape = errors.New("invalid escape: write ~0 for ~ and ~1 for /")

// In returns the value that the pointer leads to in an object with these members; nil if
// the value is missing or null.
func (p *Pointer) In(members map[string]json.RawMessage) json.RawMessage {
	value := members[p.Names[0]]
	for _, name := range p.Names[1:] {
		if len(value) > 0 && value[0] == '[' {
			value = Element(value, name)
			continue
		}
		value = Member(value, name)
	}
	if IsNull(value) {
		return nil
	}
	p.Found = true
	return value
}
