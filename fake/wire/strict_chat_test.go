package wire_test

import "strings"

// chatBody returns a request of Chat Completions.
func chatBody(model, messages string, more ...string) string {
	return `{"model":"` + model + `","messages":[` + messages + `]` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// Messages of Chat Completions.
const (
	chatUser   = `{"role":"user","content":"hi"}`
	chatCalled = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"call_2","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	chatOne    = `{"role":"tool","tool_call_id":"call_1","content":"1"}`
	chatTwo    = `{"role":"tool","tool_call_id":"call_2","content":"2"}`
)

func chatTool(name, more string) string {
	return `"tools":[{"type":"function","function":{"name":"` + name + `"` + more + `}}]`
}

// chatCallAs returns a response of one call with this id and name, and its result.
func chatCallAs(id, name string) string {
	return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]},{"role":"tool","tool_call_id":"` + id + `","content":"1"}`
}

func chatRows() []strictRow {
	strict := func(parameters string) string {
		return chatBody("some-model", chatUser, chatTool("f", `,"strict":true,"parameters":`+parameters))
	}
	loose := func(parameters string) string {
		return chatBody("some-model", chatUser, chatTool("f", `,"parameters":`+parameters))
	}
	answered := chatBody("some-model", chatUser+","+chatCalled+","+chatOne+","+chatTwo)
	long := strings.Repeat("x", 41)
	const unanswered = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
	const schemaOf = "Invalid schema for function 'f': "
	return []strictRow{
		{id: "SO-01", wrong: chatBody("some-model", chatUser+","+chatCalled+","+chatOne+","+chatUser), right: answered, param: "messages.[3].role", said: unanswered + "call_2"},
		{id: "SO-01", name: "none", wrong: chatBody("some-model", chatUser+","+chatCalled+","+chatUser), right: answered, param: "messages.[2].role", said: unanswered + "call_1, call_2"},
		{id: "SO-01", name: "at the end", wrong: chatBody("some-model", chatUser+","+chatCalled+","+chatTwo), right: answered, param: "messages.[2].role", said: unanswered + "call_1"},
		{id: "SO-01", name: "another call before", wrong: chatBody("some-model", chatUser+","+chatCalled+","+chatOne+","+chatCallAs("call_3", "f")), right: answered, param: "messages.[3].role", said: unanswered + "call_2"},
		{id: "SO-02", wrong: chatBody("some-model", chatUser+","+chatOne), right: answered, param: "messages.[1].role", said: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."}, //nolint:misspell // as the provider writes it
		{id: "SO-02", name: "of another call", wrong: chatBody("some-model", chatUser+","+chatCalled+","+chatOne+","+chatTwo+","+strings.Replace(chatOne, "call_1", "call_9", 1)), right: answered, param: "messages.[4].role"},
		{id: "SO-02", name: "after other words", wrong: chatBody("some-model", chatUser+","+chatCalled+","+chatOne+","+chatTwo+","+chatUser+","+chatTwo), right: answered, param: "messages.[5].role"},
		{id: "SO-03", wrong: chatBody("some-model", chatUser+","+chatCalled+","+chatOne+","+chatTwo+","+chatOne), right: answered, param: "messages.[4].tool_call_id", said: "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_1', in messages[2] and messages[4]."},
		{id: "SO-04", wrong: chatBody("some-model", chatUser+","+chatCalled+`,{"role":"tool","content":"1"},`+chatTwo), right: answered, param: "messages.[2].tool_call_id", said: "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."},
		{id: "SO-05", wrong: chatBody("some-model", chatUser+`,{"role":"assistant","content":"hm","tool_calls":[]}`), right: chatBody("some-model", chatUser+`,{"role":"assistant","content":"hm","tool_calls":null}`), param: "messages[1].tool_calls", said: "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{id: "SO-06", wrong: chatBody("some-model", ""), right: chatBody("some-model", chatUser), said: "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{id: "SO-07", wrong: chatBody("some-model", chatUser+`,{"role":"assistant","content":null}`), right: chatBody("some-model", chatUser+`,{"role":"assistant","content":""}`), param: "messages.[1].content", said: "Invalid value for 'content': expected a string, got null."},
		{id: "SO-07", name: "a refusal", wrong: chatBody("some-model", chatUser+`,{"role":"assistant","refusal":null}`), right: chatBody("some-model", chatUser+`,{"role":"assistant","content":null,"refusal":"no"}`), param: "messages.[1].content"},
		{id: "SO-07", name: "an old call", wrong: chatBody("some-model", `{"role":"user"}`), right: chatBody("some-model", chatUser+`,{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"}`), param: "messages.[0].content"},
		{id: "SO-07", name: "a sound", wrong: chatBody("some-model", chatUser+`,{"role":"assistant","audio":null}`), right: chatBody("some-model", chatUser+`,{"role":"assistant","content":null,"audio":{"id":"audio_1"}}`), param: "messages.[1].content"},
		{id: "SO-08", wrong: chatBody("some-model", chatUser, chatTool("my.tool", "")), right: chatBody("some-model", chatUser, chatTool("my-Tool_1", "")), param: "tools[0].function.name", said: "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."},
		{id: "SO-08", name: "empty", wrong: chatBody("some-model", chatUser, chatTool("", "")), right: chatBody("some-model", chatUser, chatTool(strings.Repeat("n", 64), "")), param: "tools[0].function.name"},
		{id: "SO-09", wrong: chatBody("some-model", chatUser+","+chatCallAs("call_1", "")), right: chatBody("some-model", chatUser+","+chatCallAs("call_1", "f")), param: "messages[1].tool_calls[0].function.name", said: "Invalid 'messages[1].tool_calls[0].function.name': empty string. Expected a string with minimum length 1, but got an empty string instead."},
		{id: "SO-10", wrong: chatBody("some-model", chatUser+","+chatCallAs(long, "f")), right: chatBody("some-model", chatUser+","+chatCallAs(long[1:], "f")), param: "messages[1].tool_calls[0].id", said: "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead."},
		{id: "SO-10", name: "a gateway's", wrong: chatBody("gpt-4o", chatUser+","+chatCallAs(long, "f")), right: chatBody("z-ai/glm-4.6", chatUser+","+chatCallAs(long, "f")), param: "messages[1].tool_calls[0].id"},
		{
			id: "SO-11", wrong: strict(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`), right: strict(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`),
			param: "tools[0].function.parameters", said: schemaOf + "In context=(), 'additionalProperties' is required to be supplied and to be false.",
		},
		{id: "SO-11", name: "not strict", wrong: loose(`{"type":"object"}`), right: loose(`{"type":"object","properties":{}}`), param: "tools[0].function.parameters", said: schemaOf + "In context=(), object schema missing properties."},
		{id: "SO-11", name: "no type", wrong: loose(`{"properties":{}}`), right: loose(`null`), param: "tools[0].function.parameters"},
		{id: "SO-11", name: "another type", wrong: loose(`{"type":"array","items":{}}`), right: loose(`{"type":"object","properties":{"a":{"type":"array","items":{}}}}`), param: "tools[0].function.parameters"},
		{id: "SO-11", name: "not required", wrong: strict(`{"type":"object","properties":{"a":{},"b":{}},"required":["a"],"additionalProperties":false}`), right: strict(`{"type":"object","properties":{"a":{},"b":{}},"required":["b","a"],"additionalProperties":false}`), param: "tools[0].function.parameters"},
		{id: "SO-11", name: "below", wrong: strict(strictAround(`{"type":"object","properties":{}}`)), right: strict(strictAround(`{"type":"object","properties":{},"additionalProperties":false}`)), param: "tools[0].function.parameters", said: schemaOf + "In context=('properties', 'a'), 'additionalProperties' is required to be supplied and to be false."},
		{id: "SO-11", name: "in a list", wrong: strict(strictAround(`{"type":"array","items":{"type":["object","null"]}}`)), right: strict(strictAround(`{"type":"array","items":{"type":["string","null"]}}`)), param: "tools[0].function.parameters"},
		{id: "SO-11", name: "in a choice", wrong: strict(strictAround(`{"anyOf":[{"type":"null"},{"type":"object"}]}`)), right: strict(strictAround(`{"anyOf":[{"type":"null"},{"type":"string"}]}`)), param: "tools[0].function.parameters"},
		{id: "SO-11", name: "in a definition", wrong: strict(`{"type":"object","properties":{},"additionalProperties":false,"$defs":{"d":{"type":"object"}}}`), right: strict(`{"type":"object","properties":{},"additionalProperties":false,"$defs":{"d":{"type":"string"}}}`), param: "tools[0].function.parameters"},
		{id: "SO-11", name: "next to properties", wrong: strict(`{"type":"object","properties":{},"additionalProperties":false,"items":{"type":"object"}}`), right: strict(`{"type":"object","properties":{},"additionalProperties":false,"items":{}}`), param: "tools[0].function.parameters", said: schemaOf + "In context=('items',), 'additionalProperties' is required to be supplied and to be false."},
		{id: "SO-11", name: "not permitted", wrong: strict(strictAround(`{"oneOf":[{"type":"string"}]}`)), right: strict(strictAround(`{"anyOf":[{"type":"string"}]}`)), param: "tools[0].function.parameters"},
		{id: "SO-11", name: "without end", wrong: strict(strings.Repeat(`{"type":"object","properties":{"a":`, 40) + "{}" + strings.Repeat(`},"required":["a"],"additionalProperties":false}`, 40)), right: strict(strictAround("{}")), param: "tools[0].function.parameters"},
		{id: "SO-12", wrong: chatBody("some-model", chatUser, `"parallel_tool_calls":false`), right: chatBody("some-model", chatUser, `"parallel_tool_calls":false`, chatTool("f", "")), said: "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."},
		{id: "SO-12", name: "null", wrong: chatBody("some-model", chatUser, `"parallel_tool_calls":true,"tools":null`), right: chatBody("some-model", chatUser, `"parallel_tool_calls":null,"tools":null`)},
		{id: "SO-13", wrong: chatBody("o4-mini", chatUser, `"max_tokens":9`), right: chatBody("o4-mini", chatUser, `"max_completion_tokens":9`), said: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		{id: "SO-13", name: "gpt-5", wrong: chatBody("gpt-5", chatUser, `"max_tokens":9`), right: chatBody("gpt-5-chat-latest", chatUser, `"max_tokens":9`)},
		{id: "SO-13", name: "null", wrong: chatBody("gpt-5", chatUser, `"max_tokens":0`), right: chatBody("gpt-5", chatUser, `"max_tokens":null`)},
		{id: "SO-14", wrong: chatBody("o1-mini", `{"role":"system","content":"be good"},`+chatUser), right: chatBody("gpt-5", `{"role":"system","content":"be good"},`+chatUser), param: "messages[0].role", said: "Unsupported value: 'messages[0].role' does not support 'system' with this model."},
		{id: "SO-14", name: "developer", wrong: chatBody("o1-mini", chatUser+`,{"role":"developer","content":"be good"}`), right: chatBody("some-model", chatUser+`,{"role":"developer","content":"be good"}`), param: "messages[1].role"},
		{id: "SO-15", wrong: chatBody("some-model", chatUser, chatTool("f", `,"description":"`+strings.Repeat("é", 1025)+`"`)), right: chatBody("some-model", chatUser, chatTool("f", `,"description":"`+strings.Repeat("é", 1024)+`"`)), param: "tools[0].function.description", said: "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1025 instead."},
		{id: "SO-16", wrong: chatBody("x", chatUser), right: chatBody("some-model", chatUser), said: "The model `x` does not exist or you do not have access to it."},
		{id: "SO-16", name: "on Responses", path: strictPaths["SR"], wrong: `{"model":"x","input":"hi"}`, right: `{"model":"some-model","input":"hi"}`},
		{id: "SO-17", wrong: chatBody("x", ""), right: chatBody("some-model", chatUser), key: "sk-another", said: "Incorrect API key provided: ****. You can find your API key at https://platform.openai.com/account/api-keys."},
		{id: "SO-17", name: "none", wrong: chatBody("some-model", chatUser), right: chatBody("some-model", chatUser), key: " "},
		{id: "SO-18", wrong: chatBody("some-model", chatUser, `"tool_choice":"auto"`), right: chatBody("some-model", chatUser, `"tool_choice":"auto"`, chatTool("f", ""))},
		{id: "SO-19", wrong: chatBody("deepseek-reasoner", chatUser+","+chatCallAs("call_1", "f")), right: chatBody("deepseek-reasoner", chatUser+","+strings.Replace(chatCallAs("call_1", "f"), `"content":null`, `"content":null,"reasoning_content":"hm"`, 1))},
		{id: "SO-19", name: "in the continued response", wrong: chatBody("deepseek-reasoner", chatUser+","+chatCallAs("call_1", "f")), right: chatBody("deepseek-reasoner", chatUser+","+chatCallAs("call_1", "f")+","+chatUser)},
		{id: "SO-19", name: "a later response", wrong: chatBody("deepseek-reasoner", chatUser+","+chatUser+","+chatCallAs("call_1", "f")), right: chatBody("deepseek-reasoner", chatUser), said: "Missing `reasoning_content` field in the assistant message at message index 2."},
		{id: "SO-20", wrong: chatBody("mistral/small", chatUser+","+chatCalled+","+chatOne), right: strings.Replace(answered, "some-model", "mistral/small", 1), said: "Not the same number of function calls and responses"},
		{id: "SO-20", name: "more", wrong: chatBody("mistral-large", chatUser+","+chatCalled+","+chatOne+","+chatTwo+","+chatTwo), right: strings.Replace(answered, "some-model", "mistral-large", 1)},
	}
}

// strictAround returns a strict schema that contains another.
func strictAround(schema string) string {
	return `{"type":"object","properties":{"a":` + schema + `},"required":["a"],"additionalProperties":false}`
}
