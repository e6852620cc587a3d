package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check/internal/echo"
)

// malformed returns the first thing that is wrong with a message (INV-24); empty if nothing.
func malformed(m llm.Message) (f *Fault, wrong string) {
	f = faultMalformed
	switch m.Role {
	case llm.RoleSystem, llm.RoleUser:
	case llm.RoleAssistant:
		if !isContent(m.Opaque) && empty(m) { // OpenAI accepts the opaque id of audio as the only content
			if f = faultNoText; len(m.Parts) == 0 {
				f = faultNoParts
			}
			return f, "is an empty assistant message: it must not be sent"
		}
	case llm.RoleTool:
		if len(m.Parts) == 0 {
			return f, "is a tool message without a result"
		}
	default:
		return f, fmt.Sprintf("has the unknown role %q", m.Role)
	}
	if m.Opaque != nil && !jsonio.Valid(m.Opaque) {
		return f, "has opaque data that is not JSON"
	}
	executed := executedCalls(m)
	for i, p := range m.Parts {
		if isMisplaced(m, p, executed) {
			return f, fmt.Sprintf("has a part %d (%s) that a message of the role %s cannot have", i, echo.PartName(p), m.Role)
		}
		if isUnnamed(p) {
			return f, fmt.Sprintf("has a call on part %d without the name of a tool", i)
		}
		if o := llm.PartOpaque(p); o != nil && !jsonio.Valid(o) {
			return f, fmt.Sprintf("has opaque data on part %d that is not JSON", i)
		}
	}
	return f, ""
}

// empty reports whether a message has nothing but empty texts.
func empty(m llm.Message) bool {
	return !slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		t, ok := p.(llm.Text)
		return !ok || t.Text != "" || isContent(t.Opaque)
	})
}

// addRejected reports a result without content, arguments that are not a string, and an empty text in a message that
// has other parts or is not of the assistant, if the provider rejects it. A response at the end shows that it accepted
// the texts before.
func (l *List) addRejected(m llm.Message) {
	n := l.list.n - 1
	for i, p := range m.Parts {
		switch p := p.(type) {
		case llm.ToolResult:
			if m.Role == llm.RoleTool && len(p.Content) == 0 && (isWithoutContent(p.Opaque) || isWithoutContent(m.Opaque)) {
				l.sink.reportFault(faultNoOutput, "message %d has no content: its result is null or missing", n)
			}
		case llm.ToolCall:
			switch arguments := sentArguments(p); {
			case !l.Request || arguments == "":
			case arguments == "null":
				l.sink.reportFault(faultMalformed, "message %d has a call on part %d whose arguments are null or missing", n, i)
			case arguments[0] == '{':
				l.sink.reportFault(faultArguments, "message %d has a call on part %d whose arguments are an object and not a string", n, i)
			}
		case llm.Text:
			if l.isBlank(m, p) && !l.list.unsent && !l.Accepted && !l.Response && faultBlank.IsReported(l.Protocol) {
				l.sink.reportFault(faultBlank, "message %d has a text on part %d that is empty or white space", n, i)
				return
			}
		case llm.Media, llm.Reasoning, llm.Unknown:
		}
	}
}

// isBlank reports whether a text of a message is empty and no other rule concerns it. So is one of white space in a
// request, which "must contain non-whitespace text"; a program may omit such a text of a list before it sends the list.
func (l *List) isBlank(m llm.Message, t llm.Text) bool {
	if isContent(t.Opaque) || m.Role == llm.RoleAssistant && empty(m) {
		return false
	}
	return t.Text == "" || l.Request && m.Role != llm.RoleSystem && strings.TrimSpace(t.Text) == ""
}

// isWithoutContent reports whether opaque data shows that the content of a result is null or missing, as package
// importer notes it, and has no other content.
func isWithoutContent(opaque json.RawMessage) bool {
	return opaque != nil && !isContent(opaque) && memberOf(jsonio.View(opaque), "content") == "null"
}

// sentArguments returns the arguments of a call in a request, as JSON, that are not a string, as package importer notes
// them; empty if they are one.
func sentArguments(c llm.ToolCall) string {
	if c.Opaque == nil {
		return ""
	}
	return memberOf(memberOf(jsonio.View(c.Opaque), "function"), "arguments")
}

// isInput reports whether a text of the assistant is of a type that only the input may have, as package importer notes it.
func isInput(t llm.Text) bool {
	return t.Opaque != nil && memberOf(jsonio.View(t.Opaque), "type") == `"input_text"`
}

