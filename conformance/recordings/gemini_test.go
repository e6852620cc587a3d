package recordings

import (
	"strings"
	"testing"
)

// readGemini reads a response of generateContent: its chunks, or the non-streaming response.
func readGemini(t *testing.T, docs []any) (s said) {
	t.Helper()
	counts := map[string]int64{}
	for _, doc := range docs {
		s.ID, s.Model = text(doc, "responseId"), text(doc, "modelVersion")
		if usage := at(doc, "usageMetadata"); usage != nil {
			count(counts, usage)
		}
		s.Word += text(doc, "candidates", 0, "finishReason")
		for _, p := range list(doc, "candidates", 0, "content", "parts") {
			if at(p, "functionCall") != nil && text(p, "functionCall", "name") == "" {
				appendDeltas(s.Calls[len(s.Calls)-1], list(p, "functionCall", "partialArgs"))
				continue
			}
			s.add(geminiPart(p))
		}
	}
	s.Usage = usage{
		InputTokens:          counts["promptTokenCount"] + counts["toolUsePromptTokenCount"],
		OutputTokens:         counts["candidatesTokenCount"] + counts["thoughtsTokenCount"],
		CacheReadInputTokens: counts["cachedContentTokenCount"], ReasoningOutputTokens: counts["thoughtsTokenCount"],
	}
	if total := s.Usage.InputTokens + s.Usage.OutputTokens; total != counts["totalTokenCount"] {
		t.Errorf("the counts sum to %d, the provider reports %d", total, counts["totalTokenCount"])
	}
	s.Finish = map[string]string{"STOP": "stop", "MAX_TOKENS": "length"}[s.Word]
	return s
}

func geminiPart(p any) (s said) {
	s.Signed = signed(p)
	switch {
	case at(p, "functionCall") != nil:
		args := at(p, "functionCall", "args")
		if args == nil {
			args = map[string]any{}
		}
		s.Calls = []call{{text(p, "functionCall", "id"), text(p, "functionCall", "name"), args}}
	case at(p, "thought") == true:
		s.Reasoning = text(p, "text")
	default:
		s.Text = text(p, "text")
	}
	return s
}

// appendDeltas adds deltas of arguments to a call. In the recordings, all are strings at the top level.
func appendDeltas(c call, pieces []any) {
	args := c.Args.(map[string]any)
	for _, p := range pieces {
		key := strings.TrimPrefix(text(p, "jsonPath"), "$.")
		args[key] = text(args, key) + text(p, "stringValue")
	}
}
