package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonval"
)

// patchOperation is an operation of JSON Patch (RFC 6902): add, remove or replace.
type patchOperation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"` // empty for remove
}

// edit is a parsed operation.
type edit struct {
	op, path string
	at       jsonval.Pointer
	value    any // absent{} for remove
}

// edits parses a patch.
func edits(patch []patchOperation) (all []edit, err error) {
	for _, o := range patch {
		e := edit{op: o.Op, path: o.Path, value: absent{}}
		if e.at, err = parsePointer(o.Path); err != nil {
			return nil, err
		}
		switch o.Op {
		case "add", "replace":
			if e.value, err = parse(o.Value); err != nil {
				return nil, fmt.Errorf("the value of %s %q: %w", o.Op, o.Path, err)
			}
		case "remove":
			if len(o.Value) > 0 {
				return nil, fmt.Errorf("remove %q has a value", o.Path)
			}
		default:
			return nil, fmt.Errorf("unknown operation %q of %q: want add, remove or replace", o.Op, o.Path)
		}
		all = append(all, e)
	}
	return all, nil
}

// patched applies a patch to a value. It may change the value.
func patched(v any, patch []edit) (_ any, err error) {
	for _, e := range patch {
		if v, err = e.of(e.at, v); err != nil {
			return nil, fmt.Errorf("%s %q: %w", e.op, e.path, err)
		}
	}
	return v, nil
}

// of edits the value at a pointer.
func (e *edit) of(at jsonval.Pointer, v any) (any, error) {
	if len(at) == 0 {
		if v == (absent{}) && e.op != "add" {
			return nil, errors.New("no value exists there")
		}
		return e.copied()
	}
	switch v := v.(type) {
	case map[string]any:
		next, err := e.of(at[1:], member(v, at[0]))
		if next == (absent{}) {
			delete(v, at[0])
		} else {
			v[at[0]] = next
		}
		return v, err
	case []any:
		return e.element(at, v)
	}
	return nil, errors.New("the parent is neither an object nor an array")
}

// copied returns a copy of the value, because later edits change it.
func (e *edit) copied() (any, error) {
	if e.value == (absent{}) {
		return e.value, nil
	}
	raw, err := json.Marshal(e.value)
	if err != nil {
		return nil, err
	}
	return parse(raw)
}

// element edits an element of an array, or appends one.
func (e *edit) element(at jsonval.Pointer, v []any) (any, error) {
	i, ok := jsonval.Index(at[0], len(v)+1)
	if at[0] == "-" {
		i, ok = len(v), true
	}
	adds := e.op == "add" && len(at) == 1
	if !ok || i == len(v) && !adds {
		return nil, fmt.Errorf("the array has no element %s", at[0])
	}
	if adds {
		value, err := e.copied()
		return slices.Insert(v, i, value), err
	}
	next, err := e.of(at[1:], v[i])
	if next == (absent{}) {
		return slices.Delete(v, i, i+1), err
	}
	v[i] = next
	return v, err
}

// change is a difference between two values: those at a path, or absent{}.
type change struct {
	path          string
	before, after any
}

// verb returns the operation of JSON Patch.
func (c *change) verb() string {
	switch {
	case c.before == absent{}:
		return "add"
	case c.after == absent{}:
		return "remove"
	}
	return "replace"
}

// String describes the change.
func (c *change) String() string {
	text := c.verb() + " " + c.path
	if c.after != (absent{}) {
		text += " = " + shown(c.after)
	}
	return text
}

// changes returns the differences between two values in the order of paths: of objects by member, of
// arrays by element between their common beginning and end.
func changes(at string, before, after any, found []change) []change {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			union := maps.Clone(b)
			maps.Copy(union, a)
			for _, name := range slices.Sorted(maps.Keys(union)) {
				found = changes(at+"/"+jsonval.Escape(name), member(b, name), member(a, name), found)
			}
			return found
		}
	case []any:
		if a, ok := after.([]any); ok {
			return elements(at, b, a, found)
		}
	}
	if equal(before, after) {
		return found
	}
	return append(found, change{at, before, after})
}

// elements returns the changes between two arrays.
func elements(at string, before, after []any, found []change) []change {
	from := 0
	for from < min(len(before), len(after)) && equal(before[from], after[from]) {
		from++
	}
	for n := len(before) - 1; n >= from && len(after) > from && equal(before[n], after[len(after)-1]); n-- {
		before, after = before[:n], after[:len(after)-1]
	}
	for i := from; i < max(len(before), len(after)); i++ {
		found = changes(at+"/"+strconv.Itoa(i), elementOf(before, i), elementOf(after, i), found)
	}
	return found
}

func elementOf(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}
