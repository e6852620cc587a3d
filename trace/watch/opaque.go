package watch

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/looptape/looptape/llm"
)

// CacheMark is the member that marks where a provider may cache a prompt. Clients move it from
// request to request.
const CacheMark = "cache_control"

// Unmarked returns the request without the cache marks of its messages, which are not part of
// the conversation.
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

// withoutDefaults returns opaque data without members that have their default value.
func withoutDefaults(raw json.RawMessage) json.RawMessage {
	if string(raw) == "{}" {
		return nil
	}
	if gjson.GetBytes(raw, "caller.type").Str != "direct" {
		return raw
	}
	out, err := sjson.DeleteBytes(raw, "caller")
	if err != nil {
		return raw
	}
	return out
}

// opaqueSet returns the set of the opaque data of parts.
func opaqueSet(parts []llm.Part) map[string]bool {
	out := map[string]bool{}
	for _, p := range parts {
		if raw := llm.PartOpaque(p); raw != nil {
			out[canonical(raw)] = true
		}
	}
	return out
}

// canonical returns the same string for JSON that clients treat as equal: 2.50 is 2.5, and a
// null member is a missing one.
func canonical(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	text, _ := json.Marshal(withoutNulls(v)) // it was decoded from JSON
	return string(text)
}

// withoutNulls removes null members from a value.
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

// requiredOpaque returns the opaque data of the echo if it has all members of the response's
// opaque data; otherwise that of the response. The echo may have more members.
func requiredOpaque(response, echo json.RawMessage) json.RawMessage {
	var want, got map[string]json.RawMessage
	_ = json.Unmarshal(response, &want) // other values have no members
	_ = json.Unmarshal(echo, &got)
	for key, raw := range want {
		if canonical(raw) != canonical(got[key]) {
			return response
		}
	}
	return echo
}

// editOpaque returns the part with edited opaque data.
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
