package recordings

import (
	"strings"
	"testing"
)

// readResponses reads a response of the Responses API: the response in the last event of a stream, or
// the non-streaming response. The deltas of a stream must have the same content. The encrypted reasoning
// differs in each event; the one in the event that ends the item counts.
func readResponses(t *testing.T, docs []any) said {
	t.Helper()
	response, deltas := docs[0], said{}
	for _, doc := range docs {
		switch text(doc, "type") {
		case "response.output_text.delta":
			deltas.Text += text(doc, "delta")
		case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
			deltas.Reasoning += text(doc, "delta")
		case "response.output_item.done":
			deltas.Signed = append(deltas.Signed, encrypted(at(doc, "item"))...)
		case "response.completed", "response.incomplete":
			response = at(doc, "response")
		}
	}
	s := wholeResponse(response)
	if len(docs) == 1 {
		return s
	}
	s.Signed = deltas.Signed
	if s.Text != deltas.Text || joined(s.Reasoning) != joined(deltas.Reasoning) {
		t.Errorf("the deltas have %q and %q, the response %q and %q", deltas.Text, deltas.Reasoning, s.Text, s.Reasoning)
	}
	return s
}

// joined returns reasoning without the gaps between its parts, which no delta has.
func joined(reasoning string) string { return strings.ReplaceAll(reasoning, "\n\n", "") }

func wholeResponse(r any) said {
	s := said{ID: text(r, "id"), Model: text(r, "model"), Usage: usage{
		InputTokens: number(r, "usage", "input_tokens"), OutputTokens: number(r, "usage", "output_tokens"),
		CacheReadInputTokens: number(r, "usage", "input_tokens_details", "cached_tokens"), ReasoningOutputTokens: number(r, "usage", "output_tokens_details", "reasoning_tokens"),
	}}
	for _, item := range list(r, "output") {
		switch text(item, "type") {
		case "message":
			for i := range list(item, "content") {
				s.Text += text(item, "content", i, "text")
			}
		case "reasoning":
			s.Signed = append(s.Signed, encrypted(item)...)
			for i := range list(item, "summary") {
				if i > 0 {
					s.Reasoning += "\n\n"
				}
				s.Reasoning += text(item, "summary", i, "text")
			}
			for i := range list(item, "content") { // of LM Studio
				s.Reasoning += text(item, "content", i, "text")
			}
		case "function_call":
			s.Calls = append(s.Calls, call{text(item, "call_id"), text(item, "name"), text(item, "arguments")})
		case "custom_tool_call":
			s.Calls = append(s.Calls, call{text(item, "call_id"), text(item, "name"), text(item, "input")})
		case "web_search_call":
			s.Ran = append(s.Ran, text(item, "id"))
		}
	}
	s.Word = text(r, "status")
	switch {
	case s.Word == "incomplete":
		s.Word, s.Finish = text(r, "incomplete_details", "reason"), "length"
	case len(s.Calls) > 0:
		s.Finish = "tool_calls"
	default:
		s.Finish = "stop"
	}
	return s
}

// encrypted returns the encrypted reasoning of an item, or nil.
func encrypted(item any) []string {
	if content := text(item, "encrypted_content"); content != "" {
		return []string{content}
	}
	return nil
}
