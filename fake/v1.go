package fake

// v1Names maps members of a request in version 1 of the JSON of package llm to
// their names since version 2.
var v1Names = map[string]string{
	"id": "tool_call_id", "args": "arguments", "minted": "id_generated",
	"delivery": "response_mode", "stop": "stop_sequences", "parallel_calls": "parallel_tool_calls", "reasoning": "reasoning_effort",
}
