package anthropic

import (
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// say writes a message, behind a comma if one was written before it.
func (w *writer) say(m llm.Message) {
	from := len(w.dst)
	role := wireRole(m.Role)
	if role == "" {
		w.fail("Anthropic Messages has no role %q", m.Role)
		return
	}
	if w.said > 0 {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(append(w.dst, `{"role":"`...), role...)
	w.dst = append(w.dst, `","content":[`...)
	if w.blocks(m.Role, m.Parts) == 0 {
		w.part = -1
		if m.Role == llm.RoleUser {
			w.fail("a message of the user has to say something")
		}
		w.dst = w.dst[:from]
		return
	}
	if w.part = -1; w.said == 0 && role != roleUser {
		w.fail("a conversation with Anthropic Messages begins with the user, not with %q", m.Role)
	}
	w.dst = append(appendMembers(append(w.dst, ']'), m.Opaque, "role", "content", "container"), '}')
	w.said++
}

// The roles on the wire.
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

// blocks writes the parts of a message, and returns how many blocks they are.
func (w *writer) blocks(role llm.Role, parts []llm.Part) (n int) {
	words := hasWords(parts)
	for i, part := range parts {
		w.part = i
		if leftOut(part, words) {
			continue
		}
		if n++; n > 1 {
			w.dst = append(w.dst, ',')
		}
		w.block(role, part)
	}
	return n
}

// hasWords reports whether any of the texts has more than space.
func hasWords(parts []llm.Part) bool {
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok && strings.TrimSpace(t.Text) != "" {
			return true
		}
	}
	return false
}

// leftOut reports whether the API refuses a part that can as well be left out: an
// empty text; one of space, if no other has words; a thought without signature.
func leftOut(part llm.Part, words bool) bool {
	switch p := part.(type) {
	case llm.Text:
		return p.Text == "" || !words
	case llm.Reasoning:
		return !redacted(p.Opaque) && member(p.Opaque, "signature") == nil
	case llm.Media, llm.ToolCall, llm.ToolResult, llm.Unknown:
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
			w.fail("only a message of the assistant holds reasoning, not one of role %q", role)
		}
		w.thinking(p)
	case llm.Media:
		if assistant {
			w.fail("a message of the assistant holds no %s in Anthropic Messages", p.MediaType)
		}
		w.media(p)
	case llm.ToolCall:
		if !assistant {
			w.fail("only a message of the assistant holds calls, not one of role %q", role)
		}
		w.echo(p)
	case llm.ToolResult:
		if assistant {
			w.fail("a message of the assistant holds no result of a tool; what the provider ran itself is llm.Unknown")
		}
		w.result(p)
	case llm.Unknown:
		w.unknown(p)
	}
}

// echo writes a call of the history.
func (w *writer) echo(p llm.ToolCall) {
	w.id(p.ID)
	if kind, ok := memberText(p.Opaque, "type"); ok && p.ProviderExecuted && !strings.HasSuffix(kind, "_tool_use") {
		w.fail("the call was run by another provider, which calls it %q; leave it out", kind)
	}
	input := []byte("{}")
	if args := []byte(p.Args); sane(args) && isObject(args) {
		input = appendRaw(nil, args)
	}
	w.call(p, callName(p.Name), input)
}

func (w *writer) id(id string) {
	if !isName(id) {
		w.fail("Anthropic Messages takes ids of letters, digits, _ and -, not %q; give the call another id", id)
	}
}

// emptyError is the content of a result that is an error and says nothing: the API
// requires some.
const emptyError = "The tool failed without a message."

func (w *writer) result(p llm.ToolResult) {
	w.id(p.ID)
	w.dst = jsonio.AppendString(append(w.dst, `{"type":"tool_result","tool_use_id":`...), p.ID)
	w.dst = append(w.dst, `,"content":[`...)
	from := len(w.dst)
	words := hasWords(p.Content)
	for i, part := range p.Content {
		w.content = i
		if leftOut(part, words) {
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
	w.dst = append(appendMembers(w.dst, p.Opaque, "type", "tool_use_id", "content", "is_error"), '}')
}

// inResult writes a part of a result. One that is an error can only hold text.
func (w *writer) inResult(part llm.Part, isError bool) {
	switch p := part.(type) {
	case llm.Text:
		w.text(p)
	case llm.Media:
		if isError {
			w.fail("a result that is an error can only hold text in Anthropic Messages, not %s", p.MediaType)
		}
		w.media(p)
	case llm.Unknown:
		w.unknown(p)
	case llm.Reasoning, llm.ToolCall, llm.ToolResult:
		w.fail("a result of a tool can only hold text, images, documents and blocks that are llm.Unknown, not %T", p)
	}
}
