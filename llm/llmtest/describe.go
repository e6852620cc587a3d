package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// describe formats a response for comparison, one item per line. It omits ids, opaque data
// and raw finish reasons of the provider, and the differences between stop and tool_calls
// and between a refusal in the text and in the finish reason.
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

// describePart formats a part without its opaque data. Empty text is omitted.
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

// containsMembers reports whether opaque data has all expected members.
func containsMembers(got, want json.RawMessage) bool {
	if want == nil || jsonval.Canonical(string(got)) == jsonval.Canonical(string(want)) {
		return true
	}
	var g, m map[string]json.RawMessage
	if json.Unmarshal(got, &g) != nil || json.Unmarshal(want, &m) != nil {
		return false
	}
	for key, v := range m {
		if jsonval.Canonical(string(g[key])) != jsonval.Canonical(string(v)) {
			return false
		}
	}
	return true
}

// differ returns two strings, one after the other, or "" if they are equal.
func differ(want, got string) string {
	if want == got {
		return ""
	}
	return "want:\n" + want + "got:\n" + got
}
