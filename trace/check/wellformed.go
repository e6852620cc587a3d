package check

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// wellFormed holds one message against INV-24. It reports the first thing that
// is wrong.
func wellFormed(s *sink, index int, m llm.Message) {
	if wrong := malformed(m); wrong != "" {
		s.report(invWellFormed, "message %d %s", index, wrong)
	}
}

func malformed(m llm.Message) string {
	switch m.Role {
	case llm.RoleSystem, llm.RoleUser:
	case llm.RoleAssistant:
		if m.Opaque == nil && empty(m) { // the id of a sound is opaque data, and all that OpenAI takes back of it
			return "is an assistant turn that says nothing; an empty turn is not sent"
		}
	case llm.RoleTool:
		if len(m.Parts) == 0 {
			return "is a tool message without a result"
		}
	default:
		return fmt.Sprintf("has the role %q, which no protocol knows", m.Role)
	}
	if m.Opaque != nil && !jsonio.Valid(m.Opaque) {
		return "has opaque data that is not JSON"
	}
	var provider ran
	for i, p := range m.Parts {
		if misplaced(m, p, &provider) {
			return fmt.Sprintf("has a part %d (%s) that a message of the role %s cannot have", i, partName(p), m.Role)
		}
		if unnamed(p) {
			return fmt.Sprintf("has a call on part %d without the name of a tool", i)
		}
		if o := llm.PartOpaque(p); o != nil && !jsonio.Valid(o) {
			return fmt.Sprintf("has opaque data on part %d that is not JSON", i)
		}
	}
	return ""
}

// empty reports whether the parts of a message say nothing: all are empty texts.
func empty(m llm.Message) bool {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); !ok || t.Text != "" || t.Opaque != nil {
			return false
		}
	}
	return true
}

// nameless reports whether a message has a call without a name, which no provider
// takes back.
func nameless(m llm.Message) bool { return slices.ContainsFunc(m.Parts, unnamed) }

func unnamed(p llm.Part) bool {
	c, ok := p.(llm.ToolCall)
	return ok && c.Name == "" && !c.ProviderExecuted
}

// misplaced reports whether a part cannot stand in its message. A part of a kind that
// only one provider has may stand in any: what a tool of that provider gave is one too.
func misplaced(m llm.Message, p llm.Part, provider *ran) bool {
	switch p := p.(type) {
	case llm.ToolCall, llm.Reasoning:
		return m.Role != llm.RoleAssistant
	case llm.ToolResult:
		return m.Role != llm.RoleTool && !provider.itself(m, p.ID)
	case llm.Unknown:
		return false
	default:
		return m.Role == llm.RoleTool
	}
}

func partName(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return "text"
	case llm.Reasoning:
		return "reasoning"
	case llm.Media:
		return "media"
	case llm.ToolCall:
		return "tool call " + p.ID
	case llm.ToolResult:
		return "tool result " + p.ID
	case llm.Unknown:
		return p.Kind
	}
	return "nothing"
}

// setup holds what stands outside the messages against INV-24.
func (r *run) setup(ev *trace.Event, b trace.ModelConfig) {
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
		}
		names[t.Name] = true
		r.tools.offer(t.Name)
	}
	switch c := b.ToolChoice; {
	case c.Mode == llm.ChooseTool && !names[c.Name]:
		r.report(invWellFormed, "the tool choice asks for %q, which is not among the tools of the request", c.Name)
	case c.Mode == llm.ChooseRequired && len(b.Tools) == 0:
		r.report(invWellFormed, "the tool choice asks for a call, but the request has no tools")
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