// memberOf returns the JSON of a member; empty if the value is no object that has it.
func memberOf(object, name string) (value string) {
	d := jsonio.NewDec(object)
	if d.Peek() != '{' {
		return ""
	}
	for key := range d.Members() {
		if raw := d.Raw(); key == name {
			value = raw
		}
	}
	return value
}

// emptyMembers are members of a message or a text that are not content, whatever their values are.
var emptyMembers = []string{
	"cache_control", "cachePoint", "created_at", "createdAt", "finish_reason", "id", "model", "name", "object", "phase", "role", "status",
	"stop_reason", "stop_sequence", "timestamp", "type", "usage",
}

// wrappers are members whose own members are those of the message.
var wrappers = []string{"additional_kwargs", "anthropic", "gemini"}

// isContent reports whether opaque data may be content, such as audio or a signature. Data that is not an object may be.
func isContent(opaque json.RawMessage) bool {
	d := jsonio.NewDec(jsonio.View(opaque))
	return opaque != nil && (d.Peek() != '{' || hasContent(&d) || d.End() != nil)
}

// hasContent reports whether an object has a member that may be content. An empty value, a number and a boolean are not.
func hasContent(d *jsonio.Dec) (found bool) {
	for name := range d.Members() {
		if slices.Contains(wrappers, name) && d.Peek() == '{' {
			found = hasContent(d) || found
			continue
		}
		value := d.Raw()
		isData := value != "" && strings.ContainsRune(`"[{`, rune(value[0])) && strings.Trim(value, "\"[{ \t\r\n}]") != ""
		found = found || isData && !slices.Contains(emptyMembers, name[strings.IndexByte(name, ':')+1:]) // codecs add a prefix
	}
	return found
}

// isUnnamed reports whether a part is a call without a name, which no provider accepts.
func isUnnamed(p llm.Part) bool {
	c, ok := p.(llm.ToolCall)
	return ok && c.Name == "" && !c.ProviderExecuted
}

// isMisplaced reports whether a message of this role cannot have the part. Any message may have
// parts of a kind that only one provider has: its tools return them as well.
func isMisplaced(m llm.Message, p llm.Part, executed names) bool {
	switch p := p.(type) {
	case llm.ToolCall, llm.Reasoning:
		return m.Role != llm.RoleAssistant
	case llm.ToolResult:
		return m.Role != llm.RoleTool && !executed[p.ID]
	case llm.Text:
		return m.Role == llm.RoleTool || m.Role == llm.RoleAssistant && isInput(p)
	case llm.Unknown:
		return false
	default:
		return m.Role == llm.RoleTool
	}
}

// config checks what is outside the messages of a request (INV-24).
func (r *run) config(ev *trace.Event, b trace.ModelConfig) {
	x := r.exchange(ev.Purpose)
	x.offers = len(b.Tools) > 0 && b.ToolChoice.Mode != llm.ChooseNone
	names := make(map[string]bool, len(b.Tools))
	for _, t := range b.Tools {
		switch {
		case t.Name == "":
			r.report(invWellFormed, "a tool has no name")
		case names[t.Name]:
			r.report(invWellFormed, "two tools have the name %q", t.Name)
		case t.Parameters != nil && !jsonio.IsObject(jsonio.View(t.Parameters)):
			r.report(invWellFormed, "the schema of the tool %q is not a JSON object", t.Name)
		case t.Builtin != nil && !jsonio.IsObject(jsonio.View(t.Builtin)):
			r.report(invWellFormed, "the definition of the builtin tool %q is not a JSON object", t.Name)
		}
		names[t.Name] = true
		if _, ok := r.tools.client[t.Name]; !ok {
			r.tools.declare(trace.ToolInfo{Name: t.Name})
		}
	}
	switch c := b.ToolChoice; {
	case c.Mode == llm.ChooseTool && !names[c.Name]:
		r.report(invWellFormed, "the tool choice is %q, which is not a tool of the request", c.Name)
	case c.Mode == llm.ChooseRequired && len(b.Tools) == 0:
		r.report(invWellFormed, "the tool choice requires a call, but the request has no tools")
	}
	if o := b.Settings.OutputSchema; o != nil && !jsonio.IsObject(jsonio.View(o)) {
		r.report(invWellFormed, "the output schema is not a JSON object")
	}
	for _, raw := range b.Extra {
		if !jsonio.Valid(raw) {
			r.report(invWellFormed, "an extra member of the request is not JSON")
			return
		}
	}
}

func quoted(s string) string { return strconv.Quote(s) }
