package jsonval

import (
	"errors"
	"strconv"
	"strings"
)

// Pointer is a parsed JSON pointer (RFC 6901): the names of members and the indexes of elements.
// An empty Pointer refers to the whole value.
type Pointer []string

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Escape returns a name as a JSON pointer contains it.
func Escape(name string) string { return escaper.Replace(name) }

// ParsePointer parses a JSON pointer. It returns an error if the pointer is not empty and does
// not begin with /, and for an invalid escape.
func ParsePointer(text string) (Pointer, error) {
	if text == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, errors.New("missing / at the beginning")
	}
	names := strings.Split(rest, "/")
	for i, name := range names {
		names[i] = unescaper.Replace(name)
		if Escape(names[i]) != name {
			return nil, errors.New("invalid escape: write ~0 for ~ and ~1 for /")
		}
	}
	return names, nil
}

// In returns the value that the pointer refers to in a decoded JSON value.
func (p Pointer) In(v any) (any, bool) {
	for _, name := range p {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, ok := Index(name, len(at))
			if !ok {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Remove removes the values that the pointer refers to, in which * matches every name and index.
// An element of an array becomes null, so that the others keep their indexes. Remove changes v
// and returns the result.
func (p Pointer) Remove(v any) any {
	if len(p) == 0 {
		return nil
	}
	switch at := v.(type) {
	case map[string]any:
		for name, value := range at {
			switch {
			case p[0] != "*" && p[0] != name:
			case len(p) == 1:
				delete(at, name)
			default:
				at[name] = p[1:].Remove(value)
			}
		}
	case []any:
		for i := range at {
			if p[0] == "*" || p[0] == strconv.Itoa(i) {
				at[i] = p[1:].Remove(at[i])
			}
		}
	}
	return v
}

// Index parses the index of an element of an array with n elements.
func Index(name string, n int) (int, bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == name
}

// Matches reports whether a JSON pointer, in which * matches every name and index, refers to the
// value at path. No pointer matches the whole value.
func Matches(pointer string, path []string) bool {
	for i, name := range path {
		word, rest, more := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if pointer == "" || pointer[0] != '/' || more != (i < len(path)-1) {
			return false
		}
		if word = unescaper.Replace(word); word != "*" && word != name {
			return false
		}
		pointer = "/" + rest
	}
	return len(path) > 0
}
