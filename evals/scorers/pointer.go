package scorers

import (
	"fmt"

	"github.com/looptape/looptape/internal/jsonval"
)

func parsePointer(text string) (jsonval.Pointer, error) {
	p, err := jsonval.ParsePointer(text)
	if err != nil {
		return nil, fmt.Errorf("the JSON pointer %q: %w", text, err)
	}
	return p, nil
}

func parsePointers(texts []string) (all []jsonval.Pointer, err error) {
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
func without(v any, all []jsonval.Pointer) any {
	for _, p := range all {
		v = p.Remove(v)
	}
	return v
}
