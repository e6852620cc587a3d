package api

import (
	"cmp"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// ReadUsage reads the usage of a response with the names of Chat Completions, Responses or
// OpenAI-compatible servers. Some servers write the names of both protocols, with 0 for one.
func ReadUsage(d *jsonio.Dec) (u llm.Usage) {
	if !wirejson.BeginObject(d) {
		return u
	}
	var total int64
	for key := range d.MembersAfter(true) {
		switch key {
		case "prompt_tokens", "input_tokens":
			u.InputTokens = cmp.Or(wirejson.Count(d), u.InputTokens)
		case "completion_tokens", "output_tokens":
			u.OutputTokens = cmp.Or(wirejson.Count(d), u.OutputTokens)
		case "total_tokens":
			total = wirejson.Count(d)
		case "prompt_cache_hit_tokens": // DeepSeek
			u.CacheReadInputTokens = cmp.Or(u.CacheReadInputTokens, wirejson.Count(d))
		case "cache_creation_input_tokens": // Vercel's gateway
			u.CacheCreationInputTokens = cmp.Or(u.CacheCreationInputTokens, wirejson.Count(d))
		case "prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details":
			readUsageDetails(d, &u)
		default:
			d.Skip()
		}
	}
	// xAI, and Vercel's gateway for Gemini, exclude reasoning from the output tokens.
	if u.ReasoningOutputTokens > u.OutputTokens || total == u.InputTokens+u.OutputTokens+u.ReasoningOutputTokens {
		u.OutputTokens += u.ReasoningOutputTokens
	}
	return u
}

func readUsageDetails(d *jsonio.Dec, u *llm.Usage) {
	if !wirejson.BeginObject(d) {
		return
	}
	for key := range d.MembersAfter(true) {
		switch key {
		case "cached_tokens":
			u.CacheReadInputTokens = cmp.Or(wirejson.Count(d), u.CacheReadInputTokens)
		case "cache_write_tokens": // OpenRouter
			u.CacheCreationInputTokens = cmp.Or(wirejson.Count(d), u.CacheCreationInputTokens)
		case "reasoning_tokens":
			u.ReasoningOutputTokens = cmp.Or(wirejson.Count(d), u.ReasoningOutputTokens)
		default:
			d.Skip()
		}
	}
}
