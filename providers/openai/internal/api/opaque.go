package api

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/looptape/looptape/providers/internal/wirejson"
)

// MemberNames maps the members of a protocol to the names that they have in opaque data. Known
// members keep their names. Others get a prefix, because a history may have begun with another
// provider, and providers reject unknown members.
type MemberNames struct {
	Prefix string
	Known  []string
}

// Stored returns the name of a member in opaque data.
func (d MemberNames) Stored(key string) string {
	if slices.Contains(d.Known, key) {
		return key
	}
	return d.Prefix + key
}

// Wire returns the name of a member in the protocol, and whether the member belongs to the
// protocol.
func (d MemberNames) Wire(key string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(key, d.Prefix); ok {
		return name, true
	}
	return key, slices.Contains(d.Known, key)
}

// ShortID returns a call id of at most limit bytes, equal for a call and its result. A longer
// id becomes its beginning and a digest.
func ShortID(id string, most int) string {
	if len(id) <= most {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	digest := fmt.Sprintf("_%016x", h.Sum64())
	return fmt.Sprintf("%.*s%s", most-len(digest), id, digest)
}

// Append appends the opaque members of the protocol to the open object, except those that own
// reports.
func (d MemberNames) Append(dst []byte, opaque json.RawMessage, own func(key string) bool) []byte {
	wirejson.EachMember(opaque, func(key, raw string) {
		if name, ok := d.Wire(key); ok && !own(name) {
			dst = wirejson.AppendRaw(dst, name, []byte(raw))
		}
	})
	return dst
}
