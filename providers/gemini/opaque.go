package gemini

import (
	"encoding/json"

	"github.com/looptape/looptape/llm"
)

// The members of a part that are opaque data, under their own names.
const (
	keySignature = "thoughtSignature"
	keyThought   = "thought"
	// keyOther holds the members that this package does not know.
	keyOther = "gemini"
)

// plain reports whether a member of a part stands in its opaque data by itself.
func plain(key string) bool {
	switch key {
	case keySignature, keyThought, "videoMetadata", "mediaResolution", "partMetadata":
		return true
	}
	return false
}

// opaqueOf returns what is kept of a part beside what it says, one member at
// least.
func opaqueOf(members []member) json.RawMessage {
	var own, other []byte
	for _, m := range members {
		to := &other
		if plain(m.key) {
			to = &own
		}
		if *to == nil {
			*to = append(*to, '{')
		}
		*to = append(appendKey(*to, m.key), m.raw...)
	}
	switch {
	case other == nil:
		return append(own, '}')
	case own == nil:
		own = append(own, '{')
	}
	own = append(append(appendKey(own, keyOther), other...), '}')
	return append(own, '}')
}

// restOf returns the members that an opaque datum adds to a part: those that are
// Gemini's. A history may have begun with another provider.
func restOf(opaque json.RawMessage) []member {
	var out []member
	for _, m := range membersOf(opaque) {
		switch {
		case plain(m.key):
			out = append(out, m)
		case m.key == keyOther:
			out = append(out, membersOf(json.RawMessage(m.raw))...)
		}
	}
	return out
}

// ranElsewhere reports whether another provider ran a call itself.
func ranElsewhere(c *llm.ToolCall) bool {
	own := membersOf(c.Opaque)
	return c.ProviderExecuted && find(own, keyCode) == "" && find(own, keyToolCall) == ""
}

// thoughtElsewhere reports whether reasoning is another provider's: it carries what that
// one wants back, and nothing of Gemini's.
func thoughtElsewhere(r llm.Reasoning) bool {
	return len(membersOf(r.Opaque)) > 0 && len(restOf(r.Opaque)) == 0
}
