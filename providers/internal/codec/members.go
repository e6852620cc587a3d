package codec

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// Member is a member of an object.
type Member struct{ Key, Raw string }

// Members are members of an object, the values as JSON.
type Members []Member

// MembersOf returns the members of an object, except null. Other values have no members.
func MembersOf[T JSON](object T) (m Members) {
	for key, raw := range EachMember(object) {
		if raw[0] == '"' {
			m = append(m, Member{key, raw}) // it may be long
		} else {
			m.AddRaw(key, raw)
		}
	}
	return m
}

// Add reads the next value as a member. It ignores null.
func (m *Members) Add(d *jsonio.Dec, key string) { m.AddRaw(key, d.Raw()) }

// AddRaw adds a member without white space. It ignores null and "".
func (m *Members) AddRaw(key, raw string) {
	if raw != "null" && raw != "" {
		*m = append(*m, Member{key, CompactText(raw)})
	}
}

// AddString adds a member that is a string.
func (m *Members) AddString(key, value string) { m.AddRaw(key, Quote(value)) }

// AddObject adds a member that is an object, unless inner is empty.
func (m *Members) AddObject(key string, inner Members) {
	if len(inner) > 0 {
		*m = append(*m, Member{key, string(inner.Object())})
	}
}

// Find returns the value of a member, or "" if it is null or missing.
func (m Members) Find(key string) string {
	for _, member := range m {
		if member.Key == key && member.Raw != "null" {
			return member.Raw
		}
	}
	return ""
}

// Without returns the members except those named.
func (m Members) Without(keys ...string) Members {
	named := func(member Member) bool { return slices.Contains(keys, member.Key) }
	return slices.DeleteFunc(slices.Clone(m), named)
}

// Append appends the members to an open object, except those named.
func (m Members) Append(dst []byte, except ...string) []byte {
	for _, member := range m {
		if !slices.Contains(except, member.Key) {
			dst = AppendRaw(dst, member.Key, member.Raw)
		}
	}
	return dst
}

// Object returns the object, or nil if it has no members.
func (m Members) Object() json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	size := 1
	for _, member := range m {
		size += len(`"":,`) + len(member.Key) + len(member.Raw)
	}
	dst := append(make([]byte, 0, size), '{')
	for _, member := range m {
		dst = append(AppendKey(dst, member.Key), member.Raw...)
	}
	return append(dst, '}')
}

// Quote returns a string as JSON.
func Quote(s string) string { return QuoteIn("", s, "") }

// QuoteIn returns a string as JSON between two other texts.
func QuoteIn(before, s, after string) string {
	dst := make([]byte, 0, len(before)+len(s)+len(s)/16+len(`""`)+len(after))
	return jsonio.View(append(jsonio.AppendString(append(dst, before...), s), after...))
}

// SetExtra sets a member of req.Extra.
func SetExtra(req *llm.Request, key string, raw json.RawMessage) {
	if req.Extra == nil {
		req.Extra = map[string]json.RawMessage{}
	}
	req.Extra[key] = raw
}

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

// Extend appends to the string of the same name. Of other values the first except null counts.
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
