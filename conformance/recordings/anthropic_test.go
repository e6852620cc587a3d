package recordings

import "testing"

// readAnthropic reads a response of Anthropic Messages: its events, or the message.
func readAnthropic(t *testing.T, docs []any) (s said) {
	t.Helper()
	counts := map[string]int64{}
	var blocks []any // as in their start events
	var pieces []block
	message := func(m any) {
		s.ID, s.Model, s.Word = text(m, "id"), text(m, "model"), text(m, "stop_reason")
		count(counts, at(m, "usage"))
		for _, b := range list(m, "content") {
			blocks, pieces = append(blocks, b), append(pieces, block{})
		}
	}
	for _, doc := range docs {
		switch text(doc, "type") {
		case "message":
			message(doc)
		case "message_start":
			message(at(doc, "message"))
		case "content_block_start":
			blocks, pieces = append(blocks, at(doc, "content_block")), append(pieces, block{})
		case "content_block_delta":
			p := &pieces[number(doc, "index")]
			p.text += text(doc, "delta", "text")
			p.thinking += text(doc, "delta", "thinking")
			p.signature += text(doc, "delta", "signature")
			p.input += text(doc, "delta", "partial_json")
		case "message_delta":
			s.Word = text(doc, "delta", "stop_reason")
			count(counts, at(doc, "usage"))
		}
	}
	for i, b := range blocks {
		s.add(pieces[i].of(b))
	}
	s.Usage = usage{
		InputTokens:  counts["input_tokens"] + counts["cache_read_input_tokens"] + counts["cache_creation_input_tokens"],
		OutputTokens: counts["output_tokens"], CacheReadInputTokens: counts["cache_read_input_tokens"], CacheCreationInputTokens: counts["cache_creation_input_tokens"],
	}
	s.Finish = map[string]string{"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "refusal"}[s.Word]
	return s
}

// block has the content of the deltas of a block.
type block struct{ text, thinking, signature, input string }

// of adds the content of the start of the block.
func (p block) of(b any) (s said) {
	s.Text, s.Reasoning = text(b, "text")+p.text, text(b, "thinking")+p.thinking
	if signature := text(b, "signature") + p.signature; signature != "" {
		s.Signed = append(s.Signed, signature)
	}
	switch text(b, "type") {
	case "tool_use":
		c := call{text(b, "id"), text(b, "name"), at(b, "input")}
		if p.input != "" {
			c.Args = p.input
		}
		s.Calls = append(s.Calls, c)
	case "server_tool_use":
		s.Ran = append(s.Ran, text(b, "id"))
	}
	return s
}

// count updates the reported counts and keeps the others.
func count(counts map[string]int64, usage any) {
	for name, n := range usage.(map[string]any) {
		if n != nil {
			counts[name] = number(n)
		}
	}
}
