package gemini

import (
	"encoding/json"

	"github.com/looptape/looptape/providers/internal/wirejson"
)

// keyAnswer is the member of a message's opaque data that contains the members of the
// response and its candidate that this package does not know, such as groundingMetadata.
// Members of more than [wirejson.MaxKept] bytes are omitted. They are not sent back.
const (
	keyKept            = "gemini_answer"
	keyCandidate       = "candidate"
	keyResponseMembers = "response"
)

// keptMembers collects these members. Of those in several chunks the last one counts.
type keptMembers struct{ candidate, response wirejson.MemberSet }

// opaque returns the members, or nil.
func (k *keptMembers) opaque() json.RawMessage {
	var inner, out wirejson.Members
	inner.AddObject(keyCandidate, k.candidate.Members(wirejson.MaxKept))
	inner.AddObject(keyResponseMembers, k.response.Members(wirejson.MaxKept))
	out.AddObject(keyKept, inner)
	return out.Object()
}

// keptOf returns the members of the response or its candidate in opaque data.
func keptOf(opaque json.RawMessage, key string) []wirejson.Member {
	return innerOf(innerOf(wirejson.MembersOf(opaque), keyKept), key)
}
