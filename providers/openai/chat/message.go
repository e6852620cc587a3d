package chat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

// messages writes the conversation. A tool message with several results becomes several
// messages.
func (w *writer) messages() error {
	if !w.asks("messages") {
		return nil
	}
	w.raw("messages", "[")
	if w.req.System != "" {
		w.begin(w.chat.systemRole())
		w.text("content", w.req.System)
		w.buf = append(w.buf, '}')
	}
	for i := range w.req.Messages {
		if err := w.message(&w.req.Messages[i]); err != nil {
			return fmt.Errorf("messages[%d]%w", i, err)
		}
	}
	w.buf = append(w.buf, ']')
	return nil
}

func (c Protocol) systemRole() string {
	if c.Developer {
		return "developer"
	}
	return "system"
}

// message writes a message. Its errors begin with the part, such as ".parts[0]: ".
func (w *writer) message(m *llm.Message) error {
	role := string(m.Role)
	switch m.Role {
	case llm.RoleAssistant:
		return w.assistantMessage(m)
	case llm.RoleTool:
		return w.results(m)
	case llm.RoleSystem:
		role = cmp.Or(wirejson.GetString(m.Opaque, "role"), w.chat.systemRole())
	case llm.RoleUser:
	}
	w.begin(role)
	w.name("content")
	if err := w.parts(m.Parts, ".parts", "a Chat Completions "+string(m.Role)+" message cannot contain ", w.media); err != nil {
		return err
	}
	w.end(m.Opaque, "role", "content")
	return nil
}

// assistantMessage writes an assistant message, unless it is empty or contains only parts of
// another provider.
func (w *writer) assistantMessage(m *llm.Message) error {
	before := len(w.buf)
	w.comma()
	w.buf = append(w.buf, '{')
	at := len(w.buf)
	if err := w.assistant(m); err != nil {
		return err
	}
	if string(w.buf[at:]) == emptyMessage {
		w.buf = w.buf[:before]
	}
	return nil
}

// emptyMessage is an empty assistant message after its opening brace.
const emptyMessage = `"role":"assistant","content":""}`

func (w *writer) begin(role string) {
	w.comma()
	w.buf = append(w.buf, '{')
	w.text("role", role)
}

// end ends a message with its other opaque members.
func (w *writer) end(opaque json.RawMessage, own ...string) {
	w.buf = append(w.appendOwn(opaque, own...), '}')
}

// results writes a message for each result. The last one gets the opaque data of the tool
// message, unless it has its own.
func (w *writer) results(m *llm.Message) error {
	for i, p := range m.Parts {
		if protocol.Omits(protocolName, m.Role, p) {
			continue
		}
		r, ok := p.(llm.ToolResult)
		if !ok {
			return fmt.Errorf(".parts[%d]: a Chat Completions tool message contains only results, not %s", i, kind(p))
		}
		w.begin("tool")
		w.text("tool_call_id", w.id(r.ID))
		w.name("content")
		if err := w.parts(r.Content, fmt.Sprintf(".parts[%d].content", i), "a Chat Completions tool message contains only text, not ", nil); err != nil {
			return err
		}
		opaque := r.Opaque
		if opaque == nil && i == len(m.Parts)-1 {
			opaque = m.Opaque
		}
		w.end(opaque, "role", "content", "tool_call_id")
	}
	return nil
}

// content writes text, media and unknown parts: at most one plain text as a string, others as
// an array. It omits empty text. Errors begin with path and the index of the part.
func (w *writer) parts(parts []llm.Part, path, refusal string, media func(llm.Media) error) error {
	if t, ok := onlyText(parts); ok {
		w.buf = jsonio.AppendString(w.buf, t)
		return nil
	}
	w.buf = append(w.buf, '[')
	for i, p := range parts {
		var err error
		switch p := p.(type) {
		case llm.Text:
			w.textPart(p)
			continue
		case llm.Unknown:
			if err = protocol.CheckUnknown(protocolName, p); err == nil {
				w.comma()
				w.buf = jsonio.AppendRaw(w.buf, p.Raw)
			}
		case llm.Media:
			if media != nil {
				w.comma()
				err = media(p)
				break
			}
			err = errors.New(refusal + kind(p))
		case llm.Reasoning, llm.ToolCall, llm.ToolResult:
			err = errors.New(refusal + kind(p))
		}
		if err != nil {
			return fmt.Errorf("%s[%d]: %w", path, i, err)
		}
	}
	w.buf = append(w.buf, ']')
	return nil
}

func (w *writer) textPart(p llm.Text) {
	if p.Text == "" {
		return
	}
	w.comma()
	key := "text"
	if p.Refusal {
		key = "refusal"
	}
	w.buf = append(w.buf, '{')
	w.text("type", key)
	w.text(key, p.Text)
	w.buf = append(w.appendOwn(p.Opaque, "type", key), '}')
}

// onlyText returns the text if the parts are at most one plain text.
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

// kind describes a part in an error.
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
	if w.req == nil || w.chat.LongIDs {
		return id
	}
	return api.ShortID(id, maxID)
}
