package scorers

import (
	"fmt"
	"strconv"
	"strings"
)

// pointer is a JSON pointer (RFC 6901), name by name. None of them is the whole value.
type pointer []string

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func parsePointer(text string) (pointer, error) {
	if text == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, fmt.Errorf("the JSON pointer %q has to begin with /", text)
	}
	names := strings.Split(rest, "/")
	for i, name := range names {
		names[i] = unescaper.Replace(name)
		if escaper.Replace(names[i]) != name {
			return nil, fmt.Errorf("the JSON pointer %q: after ~ there must be 0 (for ~) or 1 (for /)", text)
		}
	}
	return names, nil
}

func pointers(texts []string) (all []pointer, err error) {
	for _, text := range texts {
		p, err := parsePointer(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// without removes the values of pointers; the name * matches all members or elements. It may
// change the value.
func without(v any, all []pointer) any {
	for _, p := range all {
		v = p.cut(v)
	}
	return v
}

// cut removes the value of the pointer. An array element becomes null, so that the others keep
// their places.
func (p pointer) cut(v any) any {
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
				at[name] = p[1:].cut(value)
			}
		}
	case []any:
		for i := range at {
			if p[0] == "*" || p[0] == strconv.Itoa(i) {
				at[i] = p[1:].cut(at[i])
			}
		}
	}
	return v
}

// in returns what the pointer leads to.
func (p pointer) in(v any) (any, bool) {
	for _, name := range p {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, ok := index(name, len(at))
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

// index is the place below n that a name is, as an array has them.
func index(name string, n int) (int, bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == name
}
