package fake

import (
	"encoding/json"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/llm"
)

// messageForm is a message in a file: one of user, system, assistant (with or without
// calls), calls, results, or role with parts.
type messageForm struct {
	User, System, Assistant *string
	Calls                   []callForm
	Results                 []resultForm
	Role                    llm.Role
	Parts, Opaque           json.RawMessage
}

type callForm struct{ ID, Name, Arguments string }

type resultForm struct {
	ID, Name, Text string
	IsError        bool
}

func messageFormCodec() codec[messageForm] {
	text := pointerTo(textCodec)
	call := object("message_call", "a call", append([]field[callForm]{
		member("id", "The id of the call.", textCodec, func(c *callForm) *string { return &c.ID }),
		member("name", "The name of the tool.", textCodec, func(c *callForm) *string { return &c.Name }),
	}, bytesFields("arguments", "The arguments: a string, or a map.", argumentsCodec, func(c *callForm) *string { return &c.Arguments })...), nil)
	result := object("message_result", "a result", append([]field[resultForm]{
		member("id", "The id of the call.", textCodec, func(r *resultForm) *string { return &r.ID }),
		member("name", "The name of the tool.", textCodec, func(r *resultForm) *string { return &r.Name }),
		member("is_error", "Whether the result is an error.", boolCodec, func(r *resultForm) *bool { return &r.IsError }),
	}, bytesFields("text", "The text of the result.", textCodec, func(r *resultForm) *string { return &r.Text })...), nil)
	return object("message", "a message", []field[messageForm]{
		member("user", "The text of a user message.", text, func(m *messageForm) **string { return &m.User }),
		member("system", "The text of a system message.", text, func(m *messageForm) **string { return &m.System }),
		member("assistant", "The text of an assistant message; it may also have calls.", text, func(m *messageForm) **string { return &m.Assistant }),
		member("calls", "The calls of an assistant message.", listOf("calls", call), func(m *messageForm) *[]callForm { return &m.Calls }),
		member("results", "The results of a tool message.", listOf("results", result), func(m *messageForm) *[]resultForm { return &m.Results }),
		member("role", "The role of a message with parts.", roleCodec, func(m *messageForm) *llm.Role { return &m.Role }),
		member("parts", "The parts, each an object with a type.", membersCodec("parts"), func(m *messageForm) *json.RawMessage { return &m.Parts }),
		member("opaque", "Opaque provider data.", jsonCodec, func(m *messageForm) *json.RawMessage { return &m.Opaque }),
	}, nil)
}

func messageCodec() codec[llm.Message] {
	form := messageFormCodec()
	return codec[llm.Message]{
		read: func(r *reader, n *yaml.Node) llm.Message {
			m := form.read(r, n)
			return m.message(r, n)
		},
		write:  func(m llm.Message) *yaml.Node { return form.write(formOf(m)) },
		schema: form.schema,
	}
}

func (m *messageForm) message(r *reader, n *yaml.Node) llm.Message {
	forms := 0
	var out llm.Message
	add := func(role llm.Role, text *string) {
		if text == nil {
			return
		}
		forms++
		out.Role = role
		if *text != "" || role != llm.RoleAssistant {
			out.Parts = append(out.Parts, llm.Text{Text: *text})
		}
	}
	add(llm.RoleUser, m.User)
	add(llm.RoleSystem, m.System)
	add(llm.RoleAssistant, m.Assistant)
	if m.Calls != nil {
		if m.Assistant == nil {
			forms++
		}
		out.Role = llm.RoleAssistant
		for _, c := range m.Calls {
			out.Parts = append(out.Parts, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
	}
	if m.Results != nil {
		forms++
		out.Role = llm.RoleTool
		for _, x := range m.Results {
			out.Parts = append(out.Parts, llm.ToolResult{ID: x.ID, Name: x.Name, IsError: x.IsError, Content: []llm.Part{llm.Text{Text: x.Text}}})
		}
	}
	if m.Role != "" || m.Parts != nil {
		forms++
		out.Role, out.Parts = m.Role, m.parts(r, n)
	}
	out.Opaque = m.Opaque
	if forms != 1 || out.Role == "" {
		r.errorf(n, "a message needs exactly one of user, system, assistant (with or without calls), calls, results, or role with parts")
	}
	return out
}

func (m *messageForm) parts(r *reader, n *yaml.Node) []llm.Part {
	if m.Parts == nil {
		return nil
	}
	message, err := json.Marshal(map[string]json.RawMessage{"parts": m.Parts})
	var out llm.Message
	if err == nil {
		err = out.UnmarshalJSON(message)
	}
	if err != nil {
		r.errorf(n, "invalid parts: %v", err)
	}
	return out.Parts
}

// formOf returns the shortest form of a message.
func formOf(m llm.Message) messageForm {
	if len(m.Parts) == 1 && m.Role == llm.RoleUser && m.Opaque == nil {
		if t, ok := m.Parts[0].(llm.Text); ok && !t.Refusal && t.Opaque == nil && utf8.ValidString(t.Text) {
			return messageForm{User: &t.Text}
		}
	}
	return messageForm{Role: m.Role, Parts: llm.AppendParts(nil, m.Parts), Opaque: m.Opaque}
}

// inputCodec is a list of messages, or the text of a user message.
func inputCodec() codec[[]llm.Message] {
	messages := listOf("messages", messageCodec())
	return codec[[]llm.Message]{
		read: func(r *reader, n *yaml.Node) []llm.Message {
			if n.Kind == yaml.ScalarNode {
				return []llm.Message{llm.User(textCodec.read(r, n))}
			}
			return messages.read(r, n)
		},
		write: func(v []llm.Message) *yaml.Node {
			if len(v) == 1 {
				if f := formOf(v[0]); f.User != nil {
					return stringNode(*f.User)
				}
			}
			return messages.write(v)
		},
		schema: func(d defs) schema {
			return schema{"anyOf": []any{schema{"type": "string"}, messages.schema(d)}}
		},
	}
}
