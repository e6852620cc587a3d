package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// assistant writes the items of an assistant message in order. It omits reasoning at the end,
// which the provider rejects (SR-07).
func (w *inputWriter) assistant(parts []llm.Part) error {
	parts = withoutForeign(parts)
	last := len(w.dst)    // where reasoning begins that nothing has come after
	var thoughts []string // its ids
	for i := 0; i < len(parts); {
		from := len(w.dst)
		n, err := w.items(parts[i:])
		if err != nil {
			return fmt.Errorf(".parts[%d]%w", i, err)
		}
		r, thought := parts[i].(llm.Reasoning)
		switch {
		case len(w.dst) == from:
		case thought:
			thoughts = append(thoughts, knownID(r.Opaque, reasoningID))
		default:
			last, thoughts = len(w.dst), nil
		}
		i += n
	}
	w.dst = w.dst[:last]
	for _, id := range thoughts {
		delete(w.seen, id)
	}
	return nil
}

// items writes the first item of parts, and returns how many parts it contains.
func (w *inputWriter) items(parts []llm.Part) (n int, err error) {
	switch p := parts[0].(type) {
	case llm.Text:
		return w.texts(parts), nil
	case llm.Reasoning:
		w.reasoning(&p)
	case llm.ToolCall:
		if p.ProviderExecuted {
			w.hosted(p.Opaque)
		} else {
			err = w.call(&p)
		}
	case llm.ToolResult:
		w.hosted(p.Opaque)
	case llm.Unknown:
		if !w.isRepeated(p.Raw) {
			w.next()
			err = w.unknown(p)
		}
	case llm.Media:
		err = fmt.Errorf(": an assistant's message cannot contain media, only text and calls")
	}
	return 1, err
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

// isHosted reports whether opaque data is the item of a call that the provider ran.
func isHosted(opaque json.RawMessage) bool {
	return strings.HasSuffix(wirejson.GetString(opaque, "type"), "_call")
}

// isOmitted reports whether a text is empty and has no item, or one that the request contains
// already (SR-04).
func (w *inputWriter) isOmitted(t *llm.Text) bool {
	id := knownID(t.Opaque, messageID)
	return t.Text == "" && (id == "" || w.seen[id])
}

// texts writes the message item of the first texts, and returns how many texts belong to it.
func (w *inputWriter) texts(parts []llm.Part) (n int) {
	opened := false
	var of llm.Text
	for _, p := range parts {
		t, ok := p.(llm.Text)
		if !ok || n > 0 && !sameItem(of.Opaque, t.Opaque) {
			break
		}
		n, of = n+1, t
		if w.isOmitted(&t) {
			continue
		}
		if !opened {
			opened = true
			w.next()
			w.dst = append(w.dst, `{"type":"message","role":"assistant","content":[`...)
		}
		w.next()
		kind, key := "output_text", "text"
		if t.Refusal {
			kind, key = "refusal", "refusal"
		}
		w.dst = wirejson.AppendString(wirejson.AppendString(append(w.dst, '{'), "type", kind), key, t.Text)
		w.dst = append(contentNames.Append(w.dst, t.Opaque, partMembers...), '}')
	}
	if opened {
		w.dst = append(w.dst, ']')
		w.itemID(of.Opaque, messageID)
		w.dst = append(itemNames.Append(w.dst, of.Opaque, itemMembers...), '}')
	}
	return n
}

// sameItem reports whether two consecutive texts belong to one item.
func sameItem(a, b json.RawMessage) bool {
	return wirejson.GetString(a, "id") == wirejson.GetString(b, "id")
}

// reasoning writes a reasoning item unchanged. It omits items of another provider and repeated
// ones (SR-04).
func (w *inputWriter) reasoning(r *llm.Reasoning) {
	id := knownID(r.Opaque, reasoningID)
	if wirejson.Get(r.Opaque, "summary") == nil && wirejson.Get(r.Opaque, "encrypted_content") == nil && id == "" || w.seen[id] {
		return
	}
	w.next()
	w.dst = append(w.dst, `{"type":"reasoning"`...)
	w.itemID(r.Opaque, reasoningID)
	last := []string{"summary", "content"} // in the order in which they are read
	w.dst = itemNames.Append(w.dst, r.Opaque, append(last, "type", "id", "status")...)
	for _, key := range last {
		switch raw := wirejson.Get(r.Opaque, key); {
		case raw != nil:
			w.dst = wirejson.AppendRaw(w.dst, key, raw)
		case key == "summary":
			w.dst = append(w.dst, `,"summary":[]`...)
		}
	}
	w.dst = append(w.dst, '}')
}

// isRepeated reports whether the request contains an item already (SR-04).
func (w *inputWriter) isRepeated(raw json.RawMessage) bool {
	id := wirejson.GetString(raw, "id")
	if w.seen[id] {
		return true
	}
	if id != "" {
		w.seen[id] = true
	}
	return false
}

func (w *inputWriter) call(c *llm.ToolCall) error {
	id, err := callID(c.ID)
	if err != nil {
		return err
	}
	w.next()
	kind, args, prefix := kindCall, "arguments", callItemID
	if wirejson.GetString(c.Opaque, "type") == kindCustomCall {
		kind, args, prefix = kindCustomCall, "input", customID
		w.custom[c.ID] = true
	}
	w.dst = wirejson.AppendString(append(w.dst, '{'), "type", kind)
	w.itemID(c.Opaque, prefix)
	w.dst = wirejson.AppendString(w.dst, "call_id", id)
	w.dst = wirejson.AppendString(w.dst, "name", requestName(c.Name))
	w.dst = wirejson.AppendString(w.dst, args, c.Arguments)
	w.dst = append(itemNames.Append(w.dst, c.Opaque, itemMembers...), '}')
	return nil
}

// requestName returns the name of a call for a request. Models invent names such as
// multi_tool_use.parallel.
func requestName(name string) string {
	if protocol.IsName(name) {
		return name
	}
	if name == "" {
		return "unnamed_tool"
	}
	return wirejson.CleanName(strings.ToValidUTF8(name, "_"))
}

// hosted writes the item of a call that the provider ran.
func (w *inputWriter) hosted(opaque json.RawMessage) {
	if w.isRepeated(opaque) {
		return
	}
	w.next()
	w.dst = wirejson.AppendValue(w.dst, opaque)
}
