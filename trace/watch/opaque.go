package watch

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/looptape/looptape/llm"
)

// CacheMark is the member that marks where a prompt may be cached. Clients move it
// from request to request.
const CacheMark = "cache_control"

// Unmarked returns the request without the marks for caching in its messages, which
// are none of the conversation.
func Unmarked(req *llm.Request) *llm.Request {
	out := *req
	out.Messages = slices.Clone(req.Messages)
	for i, m := range out.Messages {
		m.Opaque = unmark(m.Opaque)
		m.Parts = slices.Clone(m.Parts)
		for j, p := range m.Parts {
			m.Parts[j] = editOpaque(p, unmark)
		}
		out.Messages[i] = m
	}
	return &out
}

func unmark(opaque json.RawMessage) json.RawMessage {
	if !gjson.GetBytes(opaque, CacheMark).Exists() {
		return opaque
	}
	out, err := sjson.DeleteBytes(slices.Clone(opaque), CacheMark)
	if err != nil || string(out) == "{}" {
		return nil
	}
	return out
}

// opaques is the set of the opaque data of parts.
func opaques(parts []llm.Part) map[string]bool {
	out := map[string]bool{}
	for _, p := range parts {
		if raw := llm.PartOpaque(p); raw != nil {
			out[meaning(raw)] = true
		}
	}
	return out
}

// meaning is the same text for all that is the same JSON to clients, to which 2.50 is
// 2.5, and a member that is null is none.
func meaning(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	text, _ := json.Marshal(withoutNulls(v)) // it came from JSON
	return string(text)
}

// withoutNulls takes the members that are null out of a value.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if v[key] = withoutNulls(member); member == nil {
				delete(v, key)
			}
		}
	case []any:
		for i, element := range v {
			v[i] = withoutNulls(element)
		}
	}
	return v
}

// owed is the opaque data of an answer that have to come back, as the echo has them if
// it has them all: what else an answer told may come with them.
func owed(said, echo json.RawMessage) json.RawMessage {
	var want, got map[string]json.RawMessage
	_ = json.Unmarshal(said, &want) // what is no object has no members
	_ = json.Unmarshal(echo, &got)
	for key, raw := range want {
		if meaning(raw) != meaning(got[key]) {
			return said
		}
	}
	return echo
}

// editOpaque returns the part with other opaque data.
func editOpaque(p llm.Part, edit func(json.RawMessage) json.RawMessage) llm.Part {
	switch p := p.(type) {
	case llm.Text:
		p.Opaque = edit(p.Opaque)
		return p
	case llm.Reasoning:
		p.Opaque = edit(p.Opaque)
		return p
	case llm.Media:
		p.Opaque = edit(p.Opaque)
		return p
	case llm.ToolCall:
		p.Opaque = edit(p.Opaque)
		return p
	case llm.ToolResult:
		p.Opaque, p.Content = edit(p.Opaque), slices.Clone(p.Content)
		for i, c := range p.Content {
			p.Content[i] = editOpaque(c, edit)
		}
		return p
	case llm.Unknown:
		p.Raw = edit(p.Raw)
		return p
	}
	return p
}
