package anthropic

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// writeMessage writes a message, unless it is empty.
func (w *writer) writeMessage(m llm.Message) {
	from := len(w.dst)
	role := wireRole(m.Role)
	if role == "" {
		w.fail("Anthropic Messages has no role %q", m.Role)
		return
	}
	if w.messages > 0 {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(append(w.dst, `{"role":"`...), role...)
	w.dst = append(w.dst, `","content":[`...)
	if w.blocks(m.Role, m.Parts) == 0 {
		w.part = -1
		if m.Role == llm.RoleUser {
			w.fail("empty user message: add content")
		}
		w.dst = w.dst[:from]
		return
	}
	if w.part = -1; w.messages == 0 && role != roleUser {
		w.fail("the first message must have the role user, not %q", m.Role)
	}
	w.dst = append(appendMembers(append(w.dst, ']'), m.Opaque), '}')
	w.messages++
}

// Roles of the API.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
)

func wireRole(r llm.Role) string {
	switch r {
	case llm.RoleUser, llm.RoleTool:
		return roleUser
	case llm.RoleAssistant:
		return roleAssistant
	case llm.RoleSystem:
		return roleSystem
	}
	return ""
}

// blocks writes the parts of a message, and returns the number of blocks.
func (w *writer) blocks(role llm.Role, parts []llm.Part) (n int) {
	for i, part := range parts {
		w.part = i
		if isOmitted(part) || protocol.Omits(name, role, part) {
			continue
		}
		if n++; n > 1 {
			w.dst = append(w.dst, ',')
		}
		w.block(role, part)
	}
	return n
}

// isOmitted reports whether a request omits a part that the API rejects: blank text, reasoning
// without a signature, a call that another provider ran.
func isOmitted(part llm.Part) bool {
	switch p := part.(type) {
	case llm.Text:
		return strings.TrimSpace(p.Text) == ""
	case llm.Reasoning:
		return !redacted(p.Opaque) && wirejson.Get(p.Opaque, "signature") == nil
	case llm.ToolCall:
		return ranElsewhere(p)
	case llm.Media, llm.ToolResult, llm.Unknown:
	}
	return false
}

func (w *writer) block(role llm.Role, part llm.Part) {
	assistant := role == llm.RoleAssistant
	switch p := part.(type) {
	case llm.Text:
		w.text(p)
	case llm.Reasoning:
		if !assistant {
			w.fail("only an assistant message contains reasoning, not one with the role %q", role)
		}
		w.thinking(p)
	case llm.Media:
		if assistant {
			w.fail("an assistant message contains no %s in Anthropic Messages", p.MediaType)
		}
		w.media(p)
	case llm.ToolCall:
		if !assistant {
			w.fail("only an assistant message contains calls, not one with the role %q", role)
		}
		w.echo(p)
	case llm.ToolResult:
		if assistant {
			w.fail("an assistant message contains no tool result: use llm.Unknown for a result of the provider")
		}
		w.result(p)
	case llm.Unknown:
		w.unknown(p)
	}
}

// echo writes a call of the history.
func (w *writer) echo(p llm.ToolCall) {
	input := []byte("{}")
	if args := []byte(p.Arguments); sane(args) && jsonio.IsObject(p.Arguments) {
		input = wirejson.AppendValue(nil, args)
	}
	p.ID = w.id(p.ID)
	w.call(p, callName(p.Name), input)
}

// id returns the id of a call in a request, equal for the call and its result. A changed id
// ends with a hash, so that ids stay distinct.
func (w *writer) id(id string) string {
	switch {
	case protocol.IsName(id):
		return id
	case id == "":
		w.fail("missing call id: set ToolCall.ID")
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return fmt.Sprintf("%s_%016x", callName(id), h.Sum64())
}

// emptyError is the content of an error result without content, because the API requires some.
const emptyError = "The tool failed without a message."

func (w *writer) result(p llm.ToolResult) {
	w.dst = jsonio.AppendString(append(w.dst, `{"type":"tool_result","tool_use_id":`...), w.id(p.ID))
	w.dst = append(w.dst, `,"content":[`...)
	from := len(w.dst)
	for i, part := range p.Content {
		w.content = i
		if isOmitted(part) {
			continue
		}
		if len(w.dst) > from {
			w.dst = append(w.dst, ',')
		}
		w.inResult(part, p.IsError)
	}
	w.content = -1
	if p.IsError && len(w.dst) == from {
		w.text(llm.Text{Text: emptyError})
	}
	if len(w.dst) > from {
		w.dst = append(w.dst, ']')
	} else {
		w.dst = w.dst[:from-len(`,"content":[`)]
	}
	if p.IsError {
		w.dst = append(w.dst, `,"is_error":true`...)
	}
	w.dst = append(appendMembers(w.dst, p.Opaque, resultMembers...), '}')
}

// inResult writes a part of a result. An error result contains only text, so a text replaces
// media.
func (w *writer) inResult(part llm.Part, isError bool) {
	switch p := part.(type) {
	case llm.Text:
		w.text(p)
	case llm.Media:
		if isError {
			w.text(llm.Text{Text: p.MediaType + " was left out: a result that is an error can only hold text."})
			return
		}
		w.media(p)
	case llm.Unknown:
		w.unknown(p)
	case llm.Reasoning, llm.ToolCall, llm.ToolResult:
		w.fail("a tool result contains only text, images, documents and llm.Unknown blocks, not %T", p)
	}
}
