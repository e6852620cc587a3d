package recordings

import "testing"

// readChat reads a response of Chat Completions: its chunks, or the non-streaming response.
func readChat(t *testing.T, docs []any) (s said) {
	t.Helper()
	place := map[int64]int{} // position of the call with an index
	for _, doc := range docs {
		if s.ID == "" {
			s.ID = text(doc, "id")
		}
		if s.Model == "" {
			s.Model = text(doc, "model")
		}
		if u := at(doc, "usage"); u != nil {
			s.Usage = chatUsage(u)
		}
		for _, choice := range list(doc, "choices") {
			m := at(choice, "delta")
			if m == nil {
				m = at(choice, "message")
			}
			s.add(said{Text: text(m, "content") + text(m, "refusal"), Reasoning: chatReasoning(m), Signed: signed(at(m, "reasoning_details"))})
			for i, c := range list(m, "tool_calls") {
				index := int64(i)
				if at(c, "index") != nil {
					index = number(c, "index")
				}
				n, known := place[index]
				if id := text(c, "id"); !known || id != "" && id != s.Calls[n].ID {
					n = len(s.Calls)
					place[index] = n
					s.Calls = append(s.Calls, call{ID: id, Args: ""})
				}
				s.Calls[n].Name += text(c, "function", "name")
				s.Calls[n].Args = s.Calls[n].Args.(string) + text(c, "function", "arguments")
			}
			if word := text(choice, "finish_reason"); word != "" {
				s.Word = word
			}
		}
	}
	s.Finish = map[string]string{"stop": "stop", "tool_calls": "tool_calls", "length": "length"}[s.Word]
	return s
}

// chatReasoning returns the reasoning of a message. OpenRouter sends it twice, in the member and in the
// details.
func chatReasoning(m any) string {
	if thought := text(m, "reasoning_content"); thought != "" {
		return thought
	}
	return text(m, "reasoning")
}

func chatUsage(u any) usage {
	out := usage{
		InputTokens: number(u, "prompt_tokens"), OutputTokens: number(u, "completion_tokens"),
		CacheReadInputTokens: number(u, "prompt_tokens_details", "cached_tokens"), CacheCreationInputTokens: number(u, "prompt_tokens_details", "cache_write_tokens"),
		ReasoningOutputTokens: number(u, "completion_tokens_details", "reasoning_tokens"),
	}
	if out.CacheCreationInputTokens == 0 {
		out.CacheCreationInputTokens = number(u, "cache_creation_input_tokens") // Vercel's gateway
	}
	if total := number(u, "total_tokens"); total == out.InputTokens+out.OutputTokens+out.ReasoningOutputTokens || out.ReasoningOutputTokens > out.OutputTokens {
		out.OutputTokens += out.ReasoningOutputTokens // of a server that does not include it in the output
	}
	return out
}
