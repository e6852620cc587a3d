package tree

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
)

// Index has the members of an object for several lookups. Its zero value has none.
type Index struct {
	members []member
	few     [12]member // memory for the members of most objects
}

type member struct {
	name  string
	value json.RawMessage
}

// Read sets the members to those of an object; none for another value.
func (x *Index) Read(raw json.RawMessage) {
	x.members = x.few[:0]
	if places := placesOf(raw); places != nil && raw[0] == '{' {
		for i := range places {
			p := &places[i]
			x.members = append(x.members, member{p.nameIn(raw), raw[p.value:p.end:p.end]})
		}
		return
	}
	d := jsonio.NewValidDec(jsonio.View(raw))
	if d.Peek() != '{' {
		return
	}
	for key := range d.Members() {
		x.members = append(x.members, member{key, Next(raw, &d)})
	}
}

// Member returns the value of a member. The last of equal names counts.
func (x *Index) Member(name string) json.RawMessage {
	for i := len(x.members) - 1; i >= 0; i-- {
		if x.members[i].name == name {
			return x.members[i].value
		}
	}
	return nil
}

// All yields the members in their order.
func (x *Index) All() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for _, m := range x.members {
			if !yield(m.name, m.value) {
				return
			}
		}
	}
}

// First returns the first of the members that the object has.
func (x *Index) First(names ...string) json.RawMessage {
	for _, name := range names {
		if value := x.Member(name); value != nil {
			return value
		}
	}
	return nil
}

// HasOthers reports whether the object has members other than these.
func (x *Index) HasOthers(names ...string) bool {
	return slices.ContainsFunc(x.members, func(m member) bool { return !slices.Contains(names, m.name) })
}

// Without returns the object without some members; nil if no other is left.
func (x *Index) Without(names ...string) json.RawMessage {
	size := 0
	for _, m := range x.members {
		if !slices.Contains(names, m.name) {
			const around = len(`,"":`)
			size += around + len(m.name) + len(m.value)
		}
	}
	if size == 0 {
		return nil
	}
	rest := append(make(Object, 0, size+1), '{')
	for _, m := range x.members {
		if slices.Contains(names, m.name) {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(jsonio.AppendString(rest, m.name), ':'), m.value...)
	}
	return rest.JSON()
}

// AreStrings reports whether each of the members is a string, null or missing.
func (x *Index) AreStrings(names ...string) bool {
	return !slices.ContainsFunc(x.members, func(m member) bool {
		return !IsNull(m.value) && !IsText(m.value) && slices.Contains(names, m.name)
	})
}
