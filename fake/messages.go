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
	Calls                   []llm.ToolCall
	Results                 []resultForm
	Role                    llm.Role
	Parts, Opaque           json.RawMessage
}

type resultForm struct {
	ID, Name, Text string
	IsError        bool
}

var messageFormCodec = yamlfile.Object[messageForm]("message", "a message", `
		user        The text of a user message.
		system      The text of a system message.
		assistant   The text of an assistant message; it may also have calls.
		calls       The calls of an assistant message.
		results     The results of a tool message.
		role        The role of a message with parts.
		parts       The parts, each an object with a type.
		opaque      Opaque provider data.`, yamlfile.Codecs{
	"calls": yamlfile.ListOf("calls", yamlfile.Object[llm.ToolCall]("message_call", "a call", `
		id               The id of the call.
		name             The name of the tool.
		arguments(_b64)  The arguments: a string, or a map.`, argumentsCodecs)),
	"results": yamlfile.ListOf("results", yamlfile.Object[resultForm]("message_result", "a result", `
		id          The id of the call.
		name        The name of the tool.
		is_error    Whether the result is an error.
		text(_b64)  The text of the result.`)),
	"role":  roleCodec,
	"parts": membersCodec("parts"),
})

var messagesCodec = yamlfile.ListOf("messages", yamlfile.Of(
	func(r *yamlfile.Reader, n *yaml.Node) llm.Message {
		var m messageForm
		messageFormCodec.Read(r, n, &m)
		return m.message(r, n)
	},
	func(m llm.Message) *yaml.Node { return messageFormCodec.Write(new(formOf(m))) },
	messageFormCodec.Schema,
))

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
			out.Parts = append(out.Parts, c)
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
var inputCodec = yamlfile.Codec{
	Read: func(r *yamlfile.Reader, n *yaml.Node, to any) {
		if n.Kind == yaml.ScalarNode {
			*to.(*[]llm.Message) = []llm.Message{llm.User(yamlfile.ReadText(r, n))}
			return
		}
		messagesCodec.Read(r, n, to)
	},
	Write: func(from any) *yaml.Node {
		if v := *from.(*[]llm.Message); len(v) == 1 {
			if f := formOf(v[0]); f.User != nil {
				return yamlfile.StringNode(*f.User)
			}
		}
		return messagesCodec.Write(from)
	},
	Schema: func(d yamlfile.Defs) yamlfile.Schema {
		return yamlfile.Schema{"anyOf": []any{yamlfile.Schema{"type": "string"}, messagesCodec.Schema(d)}}
	},
}
