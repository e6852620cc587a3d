package gemini

import "encoding/json"

// keyAnswer holds, in the opaque datum of a message, the members of the answer and
// of its candidate that this package does not know, such as groundingMetadata, but
// for those of over maxKept bytes, which would stand in the history of every later
// step. They are not sent back.
const (
	keyAnswer    = "gemini_answer"
	keyCandidate = "candidate"
	keyOfAnswer  = "response"
	maxKept      = 32 << 10
)

// kept gathers these members; of those in several chunks the last one counts.
type kept struct{ candidate, response named }

// named are members, one of a name. The zero value is none.
type named struct {
	members []member
	at      map[string]int
}

func (n *named) set(m member) {
	if len(m.raw) > maxKept {
		return
	}
	if i, has := n.at[m.key]; has {
		n.members[i] = m
		return
	}
	if n.at == nil {
		n.at = map[string]int{}
	}
	n.at[m.key] = len(n.members)
	n.members = append(n.members, m)
}

// opaque is what was gathered, or nil.
func (k *kept) opaque() json.RawMessage {
	dst := []byte(`{"` + keyAnswer + `":{`)
	from := len(dst)
	dst = appendKept(dst, keyCandidate, k.candidate.members)
	dst = appendKept(dst, keyOfAnswer, k.response.members)
	if len(dst) == from {
		return nil
	}
	return append(dst, "}}"...)
}

func appendKept(dst []byte, key string, members []member) []byte {
	if len(members) == 0 {
		return dst
	}
	return append(appendMembers(append(appendKey(dst, key), '{'), members), '}')
}

// keptOf returns the members of the answer or of its candidate that opaque holds.
func keptOf(opaque json.RawMessage, key string) []member {
	return innerOf(innerOf(membersOf(opaque), keyAnswer), key)
}
