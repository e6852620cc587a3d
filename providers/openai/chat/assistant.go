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

// The fields of reasoning that imitators have; in contentField it stands among
// the texts.
const (
	reasoningContent = "reasoning_content"
	reasoningField   = "reasoning"
	contentField     = "content"
)

// unnamedTool stands for a name that never came (quirk QO-30).
const unnamedTool = "unnamed_tool"

// assistant writes the members of an assistant message behind its opening brace.
func (w *writer) assistant(m *llm.Message) error {
	w.text("role", "assistant")
	calls, err := w.said(m.Parts)
	if err != nil {
		return err
	}
	own := append(w.reasoning(m.Parts), "role", "content", "refusal", "tool_calls")
	if calls {
		w.calls(m.Parts)
	}
	w.beside(m.Opaque, own...)
	w.buf = append(w.buf, '}')
	return nil
}

// said writes what was said, and reports whether there are calls too. OpenAI
// takes null for a content only where there are (SO-07).
func (w *writer) said(parts []llm.Part) (calls bool, err error) {
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
				// A text behind a refusal would come before it.
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
				return false, fmt.Errorf(".parts[%d]: a Chat Completions assistant message cannot hold %s", i, kind(p))
			}
			calls = calls || !p.ProviderExecuted
		case llm.ToolResult: // of a call that another provider ran
		case llm.Media:
			return false, fmt.Errorf(".parts[%d]: a Chat Completions assistant message cannot hold %s", i, kind(p))
		}
	}
	switch {
	case others > 0 || texts > 1 || refusals > 1:
		w.saidArray(parts)
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

// saidArray writes what was said piece by piece.
func (w *writer) saidArray(parts []llm.Part) {
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

// appendThinking appends reasoning as Mistral has it among the texts.
func appendThinking(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"thinking","thinking":[{"type":"text","text":`...)
	return append(jsonio.AppendString(dst, text), `}]}`...)
}

// reasoning writes the fields beside the content. In an answer, reasoning that
// names no field is in reasoning_content. It returns what was written.
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

// field is the field that reasoning came in, or goes to; empty if it is of
// another protocol, or all in its details.
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

// call writes a call. A custom tool's call says so in its opaque data.
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

// callName is the name of a call as it goes back: OpenAI takes none that is empty
// (SO-09) or has other characters than these, and a model may make up any.
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

// appendOwn appends the members of opaque data that are of this protocol to the
// object that is begun, but for those that the codec writes.
func (w *writer) appendOwn(opaque json.RawMessage, own ...string) []byte {
	wirejson.EachMember(opaque, func(key, raw string) {
		if name, ok := messageNames.Wire(key); ok && !slices.Contains(own, name) {
			w.buf = wirejson.AppendRaw(w.buf, name, raw)
		}
	})
	return w.buf
}
