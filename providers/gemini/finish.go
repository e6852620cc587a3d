package gemini

import (
	"cmp"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// finishReasons are the finish reasons of Gemini. Calls end with STOP (quirk QG-01).
var finishReasons = codec.FinishReasons{
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

func finishReason(f *llm.Finish) string {
	reason, raw := f.Reason, f.Raw
	switch reason {
	case llm.FinishToolCalls:
		reason = llm.FinishStop
	case llm.FinishRefusal:
		reason = llm.FinishContentFilter
	default:
	}
	if raw == unspecified {
		raw = ""
	}
	return cmp.Or(finishReasons.Raw(reason, raw), "OTHER")
}

type counts struct{ prompt, tools, cached, candidates, thoughts codec.NonZero }

// read reads a usageMetadata. Missing counts stay (quirk QG-09).
func (c *counts) read(d *jsonio.Dec) {
	codec.Object{Required: true, Name: camel}.Read(d, nil,
		"promptTokenCount", &c.prompt,
		"candidatesTokenCount", &c.candidates,
		"totalTokenCount", nil,
		"toolUsePromptTokenCount", &c.tools,
		"cachedContentTokenCount", &c.cached,
		"thoughtsTokenCount", &c.thoughts)
}

// usage converts the counts: results of the provider's tools are input, thoughts are output.
func (c *counts) usage() llm.Usage {
	return llm.Usage{
		InputTokens:           int64(c.prompt + c.tools),
		OutputTokens:          int64(c.candidates + c.thoughts),
		CacheReadInputTokens:  int64(c.cached),
		ReasoningOutputTokens: int64(c.thoughts),
	}
}

// usage writes a usageMetadata, which has no count for cache writes.
func (w *writer) usage(u llm.Usage) {
	optional := func(key string, n int64) {
		if n > 0 {
			w.Int(key, n)
		}
	}
	w.Raw("usageMetadata", "{")
	w.Int("promptTokenCount", u.InputTokens)
	optional("cachedContentTokenCount", u.CacheReadInputTokens)
	optional("candidatesTokenCount", u.OutputTokens-u.ReasoningOutputTokens)
	w.Add(`,"totalTokenCount":%,"promptTokensDetails":[{"modality":"TEXT","tokenCount":%}]`, u.Total(), u.InputTokens)
	optional("thoughtsTokenCount", u.ReasoningOutputTokens)
	w.Add("}")
}
