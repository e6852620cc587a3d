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
		m.AddRaw(key, raw)
	}
	return m
}

// Add reads the next value as a member. It ignores null.
func (m *Members) Add(d *jsonio.Dec, key string) { m.AddRaw(key, d.Raw()) }

// AddRaw adds a member without white space. It ignores null and "".
func (m *Members) AddRaw(key, raw string) {
	if strings.ContainsAny(raw, " \n\r\t") {
		raw = string(Compact(raw))
	}
	if raw != "null" && raw != "" {
		*m = append(*m, Member{key, raw})
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

// AppendMembers appends the members of an object to an open object, except those named.
func AppendMembers[T JSON](dst []byte, object T, except ...string) []byte {
	for key, raw := range EachMember(object) {
		if !slices.Contains(except, key) {
			dst = AppendRaw(dst, key, raw)
		}
	}
	return dst
}

// Quote returns a string as JSON.
func Quote(s string) string { return string(jsonio.AppendString(nil, s)) }

// SetExtra sets a member of req.Extra.
func SetExtra(req *llm.Request, key string, raw json.RawMessage) {
	if req.Extra == nil {
		req.Extra = map[string]json.RawMessage{}
	}
	req.Extra[key] = raw
}
