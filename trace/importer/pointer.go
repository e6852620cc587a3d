package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// pointer is a JSON pointer (RFC 6901) to a value below the top.
type pointer struct {
	what, text string // what is there, as a word
	names      []string
	found      bool // something, once
}

// parsePointer reads a pointer.
func parsePointer(what, text string) (*pointer, error) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, fmt.Errorf("the JSON pointer %q to the %s has to begin with /", text, what)
	}
	p := &pointer{what: what, text: text}
	for name := range strings.SplitSeq(rest, "/") {
		plain, err := unescape(name)
		if err != nil {
			return nil, fmt.Errorf("the JSON pointer %q to the %s: %w", text, what, err)
		}
		p.names = append(p.names, plain)
	}
	return p, nil
}

// unescape turns ~1 into / and ~0 into ~.
func unescape(name string) (string, error) {
	plain := strings.NewReplacer("~0", "", "~1", "").Replace(name)
	if strings.Contains(plain, "~") {
		return "", errors.New("behind ~ there has to be 0 (for ~) or 1 (for /)")
	}
	return strings.NewReplacer("~0", "~", "~1", "/").Replace(name), nil
}

// in returns the value that the pointer leads to in an object of these members; nil if
// there is none, or null.
func (p *pointer) in(members map[string]json.RawMessage) json.RawMessage {
	value := members[p.names[0]]
	for _, name := range p.names[1:] {
		if len(value) > 0 && value[0] == '[' {
			value = elementOf(value, name)
			continue
		}
		value = memberOf(value, name)
	}
	if isNull(value) {
		return nil
	}
	p.found = true
	return value
}

// elementOf returns an element of an array, named as pointers do: in decimal.
func elementOf(array json.RawMessage, name string) json.RawMessage {
	for n, value := range elementsOf(array) {
		if strconv.Itoa(n) == name {
			return value
		}
	}
	return nil
}
