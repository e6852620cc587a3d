package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// Providers reject these values although no rule describes them. Each has the most similar
// accepted value.
func TestStrictValues(t *testing.T) {
	const chat, responses, messages, generate = "/openai/v1/chat/completions", "/openai/v1/responses", "/anthropic/v1/messages", "/gemini/v1beta/models/some-model:generateContent"
	user := `"messages":[` + chatUser + `]`
	ofChat := func(more string) string { return `{"model":"gpt-4o",` + more + `,` + user + `}` }
	ofClaude := func(more string) string { return `{"model":"m","max_tokens":9,` + more + `,` + user + `}` }
	marks := func(n int) string {
		text := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
		return `{"model":"m","max_tokens":9,"system":[` + text + `],"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
			`"messages":[{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(text+",", n-2), ",") + `]}]}`
	}
	lives := func(tool, system, message string) string { // cache_control of a tool, of the system prompt and of a message
		member := func(control string) string {
			if control == "" {
				return ""
			}
			return `,"cache_control":` + control
		}
		return `{"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}` + member(tool) + `}],"system":[{"type":"text","text":"x"` + member(system) + `}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"x"` + member(message) + `}]}]}`
	}
	const short, long, wrongType, wrongTTL, noTTL = `{"type":"ephemeral","ttl":"5m"}`, `{"type":"ephemeral","ttl":"1h"}`, `{"type":"persistent"}`, `{"type":"ephemeral","ttl":"2h"}`, `{"type":"ephemeral"}`
	emptyMark := func(text string) string { return `{"type":"text","text":"` + text + `","cache_control":` + noTTL + `}` }
	thought := func(block string) string {
		return claudeBody("m", claudeUser+","+claudeMessage("assistant", `{"type":`+block+`}`, `{"type":"text","text":"x"}`)+","+claudeUser)
	}
	deferred := func(is string) string {
		return ofClaude(`"tools":[{"name":"f","input_schema":{"type":"object"},"defer_loading":` + is + `,"cache_control":` + noTTL + `}]`)
	}
	const order = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."
	claudeF := `"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":`
	chatF := chatTool("f", "") + `,"tool_choice":{"type":"function","function":{"name":`
	said := func(role, piece string) string {
		return `{"model":"gpt-4o","messages":[{"role":"` + role + `","content":[` + piece + `]}]}`
	}
	tool := func(piece string) string {
		return `{"model":"gpt-4o","messages":[` + chatCallOne + `,{"role":"tool","tool_call_id":"call_1","content":[` + piece + `]}]}`
	}
	const text, image = `{"type":"text","text":"x"}`, `{"type":"image_url","image_url":{"url":"http://x/y.png"}}`
	items := func(items ...string) string { return `{"model":"m","input":[` + strings.Join(items, ",") + `]}` }
	call, output := `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"x"}`
	content := func(parts string) string { return `{"contents":[{"role":"user","parts":[` + parts + `]}]}` }
	functions := func(names string) string {
		return `{"tools":[{"functionDeclarations":[` + names + `]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},` + content(`{"text":"x"}`)[1:]
	}
	ofResponses := func(more string) string { return `{"model":"gpt-4o","input":"x",` + more + `}` }
	calling := func(args string) string {
		return `{"role":"model","parts":[{"functionCall":{"name":"f","args":` + args + `}}]}`
	}
	responsesF := `"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":`
	tools := func(n int) string {
		return `"tools":[` + strings.TrimSuffix(strings.Repeat(`{"type":"function","function":{"name":"f"}},`, n), ",") + `]`
	}
	for name, c := range map[string]struct{ to, wrong, right, said string }{
		"no model of Anthropic":         {messages, `{"max_tokens":9,` + user + `}`, `{"max_tokens":9,"anthropic_version":"bedrock-2023-05-31",` + user + `}`, "model: Field required"},
		"fewer tokens than none":        {messages, `{"model":"m","max_tokens":-1,` + user + `}`, `{"model":"m","max_tokens":0,` + user + `}`, "max_tokens: Input should be"},
		"heat of Anthropic":             {messages, ofClaude(`"temperature":1.1`), ofClaude(`"temperature":1`), "temperature: range: 0..1"},
		"cold of Anthropic":             {messages, ofClaude(`"temperature":-0.1`), ofClaude(`"temperature":0`), "temperature: range: 0..1"},
		"a budget":                      {messages, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":2000},` + user + `}`, `{"model":"m","max_tokens":2001,"thinking":{"type":"enabled","budget_tokens":2000},` + user + `}`, "`max_tokens` must be greater than `thinking.budget_tokens`."},
		"a small budget":                {messages, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1023},` + user + `}`, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},` + user + `}`, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"},
		"marks":                         {messages, marks(5), marks(4), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		"marks with that of the whole":  {messages, strings.Replace(marks(4), `{"model"`, `{"cache_control":{"type":"ephemeral"},"model"`, 1), strings.Replace(marks(3), `{"model"`, `{"cache_control":{"type":"ephemeral"},"model"`, 1), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		"marks within a result":         {messages, cacheResult(4), cacheResult(3), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		"a mark on no system prompt":    {messages, ofClaude(`"system":[` + emptyMark("") + `]`), ofClaude(`"system":[` + emptyMark("x") + `]`), "system.0.text: cache_control cannot be set for empty text blocks"},
		"a mark on no text":             {messages, claudeBody("m", claudeMessage("user", `{"type":"text","text":"x"},`+emptyMark(""))), claudeBody("m", claudeMessage("user", `{"type":"text","text":"x"},`+emptyMark("x"))), "messages.0.content.1.text: cache_control cannot be set for empty text blocks"},
		"a mark on thinking":            {messages, thought(`"thinking","thinking":"x","signature":"s","cache_control":` + noTTL), thought(`"thinking","thinking":"x","signature":"s","cache_control":null`), "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"},
		"a mark on redacted thinking":   {messages, thought(`"redacted_thinking","data":"x","cache_control":` + noTTL), thought(`"redacted_thinking","data":"x"`), "messages.1.content.0.redacted_thinking.cache_control: Extra inputs are not permitted"},
		"a mark on a message":           {messages, claudeBody("m", `{"role":"user","content":"x","cache_control":`+noTTL+`}`), claudeBody("m", claudeMessage("user", emptyMark("x"))), "messages.0.cache_control: Extra inputs are not permitted"},
		"a mark on a deferred tool":     {messages, deferred("true"), deferred("false"), "Tool 'f' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching."},
		"a mark of no type":             {messages, lives("", `{}`, ""), lives("", noTTL, ""), "system.0.cache_control.type: expected 'ephemeral'"},
		"a mark of another type":        {messages, lives("", "", wrongType), lives("", "", noTTL), "messages.0.content.0.cache_control.type: expected 'ephemeral'"},
		"a mark that is a text":         {messages, lives(`"ephemeral"`, "", ""), lives(`null`, "", ""), "tools.0.cache_control.type: expected 'ephemeral'"},
		"a mark of the whole":           {messages, ofClaude(`"cache_control":` + wrongType), ofClaude(`"cache_control":` + noTTL), "cache_control.type: expected 'ephemeral'"},
		"a lifetime of a tool":          {messages, lives(wrongTTL, "", ""), lives(long, "", ""), "tools.0.custom.cache_control.ephemeral.ttl: Input should be '5m' or '1h'"},
		"a lifetime of the system":      {messages, lives("", wrongTTL, ""), lives("", short, ""), "system.0.cache_control.ephemeral.ttl: Input should be '5m' or '1h'"},
		"a lifetime in seconds":         {messages, lives("", "", `{"type":"ephemeral","ttl":3600}`), lives("", "", `{"type":"ephemeral","ttl":null}`), "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'"},
		"a lifetime of the whole":       {messages, ofClaude(`"cache_control":` + wrongTTL), ofClaude(`"cache_control":` + long), "cache_control.ephemeral.ttl: Input should be '5m' or '1h'"},
		"longer in the system":          {messages, lives(short, long, ""), lives(long, short, ""), "system.0.cache_control.ttl: " + order},
		"longer in a message":           {messages, lives("", noTTL, long), lives("", long, noTTL), "messages.0.content.0.cache_control.ttl: " + order},
		"longer in the whole":           {messages, strings.Replace(lives("", short, ""), `{"model"`, `{"cache_control":`+long+`,"model"`, 1), strings.Replace(lives("", long, ""), `{"model"`, `{"cache_control":`+long+`,"model"`, 1), "cache_control.ttl: " + order},
		"a blank system":                {messages, ofClaude(`"system":[{"type":"text","text":" "}]`), ofClaude(`"system":[{"type":"text","text":"x"}]`), "system: text content blocks"},
		"any of no tools":               {messages, ofClaude(`"tools":[],"tool_choice":{"type":"any"}`), ofClaude(claudeF + `"any"}`), "tool_choice: "},
		"a tool of none":                {messages, ofClaude(`"tool_choice":{"type":"tool","name":"f"}`), ofClaude(claudeF + `"tool","name":"f"}`), "tool_choice: "},
		"another tool":                  {messages, ofClaude(claudeF + `"tool","name":"g"}`), ofClaude(claudeF + `"auto"}`), "Tool 'g' not found in provided tools"},
		"an unknown block":              {messages, claudeBody("m", claudeMessage("user", `{"type":"zork"}`)), claudeBody("m", claudeMessage("user", `{"type":"image","source":{}}`)), "messages.0.content.0: Input tag 'zork' found"},
		"a call of the user's":          {messages, claudeBody("m", claudeMessage("user", claudeSearch)), claudeBody("m", claudeUser+","+claudeMessage("assistant", claudeSearch)), "messages.0.content.0: Input tag 'server_tool_use' found"},
		"the system first":              {messages, claudeBody("m", `{"role":"system","content":"x"},`+claudeUser), claudeBody("m", claudeUser+`,{"role":"system","content":"x"}`), `messages: Unexpected role "system".`},
		"a role of Chat":                {messages, claudeBody("m", `{"role":"tool","content":"x"}`), claudeBody("m", claudeUser), "messages.0.role: Input should be 'user' or 'assistant'"},
		"no model of Chat":              {chat, `{` + user + `}`, ofChat(`"temperature":2`), "you must provide a model parameter"},
		"heat of Chat":                  {chat, ofChat(`"temperature":2.5`), strings.Replace(ofChat(`"temperature":2.5`), "gpt-4o", "some-model", 1), "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead."},
		"cold of Chat":                  {chat, ofChat(`"temperature":-1`), ofChat(`"temperature":0`), "Invalid 'temperature': decimal below minimum value."},
		"stops":                         {chat, ofChat(`"stop":["a","b","c","d","e"]`), ofChat(`"stop":["a","b","c","d"]`), "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead."},
		"tools":                         {chat, ofChat(tools(129)), ofChat(tools(128)), "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead."},
		"tools of a compatible server":  {chat, ofChat(tools(129)), strings.Replace(ofChat(tools(129)), "gpt-4o", "some-model", 1), "Invalid 'tools'"},
		"no answers":                    {chat, ofChat(`"n":0`), ofChat(`"n":1`), "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead."},
		"an unknown effort":             {chat, ofChat(`"reasoning_effort":"bananas"`), ofChat(`"reasoning_effort":"xhigh"`), "Invalid value: 'bananas'. Supported values are: 'none',"},
		"an effort of Responses":        {responses, ofResponses(`"reasoning":{"effort":"bananas"}`), ofResponses(`"reasoning":{"effort":"low","summary":"auto"}`), "Invalid value: 'bananas'. Supported values are: 'none',"},
		"heat of Responses":             {responses, ofResponses(`"temperature":3`), strings.Replace(ofResponses(`"temperature":3`), "gpt-4o", "some-model", 1), "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead."},
		"few tokens of Responses":       {responses, ofResponses(`"max_output_tokens":15`), ofResponses(`"max_output_tokens":16`), "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15 instead."},
		"another tool of Responses":     {responses, ofResponses(responsesF + `"g"}`), ofResponses(responsesF + `"f"}`), "Tool choice 'g' not found in 'tools' parameter."},
		"a tool that is not a function": {responses, ofResponses(`"tool_choice":{"type":"function","name":"f"}`), ofResponses(`"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`), "Tool choice 'f' not found in 'tools' parameter."},
		"heat of Gemini":                {generate, `{"generationConfig":{"temperature":2.5},` + content(`{"text":"x"}`)[1:], `{"generationConfig":{"temperature":2},` + content(`{"text":"x"}`)[1:], "The temperature has to be in the range from 0 to 2, and is 2.5."},
		"cold of Gemini":                {generate, `{"generation_config":{"temperature":-1},` + content(`{"text":"x"}`)[1:], `{"generation_config":{"temperature":0},` + content(`{"text":"x"}`)[1:], "The temperature has to be in the range from 0 to 2, and is -1."},
		"arguments in a text":           {generate, generateBody(geminiUser + "," + calling(`"{}"`) + "," + geminiResults(geminiResult)), generateBody(geminiUser + "," + calling(`{}`) + "," + geminiResults(geminiResult)), `Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct), "{}"`},
		"another function":              {chat, ofChat(chatF + `"g"}}`), ofChat(chatF + `"f"}}`), "Tool choice 'g' not found in 'tools' parameter."},
		"an image of a tool":            {chat, tool(image), tool(text), "Invalid 'messages[1]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL."},
		"an unknown part":               {chat, said("user", `{"type":"zork"}`), said("user", text+","+image), "Invalid value: 'zork'. Supported values are: 'text',"},
		"a thought of the user":         {chat, said("user", `{"type":"thinking","thinking":[]}`), said("assistant", `{"type":"thinking","thinking":[]},`+text), "Invalid value: 'thinking'."},
		"options of no stream":          {chat, ofChat(`"stream_options":{"include_usage":true}`), ofChat(`"stream":true,"stream_options":{"include_usage":true}`), "The 'stream_options' parameter is only allowed when 'stream' is enabled."},
		"nothing":                       {responses, `{}`, `{"prompt":{"id":"p"}}`, "Missing required parameter: 'model'."},
		"no input":                      {responses, `{"model":"m"}`, `{"model":"m","conversation":"c"}`, `One of "input" or`},
		"an empty input":                {responses, items(), `{"model":"m","input":""}`, `One of "input" or`},
		"an unknown item":               {responses, items(itemUser, `{"type":"zork"}`), items(itemUser, `{"type":"web_search_call","id":"ws_1"}`), "Invalid value: 'zork'. Supported values are: 'additional_tools',"},
		"a call without its id":         {responses, items(itemUser, strings.Replace(call, `"call_id":"c",`, "", 1)), items(itemUser, call, output), "Missing required parameter: 'input[1].call_id'."},
		"a call with an empty id":       {responses, items(itemUser, strings.Replace(call, `"c"`, `""`, 1)), items(itemUser, call, output), "Invalid 'input[1].call_id': empty string."},
		"an output without its id":      {responses, items(itemUser, call, strings.Replace(output, `"call_id":"c",`, "", 1)), items(itemUser, call, output), "Missing required parameter: 'input[2].call_id'."},
		"an output of nothing":          {responses, items(itemUser, call, strings.Replace(output, `,"output":"x"`, "", 1)), items(itemUser, call, strings.Replace(output, `"x"`, `""`, 1)), "Missing required parameter: 'input[2].output'."},
		"required of no tools":          {responses, `{"model":"m","input":"x","tool_choice":"required"}`, `{"model":"m","input":"x","tool_choice":"auto"}`, "Tool choice 'required' must be specified with 'tools' parameter."},
		"any of no functions":           {generate, functions(""), functions(`{"name":"f"}`), "Function calling config is set without function_declarations."},
		"two functions of one name":     {generate, functions(`{"name":"f"},{"name":"f"}`), functions(`{"name":"f"},{"name":"g"}`), "Duplicate function declaration found: f"},
		"a part that is two things":     {generate, content(`{"text":"x","inlineData":{"mimeType":"image/png","data":"AA=="}}`), content(`{"text":"x"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}`), "Invalid value at 'contents[0].parts[0]' (oneof), oneof field 'data' is already set. Cannot set 'inlineData'"},
		"a part with two in one case":   {generate, content(`{"text":"x","file_data":{"fileUri":"x"}}`), content(`{"text":"x","thought":true}`), "Invalid value at 'contents[0].parts[0]' (oneof)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
			w := post(t, s, c.to, c.wrong)
			got := s.Report().RejectedRequests
			if w.Code != http.StatusBadRequest || len(got) != 1 || got[0].ID != "" || !strings.HasPrefix(got[0].Message, c.said) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if w := post(t, s, c.to, c.right); w.Code != http.StatusOK {
				t.Errorf("the right request got %d %s", w.Code, w.Body)
			}
		})
	}
}

// A response format has a known type. A schema has a name and follows the rules of strict:
// true. OpenAI-compatible servers accept forms of their own.
func TestStrictFormat(t *testing.T) {
	const missing = "missing_required_parameter"
	inChat := func(format string) string {
		return `{"model":"gpt-4o","response_format":` + format + `,"messages":[` + chatUser + `]}`
	}
	inResponses := func(format string) string {
		return `{"model":"gpt-4o","input":"x","text":{"format":` + format + `}}`
	}
	chat := func(schema string) string { return inChat(`{"type":"json_schema","json_schema":{` + schema + `}}`) }
	responses := func(schema string) string { return inResponses(`{"type":"json_schema",` + schema + `}`) }
	const loose, sound = `"schema":{"type":"object","properties":{}}`, `"schema":{"type":"object","properties":{},"additionalProperties":false}`
	const named, strict = `"name":"x",`, `"strict":true,`
	for name, c := range map[string]struct{ wrong, right, param, code, said string }{
		"unknown in Chat":      {inChat(`{"type":"xml"}`), inChat(`{"type":"json_object"}`), "response_format.type", "invalid_value", "Invalid value: 'xml'. Supported values are: 'json_object', 'json_schema', and 'text'."},
		"unknown in Responses": {inResponses(`{"type":"xml"}`), inResponses(`{"type":"text"}`), "text.format.type", "invalid_value", "Invalid value: 'xml'. Supported values are: 'json_object', 'json_schema', and 'text'."},
		"a compatible server":  {inChat(`{"type":"xml"}`), strings.Replace(inChat(`{"type":"xml"}`), "gpt-4o", "some-model", 1), "response_format.type", "invalid_value", "Invalid value: 'xml'. Supported values are: 'json_object', 'json_schema', and 'text'."},
		"none":                 {inChat(`{}`), inChat(`null`), "response_format.type", missing, "Missing required parameter: 'response_format.type'."},
		"no schema":            {inChat(`{"type":"json_schema"}`), chat(named + loose), "response_format.json_schema", missing, "Missing required parameter: 'response_format.json_schema'."},
		"no name in Chat":      {chat(loose), chat(named + loose), "response_format.json_schema.name", missing, "Missing required parameter: 'response_format.json_schema.name'."},
		"no name in Responses": {responses(loose), responses(named + loose), "text.format.name", missing, "Missing required parameter: 'text.format.name'."},
		"strict in Chat":       {chat(named + strict + loose), chat(named + strict + sound), "response_format", "", "Invalid schema for response_format 'x': In context=(), 'additionalProperties' is required to be supplied and to be false."},
		"strict in Responses":  {responses(named + strict + loose), responses(named + strict + sound), "text.format.schema", "invalid_json_schema", "Invalid schema for response_format 'x': In context=(), 'additionalProperties' is required to be supplied and to be false."},
		"a list in Responses":  {responses(named + strict + `"schema":{"type":"array"}`), responses(named + `"schema":{"type":"array"}`), "text.format.schema", "invalid_json_schema", `Invalid schema for response_format 'x': schema must be a JSON Schema of 'type: "object"', got 'type: "array"'.`},
	} {
		t.Run(name, func(t *testing.T) {
			s, to := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})}), "/openai/v1/chat/completions"
			if strings.Contains(c.wrong, `"input"`) {
				to = "/openai/v1/responses"
			}
			post(t, s, to, c.wrong)
			want := []wire.RejectedRequest{{Request: 1, Status: http.StatusBadRequest, Type: "invalid_request_error", Param: c.param, Code: c.code, Message: c.said}}
			if diff := cmp.Diff(want, s.Report().RejectedRequests, cmpopts.IgnoreFields(wire.RejectedRequest{}, "Protocol", "Session")); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			if w := post(t, s, to, c.right); w.Code != http.StatusOK {
				t.Errorf("the right request got %d %s", w.Code, w.Body)
			}
		})
	}
}

// chatCallOne is a response of one call.
const chatCallOne = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]}`

// Interleaved thinking has the budget of the whole response.
func TestStrictInterleavedBudget(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, strictPaths["SA"], strings.NewReader(claudeBody("m", claudeUser, `"thinking":{"type":"enabled","budget_tokens":20000}`)))
	r.Header = http.Header{"X-Api-Key": {"some-key"}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"a", "b,interleaved-thinking-2025-05-14"}}
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// cacheResult is a request with marks on a result and on each of n texts of it.
func cacheResult(n int) string {
	text := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`
	return claudeBody("m", claudeUser+","+claudeMessage("assistant", `{"type":"tool_use","id":"t","name":"f","input":{}}`)+","+
		claudeMessage("user", `{"type":"tool_result","tool_use_id":"t","cache_control":{"type":"ephemeral"},"content":[`+strings.TrimSuffix(strings.Repeat(text, n), ",")+`]}`))
}
