package openai

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// dialect is how a protocol names the members of opaque data. A history may have
// begun with another provider, which refuses what it did not write: so those that
// this package knows keep their names, and others get the mark, which says whose
// they are.
type dialect struct {
	mark  string
	known []string
}

// chatOwn are the members that stand beside what a message, a text, a call or media
// of Chat Completions says.
var chatOwn = dialect{"chat:", []string{"audio", "cache_control", "extra_content", "name", "prefix"}}

// responsesOwn are those of the items of Responses.
var responsesOwn = dialect{"responses:", []string{"action", "content", "encrypted_content", "id", "namespace", "phase", "summary"}}

// pieceOwn are those of the pieces of their content. A text of the assistant has them
// beside those of its item.
var pieceOwn = dialect{"responses_content:", []string{"annotations", "detail", "file_id", "logprobs"}}

// keep returns the name by which a member of the wire is kept.
func (d dialect) keep(key string) string {
	if slices.Contains(d.known, key) {
		return key
	}
	return d.mark + key
}

// wire returns the name that a member has on the wire, and whether it is of this
// protocol.
func (d dialect) wire(key string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(key, d.mark); ok {
		return name, true
	}
	return key, slices.Contains(d.known, key)
}

// shortID returns an id of a call that has at most so many characters, the same for
// a call and its result: a longer one becomes its beginning and a digest.
func shortID(id string, most int) string {
	if len(id) <= most {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	digest := fmt.Sprintf("_%016x", h.Sum64())
	return fmt.Sprintf("%.*s%s", most-len(digest), id, digest)
}
