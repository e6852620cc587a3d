package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// content is the content of a response.
type content struct {
	parts  []llm.Part
	usage  llm.Usage
	finish llm.FinishReason // "" is stop, or tool_calls if there are calls
}

// script returns the content as events with chunks of at most size bytes, each of which
// ends between characters; 0 means a single chunk.
func (s content) script(size int) Response {
	var events []llm.Event
	calls := 0
	for _, p := range s.parts {
		switch p := p.(type) {
		case llm.Text:
			chunks := split(p.Text, size)
			for i, chunk := range chunks {
				ev := llm.TextDelta{Text: chunk, Refusal: p.Refusal}
				if i == len(chunks)-1 {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			}
		case llm.Reasoning:
			chunks := split(p.Text, size)
			for i, chunk := range chunks {
				ev := llm.ReasoningDelta{Text: chunk}
				if i == len(chunks)-1 {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			}
		case llm.ToolCall:
			calls++
			events = append(events, llm.ToolCallStart{Index: calls, ID: p.ID, Name: p.Name, Opaque: p.Opaque})
			for _, chunk := range split(p.Arguments, size) {
				events = append(events, llm.ToolCallDelta{Index: calls, ID: p.ID, Arguments: chunk})
			}
			events = append(events, llm.ToolCallEnd{Index: calls, ID: p.ID})
		default:
			events = append(events, llm.PartDone{Part: p})
		}
	}
	if s.usage != (llm.Usage{}) {
		events = append(events, s.usage)
	}
	finish := s.finish
	switch {
	case finish != "":
	case calls > 0:
		finish = llm.FinishToolCalls
	default:
		finish = llm.FinishStop
	}
	return Response{Events: append(events, llm.Finish{Reason: finish})}
}

// response returns the assembled response.
func (s content) response() *llm.Response { return (&result{events: s.script(0).Events}).response() }

// split returns a string in chunks.
func split(text string, size int) (chunks []string) {
	for size > 0 && len(text) > size {
		n := len(strings.ToValidUTF8(text[:size], "")) // text is UTF-8
		if n == 0 {                                    // the first character is longer than a chunk
			_, n = utf8.DecodeRuneInString(text)
		}
		chunks, text = append(chunks, text[:n]), text[n:]
	}
	return append(chunks, text)
}

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
