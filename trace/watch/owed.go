package watch

import (
	"encoding/json"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/looptape/looptape/llm"
)

// owing is the parts of an answer, or of its echo, that have to come back, as far as they
// have to. Reasoning in plain words need not: some providers want it, others refuse it.
func (q *Request) owing(parts []llm.Part) (out []llm.Part) {
	var details []byte // of Chat, whose messages do not tell where among the parts they stood
	for _, p := range parts {
		r, ok := p.(llm.Reasoning)
		switch {
		case ok && q.Protocol.Name() == chat:
			details = appendSealed(details, r.Opaque)
		case ok && q.Protocol.Name() == responses && !q.keeps() && gjson.GetBytes(r.Opaque, "encrypted_content").Str == "":
			// There is nothing that the provider would know it by.
		default:
			out = append(out, editOpaque(p, plainly))
		}
	}
	if details != nil {
		out = append(out, llm.Reasoning{Opaque: append(details, ']')})
	}
	return out
}

// keeps reports whether the provider of a request of Responses keeps the answers, so that
// their items can be named by their ids.
func (q *Request) keeps() bool {
	_, told := q.Request.Extra["store"] // the codec tells all but false
	return told
}

// appendSealed appends those of OpenRouter's details of reasoning that are not in plain
// words alone to an open array.
func appendSealed(dst []byte, opaque json.RawMessage) []byte {
	for _, d := range gjson.GetBytes(opaque, "reasoning_details").Array() {
		if d.Get("signature").Str+d.Get("data").Str+d.Get("id").Str == "" {
			continue
		}
		open := byte(',')
		if dst == nil {
			open = '['
		}
		dst = append(append(dst, open), d.Raw...)
	}
	return dst
}

// plainly is opaque data without what says no more than its absence.
func plainly(raw json.RawMessage) json.RawMessage {
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
