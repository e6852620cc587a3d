package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
)

// describe writes a turn for comparison, a line for each thing that it says. What
// providers add of their own (ids of the answer, private data, their words for the
// finish) is left out, and so is the difference between stop and tool_calls, which
// they mix up, and that between a refusal by its text and one by its finish.
func describe(t *llm.Response) string {
	var b strings.Builder
	for _, p := range t.Parts {
		b.WriteString(describePart(p))
	}
	finish := t.FinishReason
	switch {
	case t.Refused():
		finish = llm.FinishRefusal
	case finish == llm.FinishToolCalls:
		finish = llm.FinishStop
	}
	fmt.Fprintf(&b, "finish %s\n", finish)
	if t.Usage != (llm.Usage{}) {
		fmt.Fprintf(&b, "usage %s\n", t.Usage.AppendJSON(nil))
	}
	for _, warning := range t.Warnings {
		fmt.Fprintf(&b, "warning %s: %s\n", warning.Code, warning.Message)
	}
	return b.String()
}

// describePart is a line of what a part says, its private data aside. A text that is
// empty says nothing.
func describePart(p llm.Part) string {
	var line []byte
	switch p := p.(type) {
	case llm.Text:
		if p.Text == "" {
			return ""
		}
		p.Opaque, p.Refusal = nil, false
		line = llm.AppendPart(nil, p)
	case llm.Reasoning:
		p.Opaque = nil
		line = llm.AppendPart(nil, p)
	case llm.Media:
		p.Opaque = nil
		line = llm.AppendPart(nil, p)
	case llm.ToolCall:
		p.Opaque = nil
		line = llm.AppendPart(nil, p)
	case llm.ToolResult:
		line = fmt.Appendf(nil, "result of %s, error %t: %s", p.ID, p.IsError, strings.TrimSuffix(describeParts(p.Content), "\n"))
	case llm.Unknown:
		line = llm.AppendPart(nil, p)
	}
	return string(line) + "\n"
}

func describeParts(parts []llm.Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(describePart(p))
	}
	return b.String()
}

// holds reports whether private data have all members of those that are wanted.
func containsMembers(got, want json.RawMessage) bool {
	if want == nil || llm.Canonical(string(got)) == llm.Canonical(string(want)) {
		return true
	}
	var g, m map[string]json.RawMessage
	if json.Unmarshal(got, &g) != nil || json.Unmarshal(want, &m) != nil {
		return false
	}
	for key, v := range m {
		if llm.Canonical(string(g[key])) != llm.Canonical(string(v)) {
			return false
		}
	}
	return true
}

// differ returns two texts one below the other, or "" if they are the same.
func differ(want, got string) string {
	if want == got {
		return ""
	}
	return "want:\n" + want + "got:\n" + got
}
