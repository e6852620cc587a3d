package evals

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/looptape/looptape/internal/jsonval"
)

// ByName contains values by name, sorted by name; its JSON is an object. A map with one value
// needs ten times the memory.
type ByName[T any] []item[T]

type item[T any] struct {
	Name  string
	Value T
}

func newByName[T any](of map[string]T) ByName[T] {
	if len(of) == 0 {
		return nil
	}
	b := slices.Grow(ByName[T](nil), len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		b = append(b, item[T]{name, of[name]})
	}
	return b
}

// Get returns the value with this name, if it exists.
func (b ByName[T]) Get(name string) (value T, ok bool) {
	i, ok := slices.BinarySearchFunc(b, name, func(i item[T], name string) int { return cmp.Compare(i.Name, name) })
	if ok {
		value = b[i].Value
	}
	return value, ok
}

// Has reports whether a value has this name.
func (b ByName[T]) Has(name string) bool {
	_, ok := b.Get(name)
	return ok
}

// Of returns the value with this name, or the zero value.
func (b ByName[T]) Of(name string) T {
	value, _ := b.Get(name)
	return value
}

// All yields the names with their values.
func (b ByName[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, i := range b {
			if !yield(i.Name, i.Value) {
				return
			}
		}
	}
}

// MarshalJSON returns an object.
func (b ByName[T]) MarshalJSON() ([]byte, error) {
	return jsonval.Line(maps.Collect(b.All()))
}

// UnmarshalJSON reads an object.
func (b *ByName[T]) UnmarshalJSON(text []byte) error {
	var of map[string]T
	err := json.Unmarshal(text, &of)
	*b = newByName(of)
	return err
}
