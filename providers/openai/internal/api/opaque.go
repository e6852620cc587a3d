package api

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/looptape/looptape/providers/internal/wirejson"
)

// dialect is how a protocol names the members of opaque data. A history may have
// begun with another provider, which refuses what it did not write: so those that
// this package knows keep their names, and others get the mark, which says whose
// they are.
type MemberNames struct {
	Prefix string
	Known  []string
}

// keep returns the name by which a member of the wire is kept.
func (d MemberNames) Stored(key string) string {
	if slices.Contains(d.Known, key) {
		return key
	}
	return d.Prefix + key
}

// wire returns the name that a member has on the wire, and whether it is of this
// protocol.
func (d MemberNames) Wire(key string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(key, d.Prefix); ok {
		return name, true
	}
	return key, slices.Contains(d.Known, key)
}

// shortID returns an id of a call that has at most so many characters, the same for
// a call and its result: a longer one becomes its beginning and a digest.
func ShortID(id string, most int) string {
	if len(id) <= most {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	digest := fmt.Sprintf("_%016x", h.Sum64())
	return fmt.Sprintf("%.*s%s", most-len(digest), id, digest)
}

// append appends the members of opaque data that own does not take out, each with the
// comma before it, but for those of other dialects: a history may have begun with
// another provider.
func (d MemberNames) Append(dst []byte, opaque json.RawMessage, own func(key string) bool) []byte {
	wirejson.EachMember(opaque, func(key, raw string) {
		if name, ok := d.Wire(key); ok && !own(name) {
			dst = wirejson.AppendRaw(dst, name, []byte(raw))
		}
	})
	return dst
}
