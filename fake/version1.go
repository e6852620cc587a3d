package fake

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
)

// version1 maps keys of version 2 to the different keys of version 1. It is the only
// difference between the versions that this package knows; package loop has the names of
// the loop options.
var version1 = map[string]string{
	"arguments": "args", "arguments_b64": "args_b64", "by_arguments": "by_args", "cache_creation_input_tokens": "cache_write",
	"cache_read_input_tokens": "cached", "chunk_size": "chunk", "chunks": "pieces", "event_interval": "pace",
	"finish_reason": "finish", "input_tokens": "input", "omit_end": "no_end", "omit_finish": "no_finish",
	"omit_index": "no_index", "output_tokens": "output", "raw_finish_reason": "raw_finish", "reasoning_output_tokens": "reasoning",
	"single_chunk": "whole", "stop_after": "leave_after",
}

// version1Members maps members of llm's JSON objects to their names in version 2, by the
// type of the object or the name of the member that contains it. Package llm reads both.
var version1Members = map[string]map[string]string{
	"tool_call":       {"args": "arguments", "minted": "id_generated"},
	"tool_call_delta": {"args": "arguments"},
	"tool_result":     {"id": "tool_call_id"},
	"request":         {"delivery": "response_mode"},
	"settings":        {"stop": "stop_sequences", "parallel_calls": "parallel_tool_calls", "reasoning": "reasoning_effort"},
	"usage": {
		"input": "input_tokens", "output": "output_tokens", "cached": "cache_read_input_tokens",
		"cache_write": "cache_creation_input_tokens", "reasoning": "reasoning_output_tokens",
	},
}

// renameMembers records the members of llm's JSON in a node of this kind.
func renameMembers(r *yamlfile.Reader, n *yaml.Node, kind string) {
	if t := yamlfile.Child(n, "type"); t != nil {
		kind = t.Value
	}
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			renameMembers(r, c, kind)
		case i%2 == 1:
			if key := n.Content[i-1].Value; key != "opaque" && key != "parameters" {
				renameMembers(r, c, key)
			}
		case r.Old != nil && version1Members[kind][c.Value] != "":
			r.Rename(c, version1Members[kind][c.Value])
		}
	}
}

// membersCodec is for a value of llm's JSON.
func membersCodec(kind string) yamlfile.Codec {
	return yamlfile.Checked(yamlfile.JSONCodec, func(r *yamlfile.Reader, n *yaml.Node, _ *json.RawMessage) { renameMembers(r, n, kind) })
}

// v1Names maps members of a request in version 1 of the JSON of package llm to
// their names since version 2.
var v1Names = map[string]string{
	"id": "tool_call_id", "args": "arguments", "minted": "id_generated",
	"delivery": "response_mode", "stop": "stop_sequences", "parallel_calls": "parallel_tool_calls", "reasoning": "reasoning_effort",
}
