package fake

import (
	"encoding/json"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
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

func messageFormCodec() yamlfile.Codec[messageForm] {
	text := yamlfile.PointerTo(yamlfile.TextCodec)
	call := yamlfile.Object("message_call", "a call", append([]yamlfile.Field[callForm]{
		yamlfile.Member("id", "The id of the call.", yamlfile.TextCodec, func(c *callForm) *string { return &c.ID }),
		yamlfile.Member("name", "The name of the tool.", yamlfile.TextCodec, func(c *callForm) *string { return &c.Name }),
	}, yamlfile.BytesFields("arguments", "The arguments: a string, or a map.", yamlfile.ArgumentsCodec, func(c *callForm) *string { return &c.Arguments })...), nil)
	result := yamlfile.Object("message_result", "a result", append([]yamlfile.Field[resultForm]{
		yamlfile.Member("id", "The id of the call.", yamlfile.TextCodec, func(r *resultForm) *string { return &r.ID }),
		yamlfile.Member("name", "The name of the tool.", yamlfile.TextCodec, func(r *resultForm) *string { return &r.Name }),
		yamlfile.Member("is_error", "Whether the result is an error.", yamlfile.BoolCodec, func(r *resultForm) *bool { return &r.IsError }),
	}, yamlfile.BytesFields("text", "The text of the result.", yamlfile.TextCodec, func(r *resultForm) *string { return &r.Text })...), nil)
	return yamlfile.Object("message", "a message", []yamlfile.Field[messageForm]{
		yamlfile.Member("user", "The text of a user message.", text, func(m *messageForm) **string { return &m.User }),
		yamlfile.Member("system", "The text of a system message.", text, func(m *messageForm) **string { return &m.System }),
		yamlfile.Member("assistant", "The text of an assistant message; it may also have calls.", text, func(m *messageForm) **string { return &m.Assistant }),
		yamlfile.Member("calls", "The calls of an assistant message.", yamlfile.ListOf("calls", call), func(m *messageForm) *[]callForm { return &m.Calls }),
		yamlfile.Member("results", "The results of a tool message.", yamlfile.ListOf("results", result), func(m *messageForm) *[]resultForm { return &m.Results }),
		yamlfile.Member("role", "The role of a message with parts.", roleCodec, func(m *messageForm) *llm.Role { return &m.Role }),
		yamlfile.Member("parts", "The parts, each an object with a type.", membersCodec("parts"), func(m *messageForm) *json.RawMessage { return &m.Parts }),
		yamlfile.Member("opaque", "Opaque provider data.", yamlfile.JSONCodec, func(m *messageForm) *json.RawMessage { return &m.Opaque }),
	}, nil)
}

func messageCodec() yamlfile.Codec[llm.Message] {
	form := messageFormCodec()
	return yamlfile.Codec[llm.Message]{
		Read: func(r *yamlfile.Reader, n *yaml.Node) llm.Message {
			m := form.Read(r, n)
			return m.message(r, n)
		},
		Write:  func(m llm.Message) *yaml.Node { return form.Write(formOf(m)) },
		Schema: form.Schema,
	}
}

func (m *messageForm) message(r *yamlfile.Reader, n *yaml.Node) llm.Message {
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
		r.Errorf(n, "a message needs exactly one of user, system, assistant (with or without calls), calls, results, or role with parts")
	}
	return out
}

func (m *messageForm) parts(r *yamlfile.Reader, n *yaml.Node) []llm.Part {
	if m.Parts == nil {
		return nil
	}
	message, err := json.Marshal(map[string]json.RawMessage{"parts": m.Parts})
	var out llm.Message
	if err == nil {
		err = out.UnmarshalJSON(message)
	}
	if err != nil {
		r.Errorf(n, "invalid parts: %v", err)
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
func inputCodec() yamlfile.Codec[[]llm.Message] {
	messages := yamlfile.ListOf("messages", messageCodec())
	return yamlfile.Codec[[]llm.Message]{
		Read: func(r *yamlfile.Reader, n *yaml.Node) []llm.Message {
			if n.Kind == yaml.ScalarNode {
				return []llm.Message{llm.User(yamlfile.TextCodec.Read(r, n))}
			}
			return messages.Read(r, n)
		},
		Write: func(v []llm.Message) *yaml.Node {
			if len(v) == 1 {
				if f := formOf(v[0]); f.User != nil {
					return yamlfile.StringNode(*f.User)
				}
			}
			return messages.Write(v)
		},
		Schema: func(d yamlfile.Defs) yamlfile.Schema {
			return yamlfile.Schema{"anyOf": []any{yamlfile.Schema{"type": "string"}, messages.Schema(d)}}
		},
	}
}
