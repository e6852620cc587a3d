package codec

import (
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

const (
	// MaxKept is the size limit of an unknown member, because each later request carries
	// the message that it is on.
	MaxKept = 32 << 10
	// maxMembers is how many members a MemberSet has at most.
	maxMembers = 4096
)

// MemberSet collects the members of an object that arrives in deltas. It ignores further
// names after the first 4096. The zero value is empty.
type MemberSet struct {
	list   []memberValue
	byName map[string]int
}

// memberValue is a value, the elements of an array, or a string.
type memberValue struct {
	key, raw string
	elements []string
	byIndex  map[string]int // of the elements with a member "index"
	text     []byte
}

func (s *MemberSet) value(key string) *memberValue {
	i, has := s.byName[key]
	switch {
	case !has && len(s.list) == maxMembers:
		return &memberValue{}
	case !has:
		if s.byName == nil {
			s.byName = map[string]int{}
		}
		i = len(s.list)
		s.byName[key] = i
		s.list = append(s.list, memberValue{key: key})
	}
	return &s.list[i]
}

// Set replaces the value of a member.
func (s *MemberSet) Set(key, raw string) { s.value(key).raw = raw }

// Extend appends a string to the string of the same name. Of other values the first one
// that is not null counts.
func (s *MemberSet) Extend(key, raw string) {
	v := s.value(key)
	switch unset := v.raw == "" || v.raw == "null"; {
	case raw[0] == '"' && unset:
		v.append(raw)
	case v.text == nil && unset:
		v.raw = raw
	}
}

// Join appends the elements of an array to those of the same name. An element with an index
// replaces the one with the same index. Of other values the last one counts.
func (s *MemberSet) Join(key, raw string) {
	if raw[0] != '[' {
		s.Set(key, raw)
		return
	}
	for raw := range EachElement(raw) {
		s.value(key).join(raw)
	}
}

func (v *memberValue) join(raw string) {
	index := string(Get(raw, "index"))
	if at, has := v.byIndex[index]; has {
		v.elements[at] = raw
		return
	}
	if index != "" {
		if v.byIndex == nil {
			v.byIndex = map[string]int{}
		}
		v.byIndex[index] = len(v.elements)
	}
	v.elements = append(v.elements, raw)
}

func (v *memberValue) append(raw string) {
	d := jsonio.NewDec(raw)
	if v.text == nil {
		v.text = []byte{}
	}
	v.text = append(v.text, d.String()...)
}

// JoinObject joins each member of an object. It appends the strings with the given names.
func (s *MemberSet) JoinObject(raw string, deltas ...string) {
	for key, raw := range EachMember(raw) {
		switch {
		case raw == "null":
		case raw[0] == '"' && slices.Contains(deltas, key):
			s.value(key).append(raw)
		default:
			s.Join(key, raw)
		}
	}
}

// Sorted sorts the members by name, because a stream and a non-streaming response have
// different orders. It returns s.
func (s *MemberSet) Sorted() *MemberSet {
	slices.SortFunc(s.list, func(a, b memberValue) int { return strings.Compare(a.key, b.key) })
	return s
}

// Members returns the members, except those of more than maxSize bytes. 0 means no limit.
func (s *MemberSet) Members(maxSize int) (out Members) {
	for i := range s.list {
		v := &s.list[i]
		if raw := v.json(); maxSize == 0 || len(raw) <= maxSize {
			out.AddRaw(v.key, raw)
		}
	}
	return out
}

func (v *memberValue) json() string {
	switch {
	case v.text != nil:
		return Quote(string(v.text))
	case v.elements != nil:
		return "[" + strings.Join(v.elements, ",") + "]"
	}
	return v.raw
}
