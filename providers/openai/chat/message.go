package chat

import (
	"cmp"
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// messages writes the conversation. A tool message with several results becomes several
// messages.
func (w *writer) messages() {
	if !w.Has("messages") {
		return
	}
	w.Raw("messages", "[")
	if w.Req.System != "" {
		w.begin(w.chat.systemRole())
		w.Text("content", w.Req.System)
		w.Add("}")
	}
	for i := range w.Req.Messages {
		w.Message = i + 1
		w.message(&w.Req.Messages[i])
	}
	w.Message = 0
	w.Add("]")
}

func (c Protocol) systemRole() string {
	if c.Developer {
		return "developer"
	}
	return "system"
}

func (w *writer) message(m *llm.Message) {
	role := string(m.Role)
	switch m.Role {
	case llm.RoleAssistant:
		w.assistantMessage(m)
		return
	case llm.RoleTool:
		w.results(m)
		return
	case llm.RoleSystem:
		role = cmp.Or(codec.GetString(m.Opaque, "role"), w.chat.systemRole())
	case llm.RoleUser:
	}
	w.begin(role)
	w.parts(m.Parts, &w.Part, "a Chat Completions "+string(m.Role)+" message cannot contain ", true)
	w.end(m.Opaque)
}

// assistantMessage writes an assistant message, unless it is empty or contains only parts of
// another provider.
func (w *writer) assistantMessage(m *llm.Message) {
	before := len(w.Dst)
	w.Next("{")
	at := len(w.Dst)
	if w.assistant(m); string(w.Dst[at:]) == emptyMessage {
		w.Dst = w.Dst[:before]
	}
}

// emptyMessage is an empty assistant message after its opening brace.
const emptyMessage = `"role":"assistant","content":""}`

func (w *writer) begin(role string) { w.Next(`{"role":%`, role) }

func (w *writer) end(opaque json.RawMessage, own ...string) {
	w.own(opaque, append(own, "role", "content")...)
	w.Add("}")
}

// results writes a message for each result. The last one gets the opaque data of the tool
// message, unless it has its own.
func (w *writer) results(m *llm.Message) {
	for i, p := range m.Parts {
		if codec.Omits(protocolName, m.Role, p) {
			continue
		}
		w.Part = i + 1
		r, ok := p.(llm.ToolResult)
		if !ok {
			w.Fail("a Chat Completions tool message contains only results, not %s", kind(p))
		}
		w.begin("tool")
		w.Text("tool_call_id", w.id(r.ID))
		w.parts(r.Content, &w.Content, "a Chat Completions tool message contains only text, not ", false)
		opaque := r.Opaque
		if opaque == nil && i == len(m.Parts)-1 {
			opaque = m.Opaque
		}
		w.end(opaque, "tool_call_id")
	}
	w.Part = 0
}

// parts writes a content of text, media and unknown parts: at most one plain text as a string,
// others as an array. It omits empty text. At is the index of the part for errors.
func (w *writer) parts(parts []llm.Part, at *int, refusal string, media bool) {
	w.Key("content")
	if t, ok := onlyText(parts); ok {
		w.Dst = jsonio.AppendString(w.Dst, t)
		return
	}
	w.Add("[")
	for i, p := range parts {
		*at = i + 1
		switch p := p.(type) {
		case llm.Text:
			w.textPart(p)
			continue
		case llm.Unknown:
			w.Next("")
			w.Unknown(protocolName, p)
			continue
		case llm.Media:
			if media {
				w.media(p)
				continue
			}
		case llm.Reasoning, llm.ToolCall, llm.ToolResult:
		}
		w.Fail("%s%s", refusal, kind(p))
	}
	*at = 0
	w.Add("]")
}

func (w *writer) textPart(p llm.Text) {
	if p.Text == "" {
		return
	}
	key := "text"
	if p.Refusal {
		key = "refusal"
	}
	w.Next(`{"type":%`, key)
	w.Text(key, p.Text)
	w.own(p.Opaque, "type", key)
	w.Add("}")
}

func onlyText(parts []llm.Part) (only string, ok bool) {
	for _, p := range parts {
		t, isText := p.(llm.Text)
		switch {
		case isText && t.Text == "":
		case !isText || t.Opaque != nil || t.Refusal || only != "":
			return "", false
		default:
			only = t.Text
		}
	}
	return only, true
}

func kind(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return "text"
	case llm.Reasoning:
		return "reasoning"
	case llm.Media:
		return cmp.Or(p.MediaType, "media without a type")
	case llm.ToolCall:
		if p.ProviderExecuted {
			return "a call that the provider ran"
		}
		return "a tool call"
	case llm.ToolResult:
		return "a tool result"
	case llm.Unknown:
		return "a part of the type " + p.Kind
	}
	return "nothing"
}

// maxID is the length limit of OpenAI for call ids (SO-10).
const maxID = 40

// id returns the id of a call in a request, equal for the call and its result.
func (w *writer) id(id string) string {
	if w.Req == nil || w.chat.LongIDs {
		return id
	}
	return codec.ShortID(id, maxID)
}
