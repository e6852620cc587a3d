package anthropic

import (
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

func readMessages(d *jsonio.Dec) (messages []llm.Message) {
	if d.Null() || !d.Array() {
		return nil
	}
	var calls []llm.ToolCall // of the last assistant message
	for first := true; d.More(&first); {
		m := readMessage(d)
		if m.Role == llm.RoleAssistant {
			calls = m.Calls()
		}
		messages = split(messages, m, calls)
	}
	return messages
}

func readMessage(d *jsonio.Dec) (m llm.Message) {
	if !d.Object() {
		return m
	}
	var rest opaqueReader
	for key := range d.MembersAfter(true) {
		switch key {
		case "role":
			m.Role = readRole(d)
		case "content":
			m.Parts = readContent(d, false)
		default:
			rest.read(d, key)
		}
	}
	m.Opaque = rest.object()
	return m
}

func readRole(d *jsonio.Dec) llm.Role {
	switch role := optionalString(d); role {
	case roleUser:
		return llm.RoleUser
	case roleAssistant:
		return llm.RoleAssistant
	case roleSystem:
		return llm.RoleSystem
	default:
		d.Fail("unknown role: want user or assistant, got " + role)
		return ""
	}
}

// split appends a message. A user message with results becomes several messages.
func split(to []llm.Message, m llm.Message, calls []llm.ToolCall) []llm.Message {
	if m.Role != llm.RoleUser {
		return append(to, m)
	}
	parts, begun := m.Parts, false
	for !begun || len(parts) > 0 {
		begun = true
		next := llm.Message{Role: llm.RoleUser, Opaque: m.Opaque}
		n := 0
		for n < len(parts) && isResult(parts[n]) == isResult(parts[0]) {
			if r, ok := parts[n].(llm.ToolResult); ok {
				next.Role = llm.RoleTool
				r.Name = nameOf(r.ID, calls)
				parts[n] = r
			}
			n++
		}
		next.Parts = parts[:n:n]
		to, parts = append(to, next), parts[n:]
	}
	return to
}

func isResult(p llm.Part) bool {
	_, ok := p.(llm.ToolResult)
	return ok
}

func nameOf(id string, calls []llm.ToolCall) string {
	for _, c := range calls {
		if c.ID == id {
			return c.Name
		}
	}
	return ""
}

// readTools reads the tools, and reports whether llm.Tool represents all of them.
func readTools(d *jsonio.Dec, req *llm.Request) (whole bool) {
	if d.Null() || !d.Array() {
		return true
	}
	whole = true
	for first := true; d.More(&first); {
		t, custom, known := readTool(d)
		if custom {
			req.Tools = append(req.Tools, t)
		}
		whole = whole && custom && known
	}
	return whole
}

// readTool reads a tool. Custom is false for tools of the provider. Known reports whether t
// represents all of it.
func readTool(d *jsonio.Dec) (t llm.Tool, custom, known bool) {
	custom, known = true, true
	if !d.Object() {
		return t, false, false
	}
	for key := range d.MembersAfter(true) {
		switch key {
		case "type":
			kind := optionalString(d)
			custom = kind == "" || kind == "custom"
		case "name":
			t.Name = optionalString(d)
		case "description":
			t.Description = optionalString(d)
		case "input_schema":
			if raw := d.Raw(); raw != "" {
				t.Parameters = jsonio.AppendRaw(nil, []byte(raw))
			}
		case "strict":
			if !d.Null() {
				t.Strict = new(d.Bool())
			}
		default:
			if !d.Null() {
				known = false
				d.Skip()
			}
		}
	}
	return t, custom, known
}

func readToolChoice(d *jsonio.Dec, req *llm.Request) (whole bool) {
	if d.Null() || !d.Object() {
		return true
	}
	whole = true
	var kind, name string
	for key := range d.MembersAfter(true) {
		switch key {
		case "type":
			kind = optionalString(d)
		case "name":
			name = optionalString(d)
		case "disable_parallel_tool_use":
			if !d.Null() {
				req.Settings.ParallelToolCalls = new(!d.Bool())
			}
		default:
			whole = false
			d.Skip()
		}
	}
	switch kind {
	case "auto":
	case "any":
		req.ToolChoice.Mode = llm.ChooseRequired
	case "none":
		req.ToolChoice.Mode = llm.ChooseNone
	case "tool":
		req.ToolChoice = llm.ToolChoice{Mode: llm.ChooseTool, Name: name}
	default:
		whole = false
	}
	return whole
}

func readOutputConfig(d *jsonio.Dec, req *llm.Request) (whole bool) {
	if d.Null() || !d.Object() {
		return true
	}
	whole = true
	for key := range d.MembersAfter(true) {
		switch {
		case key == "effort":
			req.Settings.ReasoningEffort = optionalString(d)
		case key == "format" && d.Peek() == '{':
			whole = readFormat(d, req) && whole
		case d.Null():
		default:
			whole = false
			d.Skip()
		}
	}
	return whole
}

func readFormat(d *jsonio.Dec, req *llm.Request) (whole bool) {
	kind, first := typeOf(d)
	whole = kind == "json_schema"
	for key := range d.MembersAfter(first) {
		switch raw := d.Raw(); {
		case key == "type":
		case key == "schema" && kind == "json_schema" && raw != "":
			req.Settings.OutputSchema = jsonio.AppendRaw(nil, []byte(raw))
		default:
			whole = false
		}
	}
	return whole
}
