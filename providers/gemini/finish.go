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

type counts struct{ prompt, tools, cached, candidates, thoughts int64 }

// read reads a usageMetadata by way of next. Missing counts stay (quirk QG-09).
func (c *counts) read(d *jsonio.Dec, next *counts) {
	*next = counts{}
	if d.Peek() != '{' {
		d.Fail("expected an object")
	}
	lenient.Read(d, nil,
		"promptTokenCount", &next.prompt,
		"toolUsePromptTokenCount", &next.tools,
		"cachedContentTokenCount", &next.cached,
		"candidatesTokenCount", &next.candidates,
		"thoughtsTokenCount", &next.thoughts)
	*c = counts{
		cmp.Or(next.prompt, c.prompt), cmp.Or(next.tools, c.tools), cmp.Or(next.cached, c.cached),
		cmp.Or(next.candidates, c.candidates), cmp.Or(next.thoughts, c.thoughts),
	}
}

// usage converts the counts: results of the provider's tools are input, thoughts are output.
func (c *counts) usage() llm.Usage {
	return llm.Usage{InputTokens: c.prompt + c.tools, OutputTokens: c.candidates + c.thoughts, CacheReadInputTokens: c.cached, ReasoningOutputTokens: c.thoughts}
}

// usage writes a usageMetadata, which has no count for cache writes.
func (w *writer) usage(u llm.Usage) {
	w.Raw("usageMetadata", "{")
	w.Int("promptTokenCount", u.InputTokens)
	if u.CacheReadInputTokens != 0 {
		w.Int("cachedContentTokenCount", u.CacheReadInputTokens)
	}
	if n := u.OutputTokens - u.ReasoningOutputTokens; n > 0 {
		w.Int("candidatesTokenCount", n)
	}
	w.Int("totalTokenCount", u.Total())
	w.Raw("promptTokensDetails", `[{"modality":"TEXT"`)
	w.Int("tokenCount", u.InputTokens)
	w.Add("}]")
	if u.ReasoningOutputTokens != 0 {
		w.Int("thoughtsTokenCount", u.ReasoningOutputTokens)
	}
	w.Add("}")
}
