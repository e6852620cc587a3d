package wire_test

import "strings"

// responsesBody is a request of Responses.
func responsesBody(items string, more ...string) string {
	return `{"model":"some-model","input":[` + items + `]` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// Items of Responses.
const (
	itemUser   = `{"role":"user","content":"hi"}`
	itemCall   = `{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}`
	itemOutput = `{"type":"function_call_output","call_id":"call_1","output":"1"}`
	itemSaid   = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hm"}]}`
	itemThink  = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAABo"}`
)

// itemTool declares a function; more is after its name.
func itemTool(name, more string) string {
	return `"tools":[{"type":"function","name":"` + name + `"` + more + `}]`
}

func responsesRows() []strictRow {
	talk := func(items ...string) string { return responsesBody(strings.Join(items, ",")) }
	answered := talk(itemUser, itemCall, itemOutput)
	taking := func(name, more string) string { return responsesBody(itemUser, itemTool(name, more)) }
	long := strings.Repeat("x", 65)
	with := func(item, key, value string) string {
		return strings.TrimSuffix(item, "}") + `,"` + key + `":` + value + `}`
	}
	custom := strings.Replace(strings.Replace(itemCall, "function_call", "custom_tool_call", 1), "arguments", "input", 1)
	const open, unpaired = `{"type":"object","properties":{"a":{}}}`, "No tool call found for function call output with call_id call_1."
	return []strictRow{
		{id: "SR-01", wrong: talk(itemUser, itemCall), right: answered, said: "No tool output found for function call call_1."},
		{id: "SR-01", name: "of another", wrong: talk(itemUser, itemCall, strings.ReplaceAll(itemCall, "_1", "_2"), itemUser, itemOutput), right: talk(itemUser, itemCall, itemUser, itemOutput), said: "No tool output found for function call call_2."},
		{id: "SR-01", name: "custom", wrong: talk(itemUser, custom), right: talk(itemUser, custom, strings.Replace(itemOutput, "function_call", "custom_tool_call", 1))},
		{id: "SR-02", wrong: talk(itemUser, itemOutput), right: answered, said: unpaired},
		{id: "SR-02", name: "before it", wrong: talk(itemUser, itemOutput, itemCall), right: answered, said: unpaired},
		{id: "SR-02", name: "custom", wrong: talk(itemUser, strings.Replace(itemOutput, "function_call", "custom_tool_call", 1)), right: answered},
		{id: "SR-03", wrong: talk(itemUser, itemCall, itemOutput, itemOutput), right: answered},
		{id: "SR-04", wrong: talk(itemUser, with(itemSaid, "id", `"msg_1"`), with(itemSaid, "id", `"msg_1"`)), right: talk(itemUser, with(itemSaid, "id", `"msg_1"`), with(itemSaid, "id", `"msg_2"`), itemSaid, itemSaid), said: "Duplicate item found with id msg_1. Remove duplicate items from your input and try again."},
		{id: "SR-05", wrong: talk(itemUser, with(itemCall, "id", `"call_1"`), itemOutput), right: talk(itemUser, with(itemCall, "id", `"fc_1"`), itemOutput), param: "input[1].id", said: "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'."},
		{id: "SR-05", name: "a message", wrong: talk(itemUser, with(`{"role":"assistant","content":"hm"}`, "id", `"fc_1"`)), right: talk(itemUser, with(`{"role":"assistant","content":"hm"}`, "id", `"msg_1"`)), param: "input[1].id"},
		{id: "SR-05", name: "reasoning", wrong: talk(itemUser, strings.Replace(itemThink, "rs_1", "msg_1", 1), itemSaid), right: talk(itemUser, itemThink, itemSaid, `{"type":"web_search_call","id":"ws_1"}`), param: "input[1].id"},
		{id: "SR-06", wrong: talk(itemUser, with(itemCall, "id", `""`), itemOutput), right: talk(itemUser, with(itemCall, "id", `null`), itemOutput), param: "input[1].id", said: "Invalid 'input[1].id': ''. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters."},
		{id: "SR-06", name: "other characters", wrong: talk(itemUser, with(itemCall, "id", `"fc.1"`), itemOutput), right: talk(itemUser, with(itemCall, "id", `"fc-1"`), itemOutput), param: "input[1].id"},
		{id: "SR-07", wrong: talk(itemUser, itemThink), right: talk(itemUser, itemThink, itemSaid), said: "Item 'rs_1' of type 'reasoning' was provided without its required following item."},
		{id: "SR-07", name: "before the user", wrong: talk(itemUser, itemThink, itemUser), right: talk(itemUser, itemThink, `{"type":"web_search_call","id":"ws_1"}`, itemUser)},
		{id: "SR-07", name: "before an output", wrong: talk(itemUser, itemCall, itemThink, itemOutput), right: talk(itemUser, itemThink, itemCall, itemOutput)},
		{id: "SR-12", wrong: talk(itemUser, strings.Replace(itemSaid, "output_text", "input_text", 1)), right: talk(`{"role":"user","content":[{"type":"input_text","text":"hi"}]}`, itemSaid, `{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`), param: "input[1].content[0]", said: "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."},
		{id: "SR-13", wrong: responsesBody(itemUser, chatTool("f", "")), right: taking("f", ""), param: "tools[0].name", said: "Missing required parameter: 'tools[0].name'."},
		{id: "SR-13", name: "custom", wrong: responsesBody(itemUser, `"tools":[{"type":"web_search"},{"type":"custom"}]`), right: responsesBody(itemUser, `"tools":[{"type":"web_search"},{"type":"custom","name":"f"}]`), param: "tools[1].name"},
		{id: "SR-14", wrong: taking("my.tool", ""), right: taking("my-Tool_1", ""), param: "tools[0].name"},
		{id: "SR-15", wrong: strings.ReplaceAll(answered, "call_1", long), right: strings.ReplaceAll(answered, "call_1", long[1:]), param: "input[1].call_id", said: "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 65 instead."},
		{id: "SR-16", wrong: taking("f", `,"parameters":`+open), right: taking("f", `,"strict":false,"parameters":`+open), param: "tools[0].parameters", said: "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be false."},
		{id: "SR-16", name: "said", wrong: taking("f", `,"strict":true,"parameters":`+open), right: taking("f", `,"strict":null,"parameters":`+open), param: "tools[0].parameters"},
		{id: "SR-16", name: "not strict", wrong: taking("f", `,"strict":false,"parameters":{"type":"object"}`), right: taking("f", `,"parameters":null`), param: "tools[0].parameters"},
		{id: "SR-17", wrong: talk(itemUser, with(itemThink, "status", "null"), itemSaid), right: talk(itemUser, itemThink, with(itemSaid, "status", `"completed"`)), param: "input[1].status", said: "Unknown parameter: 'input[1].status'."},
	}
}
