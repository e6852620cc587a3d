package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// Readers of objects of responses and errors, and of requests.
var (
	lenient = codec.Object{Name: camel}
	strict  = codec.Object{Strict: true, Name: camel}
)

// readObject reads an object and returns its other members. A null is no member, as in the JSON
// form of protocol buffers.
func readObject(d *jsonio.Dec, fields ...any) (rest codec.Members) {
	readInto(d, &rest, fields...)
	return rest
}

func readInto(d *jsonio.Dec, rest *codec.Members, fields ...any) {
	strict.Read(d, func(key string) { rest.Add(d, key) }, fields...)
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

func compact(raw string) string {
	if !strings.ContainsAny(raw, " \n\r\t") {
		return raw
	}
	return string(codec.Compact(raw))
}

// Members of a part that are opaque data under their own names.
const (
	keySignature = "thoughtSignature"
	keyThought   = "thought"
	// keyOther contains the unknown members.
	keyOther = "gemini"
)

// plain are the members of a part that are opaque data under their own names.
var plain = []string{keySignature, keyThought, "videoMetadata", "mediaResolution", "partMetadata"}

// restOf returns the opaque members of Gemini. A history may have begun with another provider.
func restOf(opaque json.RawMessage) (out codec.Members) {
	for _, m := range codec.MembersOf(opaque) {
		switch {
		case slices.Contains(plain, m.Key):
			out = append(out, m)
		case m.Key == keyOther:
			out = append(out, codec.MembersOf(m.Raw)...)
		}
	}
	return out
}

// ranElsewhere reports whether another provider ran a call.
func ranElsewhere(c *llm.ToolCall) bool {
	own := codec.MembersOf(c.Opaque)
	return c.ProviderExecuted && own.Find(keyCode) == "" && own.Find(keyToolCall) == ""
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

func keptOf(opaque json.RawMessage, key string) json.RawMessage {
	return codec.Get(codec.Get(opaque, keyKept), key)
}
