package gemini

import (
	"encoding/json"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

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
func opaqueOf(members []wirejson.Member) json.RawMessage {
	var own, other []byte
	for _, m := range members {
		to := &other
		if plain(m.Key) {
			to = &own
		}
		if *to == nil {
			*to = append(*to, '{')
		}
		*to = append(wirejson.AppendKey(*to, m.Key), m.Raw...)
	}
	switch {
	case other == nil:
		return append(own, '}')
	case own == nil:
		own = append(own, '{')
	}
	own = append(append(wirejson.AppendKey(own, keyOther), other...), '}')
	return append(own, '}')
}

// restOf returns the opaque members of Gemini. A history may have begun with another provider.
func restOf(opaque json.RawMessage) []wirejson.Member {
	var out []wirejson.Member
	for _, m := range wirejson.MembersOf(opaque) {
		switch {
		case plain(m.Key):
			out = append(out, m)
		case m.Key == keyOther:
			out = append(out, wirejson.MembersOf(json.RawMessage(m.Raw))...)
		}
	}
	return out
}

// ranElsewhere reports whether another provider ran a call.
func ranElsewhere(c *llm.ToolCall) bool {
	own := wirejson.MembersOf(c.Opaque)
	return c.ProviderExecuted && wirejson.Find(own, keyCode) == "" && wirejson.Find(own, keyToolCall) == ""
}

// thoughtElsewhere reports whether reasoning has only opaque members of another provider.
func thoughtElsewhere(r llm.Reasoning) bool {
	return len(wirejson.MembersOf(r.Opaque)) > 0 && len(restOf(r.Opaque)) == 0
}
