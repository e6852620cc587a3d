package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// lenient reads objects of responses and errors.
var lenient = codec.Object{Name: camel}

// readObject reads an object and returns its other members. A null is no member, as in the JSON
// form of protocol buffers.
func readObject(d *jsonio.Dec, fields ...any) (rest []codec.Member) {
	readInto(d, &rest, fields...)
	return rest
}

// readInto is readObject that appends the other members to rest.
func readInto(d *jsonio.Dec, rest *[]codec.Member, fields ...any) {
	codec.Object{Strict: true, Name: camel}.Read(d, func(key string) {
		if !d.Null() {
			*rest = append(*rest, codec.Member{Key: key, Raw: d.Raw()})
		}
	}, fields...)
}

// eachElement calls f for each element of an array, with the value still to read. An object is
// an array of one element: Google accepts it, and its own REST examples omit the brackets.
func eachElement(d *jsonio.Dec, f func()) {
	if d.Peek() == '{' {
		f()
		return
	}
	for range d.Elements() {
		f()
	}
}

// camel returns the name of a member in lower camel case. Google accepts both this form and
// the one with underscores.
func camel(key string) string {
	if !strings.Contains(key, "_") {
		return key
	}
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// appendMembers appends members to an open object, except those named.
func appendMembers(dst []byte, list []codec.Member, except ...string) []byte {
	for _, m := range list {
		if !slices.Contains(except, m.Key) {
			dst = codec.AppendRaw(dst, m.Key, m.Raw)
		}
	}
	return dst
}

func objectOf(members []codec.Member) json.RawMessage {
	if len(members) == 0 {
		return nil
	}
	dst := []byte{'{'}
	for _, m := range members {
		dst = append(codec.AppendKey(dst, m.Key), m.Raw...)
	}
	return append(dst, '}')
}

func innerOf(rest []codec.Member, key string) []codec.Member {
	return codec.MembersOf([]byte(codec.Find(rest, key)))
}

func compact(raw string) string {
	if !strings.ContainsAny(raw, " \n\r\t") {
		return raw
	}
	return string(codec.Compact(raw))
}

func quote(s string) string { return string(jsonio.AppendString(nil, s)) }

// Members of a part that are opaque data under their own names.
const (
	keySignature = "thoughtSignature"
	keyThought   = "thought"
	// keyOther contains the unknown members.
	keyOther = "gemini"
)

// plain reports whether a member of a part is opaque data under its own name.
func plain(key string) bool {
	switch key {
	case keySignature, keyThought, "videoMetadata", "mediaResolution", "partMetadata":
		return true
	}
	return false
}

// opaqueOf returns opaque data of at least one member.
func opaqueOf(members []codec.Member) json.RawMessage {
	var own, other codec.Members
	for _, m := range members {
		to := &other
		if plain(m.Key) {
			to = &own
		}
		to.AddRaw(m.Key, m.Raw)
	}
	own.AddObject(keyOther, other)
	return own.Object()
}

// restOf returns the opaque members of Gemini. A history may have begun with another provider.
func restOf(opaque json.RawMessage) (out []codec.Member) {
	for _, m := range codec.MembersOf(opaque) {
		switch {
		case plain(m.Key):
			out = append(out, m)
		case m.Key == keyOther:
			out = append(out, codec.MembersOf(json.RawMessage(m.Raw))...)
		}
	}
	return out
}

// ranElsewhere reports whether another provider ran a call.
func ranElsewhere(c *llm.ToolCall) bool {
	own := codec.MembersOf(c.Opaque)
	return c.ProviderExecuted && codec.Find(own, keyCode) == "" && codec.Find(own, keyToolCall) == ""
}

// thoughtElsewhere reports whether reasoning has only opaque members of another provider.
func thoughtElsewhere(r llm.Reasoning) bool {
	return len(codec.MembersOf(r.Opaque)) > 0 && len(restOf(r.Opaque)) == 0
}

// keyKept is the member of a message's opaque data that contains the members of the
// response and its candidate that this package does not know, such as groundingMetadata.
// Members of more than [codec.MaxKept] bytes are omitted. They are not sent back.
const (
	keyKept            = "gemini_answer"
	keyCandidate       = "candidate"
	keyResponseMembers = "response"
)

// keptMembers collects these members. Of those in several chunks the last one counts.
type keptMembers struct{ candidate, response codec.MemberSet }

func (k *keptMembers) opaque() json.RawMessage {
	var inner, out codec.Members
	inner.AddObject(keyCandidate, k.candidate.Members(codec.MaxKept))
	inner.AddObject(keyResponseMembers, k.response.Members(codec.MaxKept))
	out.AddObject(keyKept, inner)
	return out.Object()
}

// keptOf returns the members of the response or its candidate in opaque data.
func keptOf(opaque json.RawMessage, key string) []codec.Member {
	return innerOf(innerOf(codec.MembersOf(opaque), keyKept), key)
}
