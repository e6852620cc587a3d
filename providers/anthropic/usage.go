package anthropic

import (
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// counts are token counts of the API, which splits the input in three. The last value of each
// counts (quirk QA-06).
type counts struct {
	input, cacheRead, cacheWrite, output, thinking int64
}

// read reads a usage. Missing counts stay.
func (c *counts) read(d *jsonio.Dec) {
	if !wirejson.BeginObject(d) {
		return
	}
	for key := range d.MembersAfter(true) {
		switch key {
		case "input_tokens":
			c.input = wirejson.CountOr(d, c.input)
		case "cache_read_input_tokens":
			c.cacheRead = wirejson.CountOr(d, c.cacheRead)
		case "cache_creation_input_tokens":
			c.cacheWrite = wirejson.CountOr(d, c.cacheWrite)
		case "output_tokens":
			c.output = wirejson.CountOr(d, c.output)
		case "output_tokens_details":
			c.readDetails(d)
		default:
			d.Skip()
		}
	}
}

func (c *counts) readDetails(d *jsonio.Dec) {
	if !wirejson.BeginObject(d) {
		return
	}
	for key := range d.MembersAfter(true) {
		if key != "thinking_tokens" {
			d.Skip()
			continue
		}
		c.thinking = wirejson.CountOr(d, c.thinking)
	}
}

func (c *counts) usage() llm.Usage {
	return llm.Usage{
		InputTokens:  c.input + c.cacheRead + c.cacheWrite,
		OutputTokens: c.output, CacheReadInputTokens: c.cacheRead, CacheCreationInputTokens: c.cacheWrite, ReasoningOutputTokens: c.thinking,
	}
}

// appendUsage appends the usage of a response and of message_start.
func appendUsage(dst []byte, u llm.Usage) []byte {
	dst = appendInputTokens(append(dst, '{'), u)
	dst = jsonio.AppendInt(append(dst, `,"cache_creation":{"ephemeral_5m_input_tokens":`...), u.CacheCreationInputTokens)
	dst = append(dst, `,"ephemeral_1h_input_tokens":0}`...)
	dst = appendOutputTokens(dst, u)
	return append(dst, `,"service_tier":"standard","inference_geo":"not_available"}`...)
}

// appendDeltaUsage appends the cumulative usage of message_delta.
func appendDeltaUsage(dst []byte, u llm.Usage) []byte {
	return append(appendOutputTokens(appendInputTokens(append(dst, '{'), u), u), '}')
}

func appendInputTokens(dst []byte, u llm.Usage) []byte {
	dst = jsonio.AppendInt(append(dst, `"input_tokens":`...), u.InputTokens-u.CacheReadInputTokens-u.CacheCreationInputTokens)
	dst = jsonio.AppendInt(append(dst, `,"cache_creation_input_tokens":`...), u.CacheCreationInputTokens)
	return jsonio.AppendInt(append(dst, `,"cache_read_input_tokens":`...), u.CacheReadInputTokens)
}

func appendOutputTokens(dst []byte, u llm.Usage) []byte {
	dst = jsonio.AppendInt(append(dst, `,"output_tokens":`...), u.OutputTokens)
	if u.ReasoningOutputTokens == 0 {
		return dst
	}
	dst = jsonio.AppendInt(append(dst, `,"output_tokens_details":{"thinking_tokens":`...), u.ReasoningOutputTokens)
	return append(dst, '}')
}
