package llm

import "github.com/looptape/looptape/internal/jsonio"

// Version 1 of the JSON forms had other names for some members. These tables map
// them to the names of version 2; nothing else knows version 1.
var (
	v1Call     = jsonio.Renames{"args": "arguments", "minted": "id_generated"}
	v1Result   = jsonio.Renames{"id": "tool_call_id"}
	v1Request  = jsonio.Renames{"delivery": "response_mode"}
	v1Settings = jsonio.Renames{"stop": "stop_sequences", "parallel_calls": "parallel_tool_calls", "reasoning": "reasoning_effort"}
	v1Usage    = jsonio.Renames{
		"input": "input_tokens", "output": "output_tokens", "cached": "cache_read_input_tokens",
		"cache_write": "cache_creation_input_tokens", "reasoning": "reasoning_output_tokens",
	}
)
