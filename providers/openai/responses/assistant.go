package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// assistant writes the items of an assistant message in order. It omits reasoning at the end,
// which the provider rejects (SR-07).
func (w *writer) assistant(parts []llm.Part) {
	parts = withoutForeign(parts)
	last := len(w.Dst)    // where the reasoning at the end begins
	var thoughts []string // its ids
	for i := 0; i < len(parts); {
		w.Part = i + 1
		from := len(w.Dst)
		n := w.items(parts[i:])
		r, thought := parts[i].(llm.Reasoning)
		switch {
		case len(w.Dst) == from:
		case thought:
			thoughts = append(thoughts, knownID(r.Opaque, reasoningID))
		default:
			last, thoughts = len(w.Dst), nil
		}
		i += n
	}
	w.Part = 0
	w.Dst = w.Dst[:last]
	for _, id := range thoughts {
		delete(w.seen, id)
	}
}

// items writes the first item of parts, and returns how many parts it contains.
func (w *writer) items(parts []llm.Part) (n int) {
	switch p := parts[0].(type) {
	case llm.Text:
		return w.texts(parts)
	case llm.Reasoning:
		w.reasoning(&p)
	case llm.ToolCall:
		if p.ProviderExecuted {
			w.hosted(p.Opaque)
		} else {
			w.call(&p)
		}
	case llm.ToolResult:
		w.hosted(p.Opaque)
	case llm.Unknown:
		if !w.isRepeated(p.Raw) {
			w.Next("")
			w.Unknown(protocolName, p)
		}
	case llm.Media:
		w.Fail("an assistant's message cannot contain media, only text and calls")
	}
	return 1
}

// withoutForeign removes parts that only another provider understands.
func withoutForeign(parts []llm.Part) []llm.Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p llm.Part) bool {
		switch p := p.(type) {
		case llm.ToolCall:
			return p.ProviderExecuted && !isHosted(p.Opaque)
		case llm.ToolResult:
			return !isHosted(p.Opaque)
		case llm.Unknown:
			return codec.Omits(protocolName, llm.RoleAssistant, p)
		case llm.Text, llm.Reasoning, llm.Media:
		}
		return false
	})
}

func isHosted(opaque json.RawMessage) bool {
	return strings.HasSuffix(codec.GetString(opaque, "type"), "_call")
}

// isOmitted reports whether a string is empty and has no item, or a repeated one (SR-04).
func (w *writer) isOmitted(t *llm.Text) bool {
	id := knownID(t.Opaque, messageID)
	return t.Text == "" && (id == "" || w.seen[id])
}

// texts writes the message item of the first texts, and returns how many texts belong to it.
func (w *writer) texts(parts []llm.Part) (n int) {
	opened := false
	var of llm.Text
	for _, p := range parts {
		t, ok := p.(llm.Text)
		if !ok || n > 0 && codec.GetString(of.Opaque, "id") != codec.GetString(t.Opaque, "id") {
			break
		}
		n, of = n+1, t
		if w.isOmitted(&t) {
			continue
		}
		if !opened {
			opened = true
			w.Next(`{"type":"message","role":"assistant","content":[`)
		}
		kind, key := "output_text", "text"
		if t.Refusal {
			kind, key = "refusal", "refusal"
		}
		w.Next(`{"type":%`, kind)
		w.Text(key, t.Text)
		w.Dst = append(contentNames.Append(w.Dst, t.Opaque, partMembers...), '}')
	}
	if opened {
		w.Add("]")
		w.itemID(of.Opaque, messageID)
		w.endItem(of.Opaque)
	}
	return n
}

// reasoning writes a reasoning item, unless it is another provider's or repeated (SR-04).
func (w *writer) reasoning(r *llm.Reasoning) {
	id := knownID(r.Opaque, reasoningID)
	if codec.Get(r.Opaque, "summary") == nil && codec.Get(r.Opaque, "encrypted_content") == nil && id == "" || w.seen[id] {
		return
	}
	w.Next(`{"type":"reasoning"`)
	w.itemID(r.Opaque, reasoningID)
	last := []string{"summary", "content"} // in the order in which they are read
	w.Dst = itemNames.Append(w.Dst, r.Opaque, append(last, "type", "id", "status")...)
	for _, key := range last {
		switch raw := codec.Get(r.Opaque, key); {
		case raw != nil:
			w.Value(key, raw)
		case key == "summary":
			w.Raw(key, "[]")
		}
	}
	w.Add("}")
}

// isRepeated reports whether the request contains an item already (SR-04).
func (w *writer) isRepeated(raw json.RawMessage) bool {
	id := codec.GetString(raw, "id")
	if w.seen[id] {
		return true
	}
	if id != "" {
		w.seen[id] = true
	}
	return false
}

func (w *writer) call(c *llm.ToolCall) {
	kind, args, prefix := kindCall, "arguments", callItemID
	if codec.GetString(c.Opaque, "type") == kindCustomCall {
		kind, args, prefix = kindCustomCall, "input", customID
		w.custom[c.ID] = true
	}
	w.Next(`{"type":%`, kind)
	w.itemID(c.Opaque, prefix)
	w.Text("call_id", w.callID(c.ID))
	// Models invent names such as multi_tool_use.parallel.
	w.Text("name", cmp.Or(codec.CleanName(strings.ToValidUTF8(c.Name, "_")), "unnamed_tool"))
	w.Text(args, c.Arguments)
	w.endItem(c.Opaque)
}

func (w *writer) endItem(opaque json.RawMessage) {
	w.Dst = append(itemNames.Append(w.Dst, opaque, itemMembers...), '}')
}

func (w *writer) hosted(opaque json.RawMessage) {
	if !w.isRepeated(opaque) {
		w.Next("")
		w.Dst = codec.AppendValue(w.Dst, opaque)
	}
}
