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

// Difference is a place where two JSON values differ.
type Difference struct {
	At string `json:"at"` // a JSON pointer (RFC 6901)
	// Want and Got are the JSON values, shortened, or "nothing".
	Want string `json:"want"`
	Got  string `json:"got"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.At, d.Want, d.Got)
}

// Differ compares JSON values: numbers by value, members in any order. It is safe for concurrent
// use.
type Differ struct{ ignore []jsonval.Pointer }

// NewDiffer returns a Differ that ignores the values at these JSON pointers on both sides; the
// name * matches all members or elements. It returns an error for an invalid pointer.
func NewDiffer(ignore ...string) (*Differ, error) {
	all, err := parsePointers(ignore)
	return &Differ{all}, err
}

// Differences returns the places where two values differ, in the order of pointers. It returns an
// error if want or got is not JSON.
func (d *Differ) Differences(want, got string) ([]Difference, error) {
	w, err := parse([]byte(want))
	if err != nil {
		return nil, fmt.Errorf("want: %w", err)
	}
	g, err := parse([]byte(got))
	if err != nil {
		return nil, fmt.Errorf("got: %w", err)
	}
	return differences("", without(w, d.ignore), without(g, d.ignore), nil), nil
}
