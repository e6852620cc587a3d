package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// The members that OpenAI-compatible servers use for reasoning. With contentField the reasoning
// is an element of the content.
const (
	reasoningContent = "reasoning_content"
	reasoningField   = "reasoning"
	contentField     = "content"
)

// unnamedTool replaces a missing tool name (quirk QO-30).
const unnamedTool = "unnamed_tool"

// assistant writes the members of an assistant message after its opening brace.
func (w *writer) assistant(m *llm.Message) error {
	w.text("role", "assistant")
	calls, err := w.content(m.Parts)
	if err != nil {
		return err
	}
	own := append(w.reasoning(m.Parts), "role", "content", "refusal", "tool_calls")
	if calls {
		w.calls(m.Parts)
	}
	w.opaque(m.Opaque, own...)
	w.buf = append(w.buf, '}')
	return nil
}

// content writes the content, and reports whether there are tool calls too. OpenAI accepts null
// as content only with tool calls (SO-07).
func (w *writer) content(parts []llm.Part) (calls bool, err error) {
	var texts, refusals, others int
	var text, refusal string
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			switch {
			case p.Text == "":
			case p.Opaque != nil:
				others++
			case p.Refusal:
				refusals, refusal = refusals+1, p.Text
			default:
				// As plain members, the refusal would come after this text.
				texts, text, others = texts+1, p.Text, others+refusals
			}
		case llm.Reasoning:
			if w.field(p.Opaque) == contentField {
				others++
			}
		case llm.Unknown:
			if protocol.Omits(protocolName, llm.RoleAssistant, p) {
				continue
			}
			if err := protocol.CheckUnknown(protocolName, p); err != nil {
				return false, fmt.Errorf(".parts[%d]: %w", i, err)
			}
			others++
		case llm.ToolCall:
			if p.ProviderExecuted && w.req == nil {
				return false, fmt.Errorf(".parts[%d]: a Chat Completions assistant message cannot contain %s", i, kind(p))
			}
			calls = calls || !p.ProviderExecuted
		case llm.ToolResult: // of a call that another provider ran
		case llm.Media:
			return false, fmt.Errorf(".parts[%d]: a Chat Completions assistant message cannot contain %s", i, kind(p))
		}
	}
	switch {
	case others > 0 || texts > 1 || refusals > 1:
		w.contentArray(parts)
		return calls, nil
	case texts > 0 || !calls && w.req != nil:
		w.text("content", text)
	default:
		w.raw("content", "null")
	}
	switch {
	case refusals > 0:
		w.text("refusal", refusal)
	case w.req == nil:
		w.raw("refusal", "null")
	}
	return calls, nil
}

// contentArray writes the content as an array of parts.
func (w *writer) contentArray(parts []llm.Part) {
	w.raw("content", "[")
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			w.textPart(p)
		case llm.Reasoning:
			if w.field(p.Opaque) == contentField {
				w.comma()
				w.buf = appendThinking(w.buf, p.Text)
			}
		case llm.Unknown:
			if !protocol.Omits(protocolName, llm.RoleAssistant, p) {
				w.comma()
				w.buf = jsonio.AppendRaw(w.buf, p.Raw)
			}
		case llm.ToolCall, llm.Media, llm.ToolResult: // not said
		}
	}
	w.buf = append(w.buf, ']')
}

// appendThinking appends reasoning as an element of the content, the format of Mistral.
func appendThinking(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"thinking","thinking":[{"type":"text","text":`...)
	return append(jsonio.AppendString(dst, text), `}]}`...)
}

// reasoning writes the reasoning members and returns their names. In a response, reasoning
// without a field goes to reasoning_content.
func (w *writer) reasoning(parts []llm.Part) (own []string) {
	for _, field := range [...]string{reasoningContent, reasoningField} {
		text, some := "", false
		for _, p := range parts {
			if r, ok := p.(llm.Reasoning); ok && w.field(r.Opaque) == field {
				text, some = text+r.Text, true
			}
		}
		if some {
			w.text(field, text)
			own = append(own, field)
		}
	}
	var details wirejson.Elements
	for _, p := range parts {
		if r, ok := p.(llm.Reasoning); ok {
			wirejson.EachElement(wirejson.Get(r.Opaque, "reasoning_details"), details.Add)
		}
	}
	if details != nil {
		w.raw("reasoning_details", string(details.Array()))
		own = append(own, "reasoning_details")
	}
	return own
}

// field returns the member for reasoning. It is empty if the reasoning belongs to another
// protocol or is only in its details.
func (w *writer) field(opaque json.RawMessage) string {
	f := wirejson.GetString(opaque, "field")
	switch {
	case f == reasoningContent, f == reasoningField, f == contentField:
		return f
	case w.req == nil && wirejson.Get(opaque, "reasoning_details") == nil:
		return reasoningContent
	}
	return ""
}

func (w *writer) calls(parts []llm.Part) {
	w.raw("tool_calls", "[")
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			w.comma()
			w.call(c)
		}
	}
	w.buf = append(w.buf, ']')
}

// call writes a call. The opaque data of a custom tool's call contains its type.
func (w *writer) call(c llm.ToolCall) {
	kind, args := "function", "arguments"
	if wirejson.GetString(c.Opaque, "type") == "custom" {
		kind, args = "custom", "input"
	}
	w.buf = append(w.buf, '{')
	w.text("id", w.id(c.ID))
	w.text("type", kind)
	w.raw(kind, "{")
	w.text("name", w.callName(c.Name))
	w.text(args, w.arguments(c.Arguments))
	w.buf = append(wirejson.AppendMembers(w.buf, wirejson.Get(c.Opaque, kind), "name", args), '}')
	w.buf = append(w.appendOwn(c.Opaque, "id", "type", kind, "index"), '}')
}

// arguments returns the arguments of a call. In a request it repairs lone surrogates.
func (w *writer) arguments(args string) string {
	if w.req == nil || !strings.Contains(args, `\u`) {
		return args
	}
	repaired := []byte(args)
	wirejson.RepairSurrogates(repaired)
	return string(repaired)
}

// callName returns the name of a call for a request. A model may invent any name, and OpenAI
// rejects empty names (SO-09) and other characters.
func (w *writer) callName(name string) string {
	if w.req == nil {
		return name
	}
	if name == "" {
		return unnamedTool
	}
	for _, t := range w.req.Tools {
		if t.Name == name {
			return name
		}
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// appendOwn appends the opaque members of this protocol to the open object, except those that
// the codec writes.
func (w *writer) appendOwn(opaque json.RawMessage, own ...string) []byte {
	wirejson.EachMember(opaque, func(key, raw string) {
		if name, ok := messageNames.Wire(key); ok && !slices.Contains(own, name) {
			w.buf = wirejson.AppendRaw(w.buf, name, raw)
		}
	})
	return w.buf
}
