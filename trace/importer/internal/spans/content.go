package spans

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// content returns the texts, calls and results of a call, except system messages. It is the same in all
// conventions, which divide them into messages differently.
func (call *modelCall) content() string {
	var b []byte
	for _, m := range slices.Concat(call.Input, call.Output) {
		if m.Role == llm.RoleSystem {
			continue
		}
		b = append(b, m.Text()...)
		for _, c := range m.Calls() {
			b = append(append(append(b, 0), c.Name...), jsonval.Canonical(c.Arguments)...)
		}
		for _, r := range resultsOf(m) {
			b = append(append(b, 0), textOf(r)...)
		}
	}
	return string(b)
}

// reportUnused uses the calls with content that no used call has, unless a call above or below is used: then
// the content of an agent is reported. The calls are in the order of their ranks.
func reportUnused(spans []recordedSpan, calls []*modelCall, used map[*modelCall]bool) {
	if len(used) == len(calls) {
		return
	}
	var have usedContent
	for _, call := range calls {
		if used[call] {
			have.add(call)
		}
	}
	for _, call := range calls {
		if used[call] {
			continue
		}
		what, text := have.missing(call)
		switch isLayer := slices.ContainsFunc(call.layers, func(layer *modelCall) bool { return used[layer] }); {
		case what == "":
		case !isLayer:
			used[call] = true
			have.add(call)
		case call.agent:
			spans[call.n].silent = fmt.Errorf("the agent has the %s %.50q, which no model call has", what, text)
		}
	}
}

// usedContent is the content of calls.
type usedContent struct {
	is   map[string]bool
	text strings.Builder
}

func (c *usedContent) add(call *modelCall) {
	if c.is == nil {
		c.is = map[string]bool{}
	}
	for _, text := range call.contents() {
		if !c.is[text] {
			c.is[text] = true
			c.text.WriteString(text)
			c.text.WriteByte(0)
		}
	}
}

// missing returns a text, a call or a result of a call that is not in the content, and what it is; empty if
// the content has all. A framework may put a text into a longer one.
func (c *usedContent) missing(call *modelCall) (what, text string) {
	for what, text := range call.contents() {
		if !c.is[text] && !strings.Contains(c.text.String(), text) {
			return what, text
		}
	}
	return "", ""
}

// contents yields the texts, the calls and the results of a call, except system messages, and what each is.
func (call *modelCall) contents() iter.Seq2[string, string] {
	return func(yield func(what, text string) bool) {
		for _, m := range slices.Concat(call.Input, call.Output) {
			if m.Role == llm.RoleSystem {
				continue
			}
			for _, part := range m.Parts {
				what, text := "text", ""
				switch p := part.(type) {
				case llm.Text:
					text = p.Text
				case llm.ToolCall:
					what, text = "call", p.Name+" "+canonical(p.Arguments)
				case llm.ToolResult:
					what, text = "result", textOf(p)
				default:
				}
				if text = canonical(strings.TrimSpace(text)); text != "" && !yield(what, text) {
					return
				}
			}
		}
	}
}

// canonical returns the canonical form of a text that is JSON, else the text.
func canonical(text string) string {
	if jsonio.ValidText(text) {
		return jsonval.Canonical(text)
	}
	return text
}
