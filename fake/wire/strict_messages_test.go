package wire_test

import "strings"

// claudeBody returns a request of Anthropic Messages.
func claudeBody(model, messages string, more ...string) string {
	return `{"model":"` + model + `","max_tokens":9999,"messages":[` + messages + `]` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// Messages of Anthropic.
const (
	claudeUser   = `{"role":"user","content":"hi"}`
	claudeSaid   = `{"role":"assistant","content":"hm"}`
	claudeCalled = `{"role":"assistant","content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"toolu_1","name":"f","input":{}},{"type":"tool_use","id":"toolu_2","name":"f","input":{}}]}`
	claudeOne    = `{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}`
	claudeTwo    = `{"type":"tool_result","tool_use_id":"toolu_2","content":"2"}`
	claudeSearch = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	claudeFound  = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`
)

func claudeMessage(role string, blocks ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
}

func claudeResults(blocks ...string) string { return claudeMessage("user", blocks...) }

// claudeTool declares a tool; more is after its name.
func claudeTool(name, more string) string { return `{"name":"` + name + `"` + more + `}` }

func claudeTools(tools ...string) string { return `"tools":[` + strings.Join(tools, ",") + `]` }

const claudeSchema = `,"input_schema":{"type":"object"}`

func messagesRows() []strictRow {
	talk := func(messages ...string) string { return claudeBody("some-model", strings.Join(messages, ",")) }
	answered := talk(claudeUser, claudeCalled, claudeResults(claudeOne, claudeTwo))
	taking := func(schema string) string {
		return claudeBody("some-model", claudeUser, claudeTools(claudeTool("f", `,"input_schema":`+schema)))
	}
	invalid := func(name, schema, right string) strictRow {
		return strictRow{id: "SA-09", name: name, wrong: taking(`{"type":"object",` + schema + `}`), right: taking(`{"type":"object",` + right + `}`)}
	}
	const mustAnswer = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
	rows := []strictRow{
		{id: "SA-01", wrong: talk(claudeUser, claudeCalled, claudeResults(claudeOne)), right: answered, said: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2. " + mustAnswer},
		{id: "SA-01", name: "none", wrong: talk(claudeUser, claudeCalled, claudeUser), right: talk(claudeUser, claudeCalled, claudeResults(claudeOne), claudeResults(claudeTwo), claudeUser), said: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1, toolu_2. " + mustAnswer},
		{id: "SA-01", name: "at the end", wrong: talk(claudeUser, claudeCalled), right: answered},
		{id: "SA-01", name: "after a text", wrong: talk(claudeUser, claudeCalled, claudeResults(claudeOne, `{"type":"text","text":"so"}`, claudeTwo)), right: talk(claudeUser, claudeCalled, claudeResults(claudeOne, claudeTwo, `{"type":"text","text":"so"}`)), said: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2. " + mustAnswer},
		{id: "SA-01", name: "after a message", wrong: talk(claudeUser, claudeCalled, claudeUser, claudeResults(claudeOne, claudeTwo)), right: talk(claudeUser, claudeCalled, claudeResults(claudeOne), claudeResults(claudeTwo), claudeUser), said: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1, toolu_2. " + mustAnswer},
		{id: "SA-02", wrong: talk(claudeUser, claudeSaid, claudeResults(claudeOne)), right: answered, said: "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
		{id: "SA-02", name: "too late", wrong: talk(claudeUser, claudeCalled, claudeResults(claudeOne, claudeTwo), claudeSaid, claudeResults(claudeTwo)), right: answered},
		{id: "SA-02", name: "first", wrong: talk(claudeResults(`{"type":"text","text":"1"}`, claudeOne)), right: talk(claudeResults(`{"type":"text","text":"1"}`))},
		{id: "SA-03", wrong: talk(claudeUser, claudeCalled, claudeResults(claudeOne, claudeTwo, claudeOne)), right: answered, said: "messages.2.content.2: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1"},
		{id: "SA-03", name: "in two messages", wrong: talk(claudeUser, claudeCalled, claudeResults(claudeOne, claudeTwo), claudeResults(claudeTwo)), right: answered},
		{id: "SA-04", wrong: talk(claudeUser, strings.ReplaceAll(claudeCalled, "toolu_2", "toolu_1"), claudeResults(claudeOne)), right: answered, said: "messages.1.content.2: `tool_use` ids must be unique"},
		{id: "SA-04", name: "in two responses", wrong: talk(claudeUser, claudeCalled, claudeResults(claudeOne, claudeTwo), claudeCalled, claudeResults(claudeOne, claudeTwo)), right: answered},
		{id: "SA-05", wrong: strings.ReplaceAll(answered, "toolu_1", "functions.f:0"), right: strings.ReplaceAll(answered, "toolu_1", "functions-f_0"), said: "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
		{id: "SA-05", name: "of a result", wrong: talk(claudeUser, claudeResults(strings.Replace(claudeOne, "toolu_1", "", 1))), right: answered, said: "messages.1.content.0.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
		{id: "SA-06", wrong: `{"model":"some-model","messages":[` + claudeUser + `]}`, right: claudeBody("some-model", claudeUser), said: "max_tokens: Field required"},
		{id: "SA-06", name: "null", wrong: `{"model":"some-model","max_tokens":null,"messages":[` + claudeUser + `]}`, right: claudeBody("some-model", claudeUser)},
		{id: "SA-07", wrong: claudeBody("some-model", claudeUser, claudeTools(claudeTool("f", claudeSchema), claudeTool("my.tool", claudeSchema))), right: claudeBody("some-model", claudeUser, claudeTools(claudeTool("f", claudeSchema), claudeTool("my-Tool_1", claudeSchema))), said: "tools.1.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"},
		{id: "SA-07", name: "too long", wrong: claudeBody("some-model", claudeUser, claudeTools(claudeTool(strings.Repeat("f", 129), claudeSchema))), right: claudeBody("some-model", claudeUser, claudeTools(claudeTool(strings.Repeat("f", 128), `,"type":"custom"`+claudeSchema)))},
		{id: "SA-07", name: "custom", wrong: claudeBody("some-model", claudeUser, claudeTools(`{"type":"custom","name":"a b"}`)), right: claudeBody("some-model", claudeUser, claudeTools(`{"type":"web_search_20250305","name":"web_search"}`, `{"type":"mcp_toolset"}`, `{"type":"mcp_toolset"}`))},
		{id: "SA-08", wrong: claudeBody("some-model", claudeUser, claudeTools(claudeTool("f", claudeSchema), claudeTool("f", claudeSchema))), right: claudeBody("some-model", claudeUser, claudeTools(claudeTool("f", claudeSchema), claudeTool("g", claudeSchema))), said: "tools: Tool names must be unique."},
		{id: "SA-10", wrong: taking(`{"type":"object","anyOf":[{}]}`), right: taking(`{"type":"object","properties":{"a":{"anyOf":[{}],"oneOf":[true],"allOf":[{}]}}}`), said: "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"},
		{id: "SA-10", name: "oneOf", wrong: taking(`{"type":"object","oneOf":[{}]}`), right: taking(`{"type":"object","not":{}}`)},
		{id: "SA-10", name: "allOf", wrong: taking(`{"type":"object","allOf":[{}]}`), right: taking(`{"type":"object","if":{}}`)},
		{id: "SA-11", wrong: talk(claudeMessage("user", `{"type":"text","text":""}`)), right: talk(claudeMessage("user", `{"type":"text","text":"."}`)), said: "messages: text content blocks must be non-empty"},
		{id: "SA-11", name: "of the system prompt", wrong: claudeBody("some-model", claudeUser, `"system":[{"type":"text","text":"a"},{"type":"text","text":""}]`), right: claudeBody("some-model", claudeUser, `"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`), said: "system: text content blocks must be non-empty"},
		{id: "SA-12", wrong: talk(claudeUser, `{"role":"assistant","content":[]}`, claudeUser), right: talk(claudeUser, `{"role":"assistant","content":[]}`), said: "messages.1: all messages must have non-empty content except for the optional final assistant message"},
		{id: "SA-12", name: "the user's", wrong: talk(`{"role":"user","content":""}`), right: talk(claudeUser, `{"role":"assistant","content":""}`)},
		{id: "SA-17", wrong: talk(claudeSaid, claudeUser), right: talk(claudeUser, claudeUser, claudeSaid, claudeSaid, claudeUser), said: `messages: first message must use the "user" role`},
		{id: "SA-18", wrong: claudeBody("claude-opus-4-6", claudeUser+","+claudeSaid), right: claudeBody("claude-sonnet-4-5", claudeUser+","+claudeSaid), said: "This model does not support assistant message prefill. The conversation must end with a user message."},
		{id: "SA-18", name: "a pause", wrong: claudeBody("claude-opus-4-6", claudeUser+","+claudeSaid+","+claudeSaid), right: claudeBody("claude-opus-4-6", claudeUser+","+claudeMessage("assistant", claudeSearch))},
		{id: "SA-19", wrong: talk(claudeUser, claudeMessage("assistant", claudeSearch), claudeUser), right: talk(claudeUser, claudeMessage("assistant", claudeSearch, claudeFound), claudeUser), said: "messages.1: `web_search` tool use with id srvtoolu_1 was found without a corresponding `web_search_tool_result` block"},
		{id: "SA-19", name: "which calls tools", wrong: talk(claudeUser, claudeMessage("assistant", claudeSearch, strings.Replace(claudeFound, "_1", "_2", 1)), claudeUser), right: talk(claudeUser, claudeMessage("assistant", claudeSearch, `{"type":"tool_use","id":"toolu_1","name":"f","input":{},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`), claudeResults(claudeOne))},
		{id: "SA-20", wrong: `{"x":"` + `\ud83d"}`, right: claudeBody("some-model", `{"role":"user","content":"\ud83d\ude00 \\ud83d \u00e9 \n"}`), said: "The request body is not valid JSON: no low surrogate in string: line 1 column 13 (char 12)"},
		{id: "SA-20", name: "in a conversation", wrong: claudeBody("some-model", `{"role":"user","content":"\ud83d"}`), right: claudeBody("some-model", `{"role":"user","content":"\ud83d\ude00"}`)},
		{id: "SA-20", name: "the second half alone", wrong: "{\n" + `"x":"\ude00"}`, right: claudeBody("some-model", `{"role":"user","content":"\ud7ff \ue000"}`), said: "The request body is not valid JSON: no low surrogate in string: line 2 column 12 (char 13)"},
		{id: "SA-20", name: "two first halves", wrong: `{"x":"\ud83d\ud83d\ude00"}`, right: claudeBody("some-model", `{"role":"user","content":"\ud83d\ude00\ud83d\ude00"}`)},
		{id: "SA-20", name: "another escape after it", wrong: `{"x":"\ud83d\n"}`, right: claudeBody("some-model", `{"role":"user","content":"\udbff\udfff"}`)},
		{id: "SA-20", name: "another escape before it", wrong: `{"x":"\n\ud83d"}`, right: claudeBody("some-model", `{"role":"user","content":"\n\ud83d\ude00"}`)},
		{id: "SA-20", name: "two second halves", wrong: `{"x":"\udc00\udc00"}`, right: claudeBody("some-model", `{"role":"user","content":"\udbff\udc00"}`)},
		{id: "SA-20", name: "another character after it", wrong: `{"x":"\ud83d\ue000"}`, right: claudeBody("some-model", `{"role":"user","content":"\ud800\udc00"}`)},
		{id: "SA-21", wrong: "{}", right: claudeBody("some-model", claudeUser), key: "another", said: "invalid x-api-key"},
		{id: "SA-21", name: "none", wrong: "{}", right: claudeBody("some-model", claudeUser), key: " "},
		{id: "SA-09", wrong: taking(`{"type":"object","properties":{"a":{"type":"str"}}}`), right: taking(`{"type":"object","properties":{"a":{"type":["string","null","boolean","array","number","integer","object"]},"b":true,"c":{"unknown":1}}}`)},
	}
	return append(rows,
		invalid("no types", `"properties":{"a":{"type":[]}}`, `"properties":{"a":{"type":["null"]}}`),
		invalid("an invalid type", `"properties":{"a":{"type":["null","nil"]}}`, `"properties":{"a":{}}`),
		invalid("an invalid schema", `"properties":{"a":"string"}`, `"properties":{"a":false}`),
		invalid("properties", `"properties":[]`, `"properties":{}`),
		invalid("patterns", `"patternProperties":{"a":1}`, `"patternProperties":{"a":{}}`),
		invalid("definitions", `"$defs":{"a":1}`, `"$defs":{"a":{}}`),
		invalid("items", `"properties":{"a":{"items":[{}]}}`, `"properties":{"a":{"prefixItems":[{}],"items":false}}`),
		invalid("a choice of nothing", `"not":{"anyOf":[]}`, `"not":{"anyOf":[{}]}`),
		invalid("a choice of no schema", `"not":{"oneOf":[{},1]}`, `"not":{"oneOf":[{},true]}`),
		invalid("a choice that is not a list", `"not":{"allOf":{}}`, `"not":{"allOf":[{}]}`),
		invalid("required", `"required":true`, `"required":[]`),
		invalid("required twice", `"required":["a","a"]`, `"required":["a","b"]`),
		invalid("required numbers", `"required":[1]`, `"required":["1"]`),
		invalid("enum", `"enum":"a"`, `"enum":["a",1]`),
		invalid("an invalid bound", `"exclusiveMinimum":true`, `"exclusiveMinimum":-1.5`),
		invalid("a bound as a text", `"minimum":"0"`, `"minimum":0`),
		invalid("a negative length", `"maxLength":-1`, `"maxLength":1`),
		invalid("a length as a text", `"minItems":"1"`, `"minItems":9`),
		invalid("a multiple of nothing", `"multipleOf":0`, `"multipleOf":0.1`),
		invalid("a multiple of a text", `"multipleOf":"2"`, `"multipleOf":2`),
		invalid("unique", `"uniqueItems":"yes"`, `"uniqueItems":true,"deprecated":false`),
		invalid("a pattern", `"pattern":1`, `"pattern":"a"`),
		invalid("a description", `"description":null`, `"description":""`),
	)
}
