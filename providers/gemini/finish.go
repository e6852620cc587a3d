package gemini

import (
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// reasons are the finish reasons of Gemini. The first one of each value is written. Calls end
// with STOP (quirk QG-01).
var reasons = []struct {
	word string
	is   llm.FinishReason
}{
	{"STOP", llm.FinishStop},
	{"MAX_TOKENS", llm.FinishLength},
	{"SAFETY", llm.FinishContentFilter},
	{"RECITATION", llm.FinishContentFilter},
	{"BLOCKLIST", llm.FinishContentFilter},
	{"PROHIBITED_CONTENT", llm.FinishContentFilter},
	{"SPII", llm.FinishContentFilter},
	{"MODEL_ARMOR", llm.FinishContentFilter},
	{"IMAGE_SAFETY", llm.FinishContentFilter},
	{"IMAGE_PROHIBITED_CONTENT", llm.FinishContentFilter},
	{"IMAGE_RECITATION", llm.FinishContentFilter},
	{"MALFORMED_FUNCTION_CALL", llm.FinishMalformedCall},
	{"UNEXPECTED_TOOL_CALL", llm.FinishMalformedCall},
	{"MALFORMED_RESPONSE", llm.FinishError},
	{"MISSING_THOUGHT_SIGNATURE", llm.FinishError},
	{"OTHER", llm.FinishUnknown},
}

// unspecified means no reason. Servers that omit no member write it.
const unspecified = "FINISH_REASON_UNSPECIFIED"

func reasonOf(word string) llm.FinishReason {
	for _, r := range reasons {
		if r.word == word {
			return r.is
		}
	}
	return llm.FinishUnknown
}

// wordOf returns the word for a reason: raw, if it matches.
func wordOf(reason llm.FinishReason, raw string) string {
	switch reason {
	case llm.FinishToolCalls:
		reason = llm.FinishStop
	case llm.FinishRefusal:
		reason = llm.FinishContentFilter
	default:
	}
	if raw != "" && raw != unspecified && reasonOf(raw) == reason {
		return raw
	}
	for _, r := range reasons {
		if r.is == reason {
			return r.word
		}
	}
	return "OTHER"
}

// counts are the numbers of a usageMetadata.
type counts struct{ prompt, tools, cached, candidates, thoughts int64 }

// read reads a usageMetadata. Missing counts stay (quirk QG-09).
func (c *counts) read(d *jsonio.Dec) {
	if !d.Object() {
		return
	}
	for key := range d.MembersAfter(true) {
		var to *int64
		switch camel(key) {
		case "promptTokenCount":
			to = &c.prompt
		case "toolUsePromptTokenCount":
			to = &c.tools
		case "cachedContentTokenCount":
			to = &c.cached
		case "candidatesTokenCount":
			to = &c.candidates
		case "thoughtsTokenCount":
			to = &c.thoughts
		default:
			d.Skip()
			continue
		}
		if n := wirejson.Count(d); n != 0 {
			*to = n
		}
	}
}

// usage converts the counts: results of the provider's tools are input, thoughts are output.
func (c *counts) usage() llm.Usage {
	return llm.Usage{InputTokens: c.prompt + c.tools, OutputTokens: c.candidates + c.thoughts, CacheReadInputTokens: c.cached, ReasoningOutputTokens: c.thoughts}
}

// appendUsage appends a usageMetadata, which has no count for cache writes.
func appendUsage(dst []byte, u llm.Usage) []byte {
	dst = jsonio.AppendInt(append(dst, `{"promptTokenCount":`...), u.InputTokens)
	if u.CacheReadInputTokens != 0 {
		dst = jsonio.AppendInt(append(dst, `,"cachedContentTokenCount":`...), u.CacheReadInputTokens)
	}
	if n := u.OutputTokens - u.ReasoningOutputTokens; n > 0 {
		dst = jsonio.AppendInt(append(dst, `,"candidatesTokenCount":`...), n)
	}
	dst = jsonio.AppendInt(append(dst, `,"totalTokenCount":`...), u.Total())
	dst = jsonio.AppendInt(append(dst, `,"promptTokensDetails":[{"modality":"TEXT","tokenCount":`...), u.InputTokens)
	dst = append(dst, `}]`...)
	if u.ReasoningOutputTokens != 0 {
		dst = jsonio.AppendInt(append(dst, `,"thoughtsTokenCount":`...), u.ReasoningOutputTokens)
	}
	return append(dst, '}')
}
