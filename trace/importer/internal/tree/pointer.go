package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/looptape/looptape/internal/jsonval"
)

// Pointer is a JSON pointer (RFC 6901) to a value within an object. It is safe for concurrent use.
type Pointer struct {
	What  string // the name of the value in errors
	Text  string
	Names []string
	found atomic.Bool
}

// ParsePointer parses a pointer. It returns an error if the text does not begin with / or
// has an invalid escape.
func ParsePointer(what, text string) (*Pointer, error) {
	names, err := jsonval.ParsePointer(text)
	if text == "" {
		err = errors.New("missing / at the beginning")
	}
	if err != nil {
		return nil, fmt.Errorf("the JSON pointer %q to the %s: %w", text, what, err)
	}
	return &Pointer{What: what, Text: text, Names: names}, nil
}

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
	p.SetFound()
	return value
}

// Found reports whether In has found a value at least once.
func (p *Pointer) Found() bool { return p.found.Load() }

// SetFound lets Found report true.
func (p *Pointer) SetFound() { p.found.Store(true) }
