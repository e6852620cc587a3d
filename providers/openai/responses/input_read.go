package responses

import (
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// input reads the input: one user message as a string, or items.
func (r *requestReader) input(d *jsonio.Dec) {
	if d.Peek() == '"' {
		r.req.Messages = []llm.Message{llm.User(d.String())}
		return
	}
	calls := map[string]*item{}
	for range d.Elements() {
		it := readItem(d)
		if d.Err() != nil {
			return
		}
		if err := r.item(&it, calls); err != nil && r.err == nil {
			r.err = err
		}
	}
}

// item adds an item to the messages. Calls contains the earlier calls by id.
func (r *requestReader) item(it *item, calls map[string]*item) error {
	switch it.kind {
	case kindMessage:
		return r.message(it)
	case kindReasoning:
		p, err := it.reasoning()
		r.add(llm.RoleAssistant, p)
		return err
	case kindCall, kindCustomCall:
		calls[it.callID] = it
		r.add(llm.RoleAssistant, it.call())
		return nil
	case kindOutput, kindCustomOutput:
		return r.result(it, calls[it.callID])
	}
	r.add(roleOf(it.kind), it.other())
	return nil
}

// roleOf returns the role for an item of an unknown kind.
func roleOf(kind string) llm.Role {
	switch kind {
	case "computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output", "mcp_approval_response":
		return llm.RoleTool
	}
	return llm.RoleAssistant
}

// add adds a part to the last message if it has the role, or to a new one.
func (r *requestReader) add(role llm.Role, p llm.Part) {
	list := &r.req.Messages
	if n := len(*list); n == 0 || (*list)[n-1].Role != role {
		*list = append(*list, llm.Message{Role: role})
	}
	m := &(*list)[len(*list)-1]
	m.Parts = append(m.Parts, p)
}

func (r *requestReader) message(it *item) error {
	switch it.role {
	case "user", "system", "developer":
		parts, err := it.parts()
		role := llm.Role(it.role)
		if it.role == "developer" {
			role = llm.RoleSystem
			it.opaque.AddString("role", it.role)
		}
		r.req.Messages = append(r.req.Messages, llm.Message{Role: role, Parts: parts, Opaque: it.opaque.Object()})
		return err
	case "assistant":
		parts, err := it.assistantParts()
		for _, p := range parts {
			r.add(llm.RoleAssistant, p)
		}
		return err
	}
	at := it.content
	at.Fail("a message has the role " + string(quoted(it.role)) + ": want user, assistant, system or developer")
	return at.Err()
}

// parts returns the content of a user or system message.
func (it *item) parts() ([]llm.Part, error) { return readContent(&it.content, it.has.content) }

func readContent(d *jsonio.Dec, has bool) (parts []llm.Part, err error) {
	if !has {
		return nil, nil
	}
	if d.Peek() == '"' {
		if t := d.String(); t != "" {
			parts = []llm.Part{llm.Text{Text: t}}
		}
		return parts, nil
	}
	for range d.Elements() {
		p := readContentPart(d)
		parts = append(parts, markUnknown(p.part()))
	}
	return parts, d.Err()
}

// assistantParts returns the parts of an assistant message. Each text has the opaque data of
// the item and its own.
func (it *item) assistantParts() ([]llm.Part, error) {
	if !it.has.content || it.content.Peek() == '"' {
		parts, err := it.parts()
		if len(parts) == 1 {
			parts[0] = llm.Text{Text: parts[0].(llm.Text).Text, Opaque: it.opaque.Object()}
		}
		return parts, err
	}
	contents, err := it.contentParts()
	var parts []llm.Part
	for i := range contents {
		part := contents[i].part()
		if t, ok := part.(llm.Text); ok {
			t.Opaque = joinMembers(it.opaque, contents[i].opaque)
			part = t
		}
		parts = append(parts, part)
	}
	return parts, err
}

// contentParts returns the content of a message. A string has none.
func (it *item) contentParts() (out []contentPart, err error) {
	d := it.content
	if !it.has.content || d.Peek() == '"' {
		return nil, nil
	}
	for range d.Elements() {
		out = append(out, readContentPart(&d))
	}
	return out, d.Err()
}

// joinMembers returns an object with the members of both, or nil.
func joinMembers(a, b wirejson.Members) json.RawMessage {
	o := append(wirejson.Members(nil), a...)
	if len(a) > 0 && len(b) > 0 {
		o = append(o, ',')
		b = b[1:]
	}
	return append(o, b...).Object()
}

func (r *requestReader) result(it, call *item) error {
	content, err := readContent(&it.output, it.has.output)
	out := llm.ToolResult{ID: it.callID, Content: content}
	o := it.opaque
	if call != nil {
		out.Name = call.name
	}
	if it.kind == kindCustomOutput && (call == nil || call.kind != kindCustomCall) {
		o.AddString("type", kindCustomOutput)
	}
	out.Opaque = o.Object()
	r.add(llm.RoleTool, out)
	return err
}
