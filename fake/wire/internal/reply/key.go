package reply

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Place is the position of a response in a script; see fake.Recorded.
type Place struct {
	Session  string
	Response int // from 0
	Attempt  int // from 1
}

// Key identifies a response: its place in the script and, in Responses, the
// conversation. Clients of Responses continue a conversation by the id of a response.
type Key struct {
	Place
	Conversation string // from [ConversationID]; empty in other protocols
}

// ConversationID returns the id of the conversation with this hash.
func ConversationID(hash uint64) string { return fmt.Sprintf("%08x", uint32(hash^hash>>32)) }

// ID returns an id that only this key has. [ParseKey] reads it.
func (k Key) ID() string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %d %d", k.Session, k.Response, k.Attempt) // a hash takes all
	return fmt.Sprintf("%04x%04x%08x%s", k.Response, k.Attempt, h.Sum32(), k.Conversation)
}

// ParseKey returns the key of a response of a session to Responses; ok is false if id
// is not from [Key.ID].
func ParseKey(session, id string) (k Key, ok bool) {
	const digits = 16 // before those of the conversation
	if len(id) != digits+len(ConversationID(0)) {
		return k, false
	}
	k.Session, k.Conversation = session, id[digits:]
	_, err := strconv.ParseUint(k.Conversation, 16, 32)
	n, _ := fmt.Sscanf(id, "%04x%04x", &k.Response, &k.Attempt)
	return k, err == nil && n == 2 && k.Response >= 0 && k.Attempt >= 1 && k.ID() == id
}

// signatureMark begins each generated signature. Its length is a multiple of three
// bytes, so that base64 encodes it alone.
const signatureMark = "looptape:"

// Signature returns the signature that the server generates for text.
func Signature(text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes all
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%016x", signatureMark, h.Sum64()))
}

// IsSignature reports whether s begins as the result of [Signature].
func IsSignature(s string) bool {
	return strings.HasPrefix(s, base64.StdEncoding.EncodeToString([]byte(signatureMark)))
}
