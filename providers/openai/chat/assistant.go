package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
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

func (w *writer) assistant(m *llm.Message) {
	w.Text("role", "assistant")
	calls := w.content(m.Parts)
	own := append(w.reasoning(m.Parts), "role", "content", "refusal", "tool_calls")
	if calls {
		w.calls(m.Parts)
	}
	w.opaque(m.Opaque, own...)
	w.Add("}")
}

// content writes the content, and reports whether there are tool calls too. OpenAI accepts null
// as content only with tool calls (SO-07).
func (w *writer) content(parts []llm.Part) (calls bool) {
	var text, refusal string
	plain := true // no array is necessary
	for i, p := range parts {
		w.Part = i + 1
		switch p := p.(type) {
		case llm.Text:
			switch {
			case p.Text == "":
			case p.Refusal && p.Opaque == nil:
				plain = plain && refusal == ""
				refusal = p.Text
			default: // as a plain member, a refusal would come after this text
				plain = plain && text+refusal == "" && p.Opaque == nil
				text = p.Text
			}
		case llm.Reasoning:
			plain = plain && w.field(p.Opaque) != contentField
		case llm.Unknown:
			if codec.Omits(protocolName, llm.RoleAssistant, p) {
				continue
			}
			if err := codec.CheckUnknown(protocolName, p); err != nil {
				w.Fail("%w", err)
			}
			plain = false
		case llm.ToolCall:
			if p.ProviderExecuted && w.Req == nil {
				w.Fail("a Chat Completions assistant message cannot contain %s", kind(p))
			}
			calls = calls || !p.ProviderExecuted
		case llm.ToolResult: // of a call that another provider ran
		case llm.Media:
			w.Fail("a Chat Completions assistant message cannot contain %s", kind(p))
		}
	}
	w.Part = 0
	switch {
	case !plain:
		w.contentArray(parts)
		return calls
	case text != "" || !calls && w.Req != nil:
		w.Text("content", text)
	default:
		w.Raw("content", "null")
	}
	switch {
	case refusal != "":
		w.Text("refusal", refusal)
	case w.Req == nil:
		w.Raw("refusal", "null")
	}
	return calls
}

func (w *writer) contentArray(parts []llm.Part) {
	w.Raw("content", "[")
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			w.textPart(p)
		case llm.Reasoning:
			if w.field(p.Opaque) == contentField {
				w.Next(thinking(p.Text))
			}
		case llm.Unknown:
			if !codec.Omits(protocolName, llm.RoleAssistant, p) {
				w.Next(string(codec.Compact(p.Raw)))
			}
		case llm.ToolCall, llm.Media, llm.ToolResult: // not in the content
		}
	}
	w.Add("]")
}

// thinking returns reasoning as an element of the content, the format of Mistral.
func thinking(text string) string {
	return `{"type":"thinking","thinking":[{"type":"text","text":` + codec.Quote(text) + `}]}`
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
			w.Text(field, text)
			own = append(own, field)
		}
	}
	var details codec.Elements
	for _, p := range parts {
		if r, ok := p.(llm.Reasoning); ok {
			for raw := range codec.EachElement(codec.Get(r.Opaque, "reasoning_details")) {
				details.Add(raw)
			}
		}
	}
	if details != nil {
		w.Raw("reasoning_details", string(details.Array()))
		own = append(own, "reasoning_details")
	}
	return own
}

// field returns the member for reasoning. It is empty if the reasoning belongs to another
// protocol or is only in its details.
func (w *writer) field(opaque json.RawMessage) string {
	f := codec.GetString(opaque, "field")
	switch {
	case f == reasoningContent, f == reasoningField, f == contentField:
		return f
	case w.Req == nil && codec.Get(opaque, "reasoning_details") == nil:
		return reasoningContent
	}
	return ""
}

func (w *writer) calls(parts []llm.Part) {
	w.Raw("tool_calls", "[")
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			w.call(c)
		}
	}
	w.Add("]")
}

// call writes a call. The opaque data of a custom tool's call contains its type.
func (w *writer) call(c llm.ToolCall) {
	kind, args := callMembers(c.Opaque)
	w.Next(`{"id":%,"type":%`, w.id(c.ID), kind)
	w.Raw(kind, "{")
	w.Text("name", w.callName(c.Name))
	w.Text(args, w.arguments(c.Arguments))
	w.Members(codec.Get(c.Opaque, kind), "name", args)
	w.Add("}")
	w.own(c.Opaque, "id", "type", kind, "index")
	w.Add("}")
}

func callMembers(opaque json.RawMessage) (kind, args string) {
	if codec.GetString(opaque, "type") == "custom" {
		return "custom", "input"
	}
	return "function", "arguments"
}

// arguments returns the arguments of a call. In a request it repairs lone surrogates.
func (w *writer) arguments(args string) string {
	if w.Req == nil || !strings.Contains(args, `\u`) {
		return args
	}
	repaired := []byte(args)
	codec.RepairSurrogates(repaired)
	return string(repaired)
}

// callName returns the name of a call for a request. A model may invent any name, and OpenAI
// rejects empty names (SO-09) and other characters.
func (w *writer) callName(name string) string {
	switch {
	case w.Req == nil, slices.ContainsFunc(w.Req.Tools, func(t llm.Tool) bool { return t.Name == name }) && name != "":
		return name
	case name == "":
		return unnamedTool
	}
	return strings.Map(func(r rune) rune {
		if !protocol.IsName(string(r)) {
			return '_'
		}
		return r
	}, name)
}

// own writes the opaque members of this protocol, except those that the codec writes.
func (w *writer) own(opaque json.RawMessage, except ...string) {
	w.Dst = messageNames.Append(w.Dst, opaque, except...)
}
