package importer_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

const (
	geminiSent    = `{"contents":[{"role":"user","parts":[{"text":"q"}]}]}`
	anthropicSent = `{"model":"c","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"q"}]}`
	responsesSent = `{"model":"m","input":[{"type":"message","role":"user","content":"q"}]}`
	converseDone  = `{"output":{"message":{"role":"assistant","content":[{"text":"d"}]}},"stopReason":"end_turn"}`
	converseSent  = `{"messages":[{"role":"user","content":[{"text":"q"}]}]}`
)

// isReported checks that a file has one report with this text; none if it is empty.
func isReported(t *testing.T, name, file, want string) {
	t.Helper()
	got := unknownIn(t, file)
	if want == "" && got != nil || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
		t.Errorf("%s: reported %q, want %q", name, got, want)
	}
}

// What a response has in members, events and deltas that its protocol does not have there is reported, bare and
// over HTTP.
func TestDroppedResponsesAreReported(t *testing.T) {
	content := func(content string) string {
		return `{"candidates":[{"content":` + content + `,"finishReason":"STOP"}]}`
	}
	parts := func(parts string) string { return content(`{"role":"model","parts":[` + parts + `]}`) }
	block := func(block string) string {
		return `{"id":"m","type":"message","role":"assistant","model":"c","content":[` + block + `],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`
	}
	anthropicStream := func(events ...string) string {
		return eventsOf(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n" +
			strings.Join(events, "\n") + "\n" + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\n" + `{"type":"message_stop"}` + "\n")
	}
	const start, text, stop = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`, `{"type":"content_block_stop","index":0}`
	const call, args = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`
	chat := func(message string) string {
		return `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,` + message + `},"finish_reason":"stop"}]}`
	}
	const end = `{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	chunk := func(delta string) string {
		return `{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}]}`
	}
	chatStream := func(events ...string) string {
		return "data: " + strings.Join(events, "\n\ndata: ") + "\n\ndata: " + end + "\n\ndata: [DONE]\n\n"
	}
	const function = `{"id":"q","type":"function","function":{"name":"f","arguments":"{}"}}`
	choice := func(inChoice, inBody string) string {
		return `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text","text":"a\n"}]},"finish_reason":"stop"` + inChoice + `}]` + inBody + `}`
	}
	item := func(item string) string {
		return `{"id":"r","object":"response","status":"completed","model":"m","output":[` + item + `]}`
	}
	use := func(use string) string {
		return `{"output":{"message":{"role":"assistant","content":[{"toolUse":` + use + `}]}},"stopReason":"tool_use"}`
	}
	local := func(call string) string {
		return `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[` + call + `]},"done":true,"done_reason":"stop"}`
	}
	const noName, notRead = "the response has a call without the name of a tool", "has data that is not read, as "
	for name, c := range map[string]struct{ url, sent, got, want string }{
		"Gemini: blocks":                    {gemini, geminiSent, content(`{"role":"model","blocks":[{"functionCall":{"name":"f"}}]}`), `the unknown member "blocks"`},
		"Gemini: a message":                 {gemini, geminiSent, `{"candidates":[{"message":{"role":"model","parts":[{"text":"a"}]},"content":{"role":"model","parts":[{"text":"b"}]},"finishReason":"STOP"}]}`, `the unknown member "message"`},
		"Gemini: a text and a call":         {gemini, geminiSent, parts(`{"text":"a","functionCall":{"name":"f","args":{}}}`), notRead + `"text"`},
		"Gemini: arguments":                 {gemini, geminiSent, parts(`{"functionCall":{"name":"f","arguments":{"x":1}}}`), notRead + `"arguments"`},
		"Gemini: arguments in a stream":     {geminiSSE, geminiSent, "data: " + parts(`{"functionCall":{"name":"f","arguments":{"x":1}}}`) + "\n\n", notRead + `"arguments"`},
		"Gemini: arguments in an array":     {geminiSSE, geminiSent, "[" + parts(`{"functionCall":{"name":"f","arguments":{"x":1}}}`) + "]", notRead + `"arguments"`},
		"Gemini: no arguments":              {gemini, geminiSent, parts(`{"functionCall":{"name":"f"},"thoughtSignature":"AA=="}`), ""},
		"Gemini: both":                      {gemini, geminiSent, parts(`{"functionCall":{"name":"f","args":{"x":1},"parameters":{}}}`), ""},
		"Gemini: members of a candidate":    {gemini, geminiSent, `{"candidates":[{"content":{"role":"model","parts":[{"text":"b"}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["x"]},"safetyRatings":[{"category":"c"}]}]}`, ""},
		"Gemini: an event with a text":      {geminiSSE, geminiSent, "data: " + parts(`{"text":"b"}`) + "\n\ndata: {\"text\":\"a\"}\n\n", `an event with data that is not read, as "text"`},
		"Anthropic: a delta before":         {anthropic, anthropicSent, anthropicStream(args), `a delta of the kind "input_json_delta" that belongs to no block`},
		"Anthropic: a delta after":          {anthropic, anthropicSent, anthropicStream(call, args, stop, args), `a delta of the kind "input_json_delta" that belongs to no block`},
		"Anthropic: a delta of a text":      {anthropic, anthropicSent, anthropicStream(start, args, stop), `that belongs to no call`},
		"Anthropic: no block":               {anthropic, anthropicSent, anthropicStream(`{"type":"content_block_start","index":0,"content_block":null}`, stop), "a content_block_start without a block"},
		"Anthropic: a string":               {anthropic, anthropicSent, anthropicStream(`{"type":"content_block_start","index":0,"content_block":"tool_use"}`, stop), "a content_block_start without a block"},
		"Anthropic: another member":         {anthropic, anthropicSent, anthropicStream(call, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial":"{}"}}`, stop), `without the member "partial_json"`},
		"Anthropic: of a text":              {anthropic, anthropicSent, anthropicStream(start, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","txt":"a"}}`, stop), `without the member "text"`},
		"Anthropic: not JSON":               {anthropic, anthropicSent, anthropicStream(start, text, stop) + "event: lost\ndata: {\"a\":\n\n", `an event of the unknown kind "lost"`},
		"Anthropic: no type":                {anthropic, anthropicSent, anthropicStream(start, text, stop) + "event: lost\ndata: {\"text\":\"a\"}\n\n", `an event of the unknown kind "lost"`},
		"Anthropic: all deltas":             {anthropic, anthropicSent, anthropicStream(`{"type":"ping"}`, start, text, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"x"}}}`, stop, call, args, stop), ""},
		"Anthropic: no start of a text":     {anthropic, anthropicSent, anthropicStream(text, stop), ""}, // which is read
		"Anthropic: another block":          {anthropic, anthropicSent, anthropicStream(start, strings.Replace(text, `"index":0`, `"index":7`, 1), stop), `a delta of the kind "text_delta" that belongs to no block`},
		"Anthropic: after its block":        {anthropic, anthropicSent, anthropicStream(start, text, stop, text), `a delta of the kind "text_delta" that belongs to no block`},
		"Anthropic: two texts":              {anthropic, anthropicSent, anthropicStream(start, strings.Replace(text, `"text":"a"`, `"text":"a","extra":"lost"`, 1), stop), notRead + `"extra"`},
		"Anthropic: other members":          {anthropic, anthropicSent, anthropicStream(start, strings.Replace(text, `"text":"a"`, `"text":"a","partial_json":"","thinking":null,"estimated_tokens":7`, 1), stop), ""},
		"Anthropic: arguments twice":        {anthropic, anthropicSent, anthropicStream(strings.Replace(call, `{}`, `{"x":1}`, 1), args, stop), "other arguments in its start"},
		"Anthropic: no end of the block":    {anthropic, anthropicSent, anthropicStream(strings.Replace(call, `{}`, `{"x":1}`, 1), args), "other arguments in its start"},
		"Anthropic: the same arguments":     {anthropic, anthropicSent, anthropicStream(strings.Replace(call, `{}`, `{"x":1}`, 1), strings.Replace(args, `{}`, `{\"x\": 1}`, 1), stop), ""},
		"Anthropic: arguments in the start": {anthropic, anthropicSent, anthropicStream(strings.Replace(call, `{}`, `{"x":1}`, 1), stop), ""},
		"Anthropic: no name":                {anthropic, anthropicSent, block(`{"type":"tool_use","id":"a","input":{}}`), noName},
		"Anthropic: no id":                  {anthropic, anthropicSent, block(`{"type":"tool_use","name":"f","input":{}}`), ""},
		"Anthropic: no name in a stream":    {anthropic, anthropicSent, anthropicStream(strings.Replace(call, `"name":"f",`, "", 1), args, stop), noName},
		"Anthropic: arguments":              {anthropic, anthropicSent, block(`{"type":"tool_use","id":"a","name":"f","arguments":{"x":1}}`), notRead + `"arguments"`},
		"Anthropic: no arguments":           {anthropic, anthropicSent, block(`{"type":"tool_use","id":"a","name":"f","input":{},"arguments":{},"caller":{"type":"direct"}}`), ""},
		"Chat: parameters":                  {chatURL, chatSent, chat(`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","parameters":{"x":1}}}]`), notRead + `"parameters"`},
		"Chat: parameters in a stream":      {chatURL, chatSent, chatStream(chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","parameters":{"x":1}}}]`)), notRead + `"parameters"`},
		"Chat: both":                        {chatURL, chatSent, chat(`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}","parameters":{"x":1}}}]`), ""},
		"Chat: no arguments":                {chatURL, chatSent, chat(`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}}]`), ""},
		"Chat: only arguments":              {chatURL, chatSent, chatStream(chunk(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]`)), noName},
		"Chat: function_call, no name":      {chatURL, chatSent, chatStream(chunk(`"function_call":{"arguments":"{}"}`)), noName},
		"Chat: the name later":              {chatURL, chatSent, chatStream(chunk(`"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{"}}]`), chunk(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]`)), ""},
		"Chat: an event with a text":        {chatURL, chatSent, chatStream(chunk(`"content":"a"`)+"\n\nevent: lost\ndata: {\"text\":\"lost\"}", chunk(`"content":"b"`)), `an event with data that is not read, as "text"`},
		"Chat: with a delta":                {chatURL, chatSent, chatStream(chunk(`"content":"a"`), `{"id":"1","object":"chat.completion.chunk","delta":{"content":"lost"}}`), `an event with data that is not read, as "delta"`},
		"Chat: with a usage":                {chatURL, chatSent, chatStream(chunk(`"content":"a"`), `{"id":"1","object":"chat.completion.chunk","model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`), ""},
		"Chat: no finish reason (QO-25)":    {chatURL, chatSent, "data: " + chunk(`"content":"a"`) + "\n\ndata: [DONE]\n\n", ""},
		"Chat: calls in the form of OpenAI": {chatURL, chatSent, chat(`"calls":[` + function + `]`), `the message has the unknown member "calls"`},
		"Chat: calls in a stream":           {chatURL, chatSent, chatStream(chunk(`"content":"a","calls":[` + function + `]`)), `the message has the unknown member "calls"`},
		"Chat: calls next to a message":     {chatURL, chatSent, choice(`,"tool_calls":[`+function+`]`, ``), `the choice has the unknown member "tool_calls"`},
		"Chat: a text next to a message":    {chatURL, chatSent, choice(`,"text":"lost"`, ``), `the choice has the unknown member "text"`},
		"Chat: the same text":               {chatURL, chatSent, choice(`,"text":"a\n","logprobs":{"content":[{"token":"b"}]},"tool_calls":[]`, `,"output_text":"a","tools":[{"type":"function","function":{"name":"f","parameters":{"x":1}}}]`), ""},
		"Chat: items next to choices":       {chatURL, chatSent, choice(``, `,"output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]`), `the response has the unknown member "output"`},
		"Chat: a text next to choices":      {chatURL, chatSent, choice(``, `,"output":[{"type":"message","content":[{"type":"output_text","text":"lost"}]}]`), `the response has the unknown member "output"`},
		"Responses: no name":                {responses, responsesSent, item(`{"type":"function_call","call_id":"a","arguments":"{}"}`), noName},
		"Responses: no id":                  {responses, responsesSent, item(`{"type":"function_call","name":"f","arguments":"{}"}`), ""},
		"Responses: parameters":             {responses, responsesSent, item(`{"type":"function_call","call_id":"a","name":"f","parameters":{"x":1}}`), notRead + `"parameters"`},
		"Responses: arguments of nothing":   {responses, responsesSent, item(`{"type":"function_call","call_id":"a","name":"f","arguments":"{}","output":null,"content":[]}`), ""},
		"Bedrock: no name":                  {converse, converseSent, use(`{"toolUseId":"a","input":{}}`), noName},
		"Bedrock: arguments":                {converse, converseSent, use(`{"toolUseId":"a","name":"f","arguments":{"x":1}}`), notRead + `"arguments"`},
		"Bedrock: a call":                   {converse, converseSent, use(`{"toolUseId":"a","name":"f","input":{}}`), ""},
		"Ollama: no name":                   {ollama, chatSent, local(`{"function":{"arguments":{"x":1}}}`), noName},
		"Ollama: parameters":                {ollama, chatSent, local(`{"function":{"name":"f","parameters":{"x":1}}}`), notRead + `"parameters"`},
		"Ollama: no id":                     {ollama, chatSent, local(`{"function":{"name":"f","arguments":{"x":1}}}`), ""},
	} {
		isReported(t, name+", over HTTP", typed(c.url, c.sent, c.got), c.want)
		if strings.HasPrefix(c.got, "[") { // a bare array is of several responses
			continue
		}
		isReported(t, name+", bare", c.got, c.want)
	}
	after := chatStream(chunk(`"content":"a"`)) + "data: " + chunk(`"content":"lost"`) + "\n\n"
	isReported(t, "after [DONE]", typed(chatURL, chatSent, after), "content after [DONE]")
	isReported(t, "an error after [DONE]", typed(chatURL, chatSent, chatStream(chunk(`"content":"a"`))+`data: {"error":{"message":"x"}}`+"\n\n"), "content after [DONE]")
	isReported(t, "a usage after [DONE]", typed(chatURL, chatSent, chatStream(chunk(`"content":"a"`))+`data: {"choices":[],"usage":{"prompt_tokens":1}}`+"\n\n"), "content after [DONE]")
	isReported(t, "a cost after [DONE]", typed(chatURL, chatSent, chatStream(chunk(`"content":"a"`))+`data: {"choices":[],"cost":"0"}`+"\n\n"), "")
	isReported(t, "nothing after [DONE]", typed(chatURL, chatSent, chatStream(chunk(`"content":"a"`))+"data: [DONE]\n\n"), "")
}

// Arguments and results in members that their form does not have are reported, in a list of messages and over HTTP.
func TestDroppedArgumentsAndResultsAreReported(t *testing.T) {
	const anthropicDone = `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	const chatDone = `{"choices":[{"message":{"role":"assistant","content":"d"},"finish_reason":"stop"}]}`
	const itemsDone = `{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"}]}]}`
	const geminiDone = `{"candidates":[{"content":{"role":"model","parts":[{"text":"d"}]},"finishReason":"STOP"}]}`
	blocks := func(call, result string) string {
		return `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f",` + call + `}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"` + result + `}]}`
	}
	items := func(call, result string) string {
		return `{"type":"message","role":"user","content":"q"},{"type":"function_call","call_id":"a","name":"f",` + call + `},{"type":"function_call_output","call_id":"a",` + result + `}`
	}
	chat := func(call, result string) string {
		return `{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f",` + call + `}}]},{"role":"tool","tool_call_id":"a",` + result + `}`
	}
	contents := func(call, result string) string {
		return `{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{` + call + `}]},{"role":"user","parts":[{"functionResponse":{"name":"f",` + result + `}}]}`
	}
	uses := func(call, result string) string {
		return `{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f",` + call + `}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a",` + result + `}}]}`
	}
	const noContent, notRead = "has no content that looptape reads; it has data as ", `the call of "f" has data that is not read, as `
	for name, c := range map[string]struct{ url, member, messages, done, want string }{
		"Anthropic: output":     {anthropic, "messages", blocks(`"input":{}`, `,"output":"lost"`), anthropicDone, noContent + `"output"`},
		"Anthropic: no content": {anthropic, "messages", blocks(`"input":{}`, `,"cache_control":{"type":"ephemeral"}`), anthropicDone, ""},
		"Anthropic: both":       {anthropic, "messages", blocks(`"input":{"x":1},"arguments":{"x":1}`, `,"content":"r","output":"r"`), anthropicDone, ""},
		"Responses: content":    {responses, "input", items(`"arguments":"{}"`, `"content":"lost"`), itemsDone, noContent + `"content"`},
		"Responses: parameters": {responses, "input", items(`"parameters":{"x":1}`, `"output":"r"`), itemsDone, notRead + `"parameters"`},
		"Responses: no output":  {responses, "input", items(`"arguments":"{}","id":"i","status":"completed"`, `"output":"","status":"completed"`), itemsDone, ""},
		"Chat: parameters":      {chatURL, "messages", chat(`"parameters":{"x":1}`, `"content":"r"`), chatDone, notRead + `"parameters"`},
		"Chat: a result":        {chatURL, "messages", chat(`"arguments":"{}"`, `"content":"","result":"lost"`), chatDone, noContent + `"result"`},
		"Chat: no content":      {chatURL, "messages", chat(`"arguments":"{}"`, `"content":"","name":"f"`), chatDone, ""},
		"Gemini: arguments":     {gemini, "contents", contents(`"functionCall":{"name":"f","arguments":{"x":1}}`, `"response":{"r":1}`), geminiDone, notRead + `"arguments"`},
		"Gemini: a text":        {gemini, "contents", contents(`"functionCall":{"name":"f","args":{"x":1}},"text":"lost"`, `"response":{"r":1}`), geminiDone, notRead + `"text"`},
		"Gemini: output":        {gemini, "contents", contents(`"functionCall":{"name":"f","args":{"x":1}}`, `"output":"lost"`), geminiDone, noContent + `"output"`},
		"Gemini: no response":   {gemini, "contents", contents(`"functionCall":{"name":"f"},"thoughtSignature":"AA=="`, `"response":{},"scheduling":"SILENT"`), geminiDone, ""},
		"Bedrock: output":       {converse, "messages", uses(`"input":{}`, `"output":"lost"`), converseDone, noContent + `"output"`},
		"Bedrock: arguments":    {converse, "messages", uses(`"arguments":{"x":1}`, `"content":[{"text":"r"}]`), converseDone, notRead + `"arguments"`},
		"Bedrock: no content":   {converse, "messages", uses(`"input":{}`, `"content":[],"status":"success"`), converseDone, ""},
	} {
		isReported(t, name+", over HTTP", typed(c.url, `{"model":"m","max_tokens":9,"`+c.member+`":[`+c.messages+`]}`, c.done), c.want)
		isReported(t, name+", in a list", `[`+c.messages+`]`, c.want)
	}
}

// A call without a name in the last message, which no client sent back, is reported in lists and spans.
func TestUnnamedCallOfTheLastMessage(t *testing.T) {
	list := func(name string) string {
		return `[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{` + name + `"arguments":"{}"}}]}]`
	}
	span := func(name string) string {
		return `{"openinference.span.kind":"LLM","llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"q","llm.output_messages.0.message.role":"assistant",` +
			`"llm.output_messages.0.message.tool_calls.0.tool_call.id":"a",` + name + `"llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments":"{}"}`
	}
	const noName = "the response has a call without the name of a tool"
	isReported(t, "list", list(""), noName)
	isReported(t, "list with a name", list(`"name":"f",`), "")
	isReported(t, "span", span(""), noName)
	isReported(t, "span with a name", span(`"llm.output_messages.0.message.tool_calls.0.tool_call.function.name":"f",`), "")
}

// The members of a bare request of Ollama or Cohere show its protocol, whose rules decide the level of a violation.
func TestProtocolOfBareRequest(t *testing.T) {
	request := func(members string) string {
		return `{"model":"command-a","messages":[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"a","content":"r"},{"role":"user","content":"q"}]` + members + `}`
	}
	for members, want := range map[string]string{
		`,"options":{"num_ctx":1}`:                       "ollama-chat",
		`,"keep_alive":"5m"`:                             "ollama-chat",
		`,"options":{"a":1}`:                             "", // of another tool
		`,"safety_mode":"OFF","documents":[]`:            "cohere-chat",
		`,"documents":[{"data":"d"}]`:                    "cohere-chat",
		`,"citation_options":{"mode":"fast"}`:            "cohere-chat",
		`,"stream":true,"temperature":0,"max_tokens":99`: "",
	} {
		s, err := importer.Open("file", strings.NewReader(request(members)))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range s.Runs() {
			if err != nil || run.Protocol != want || run.Unknown != nil {
				t.Errorf("%s: protocol %q, unknown %v, error %v; want %q", members, run.Protocol, run.Unknown, err, want)
			}
		}
	}
}

// Members with content that only messages of the assistant have are reported in other messages, over HTTP and in a
// list.
func TestMembersOfAssistantAreReported(t *testing.T) {
	const begin = `{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"r"`
	const end = `},{"role":"assistant","content":"d"},{"role":"user","content":"z"`
	for member, want := range map[string]string{
		`"tool_calls":[{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]`:  `"tool_calls"`,
		`"function_call":{"name":"g","arguments":"{}"}`:                                         `"function_call"`,
		`"toolInvocations":[{"state":"call","toolCallId":"b","toolName":"g","args":{}}]`:        `"toolInvocations"`,
		`"reasoning_content":"lost"`:                                                            `"reasoning_content"`,
		`"refusal":"lost"`:                                                                      `"refusal"`,
		`"tool_calls":[],"function_call":null,"refusal":null,"reasoning":"","name":"f","x":"y"`: "",
	} {
		isReported(t, member, "["+begin+","+member+end+"}]", want)
		for _, messages := range []string{begin + "," + member + end, begin + end + "," + member} {
			isReported(t, member+", over HTTP", typed(chatURL, `{"model":"m","messages":[`+messages+`}]}`, `{"choices":[{"message":{"role":"assistant","content":"d"},"finish_reason":"stop"}]}`), want)
		}
	}
}

// A text without text is one that is empty.
func TestTextWithoutText(t *testing.T) {
	run := onlyRun(t, `[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text"}]},{"role":"user","content":"z"}]`)
	if found := check.Messages(run.Name, run.Messages); len(found) != 1 || found[0].Invariant != "INV-24" || run.Unknown != nil {
		t.Errorf("violations %v, not understood %v; want INV-24", found, run.Unknown)
	}
}

// A content of Gemini in a list may have no role; a message of another tool may not.
func TestContentWithoutRole(t *testing.T) {
	list := func(last string) string {
		return `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},` + last + `]`
	}
	isReported(t, "result", list(`{"parts":[{"functionResponse":{"name":"f","response":{"r":1}}}]}`), "")
	isReported(t, "unknown part", list(`{"parts":[{"quantum":{"r":1}}]}`), `"quantum"`)
	isReported(t, "another message", list(`{"parts":[{"functionResponse":{"name":"f","response":{"r":1}}}],"kind":"request"}`), "the message has no role")
}

// What the output of a call of a model has besides its message is reported.
func TestDroppedOutputsAreReported(t *testing.T) {
	const function = `{"id":"q","type":"function","function":{"name":"f","arguments":"{}"}}`
	choice := func(content, next string) string {
		return `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":` + content + `}` + next + `}]}`
	}
	for name, c := range map[string]struct{ output, want string }{
		"calls next to a text":     {`{"calls":[` + function + `],"text":"a"}`, `the calls in the member "calls" are not read`},
		"of another tool":          {`{"message":{"role":"assistant","content":"a","tool_calls":[` + function + `]},"calls":[{"name":"g","args":{}}]}`, `the calls in the member "calls" are not read`},
		"the calls of the message": {`{"message":{"role":"assistant","content":"a","tool_calls":[` + function + `]},"calls":[{"name":"f","args":{}}],"tools":[{"name":"g","parameters":{}}]}`, ""},
		"calls of the AI SDK":      {`{"text":"a","toolCalls":[{"toolCallId":"q","toolName":"f","args":{}}],"toolResults":[{"toolCallId":"q","toolName":"f","args":{},"result":1}]}`, ""},
		"calls of a message":       {`{"role":"assistant","content":"a","calls":[` + function + `]}`, `the message has the unknown member "calls"`},
		"a part":                   {choice(`[{"type":"text","text":"a"},{"type":"hologram"}]`, ``), `a part of the kind "hologram", which is not read`},
		"only a part":              {choice(`[{"type":"hologram"}]`, ``), `a part of the kind "hologram", which is not read`},
		"calls of a choice":        {choice(`"a"`, `,"tool_calls":[`+function+`]`), `the choice has the unknown member "tool_calls"`},
		"a text":                   {choice(`[{"type":"text","text":"a"}]`, `,"logprobs":null`), ""},
	} {
		isReported(t, "LangSmith, "+name, `{"id":"1","trace_id":"t","dotted_order":"1Zt","run_type":"llm","inputs":{"messages":[{"role":"user","content":"q"}]},"outputs":`+c.output+`}`, c.want)
		isReported(t, "Langfuse, "+name, `[{"id":"o","parentObservationId":null,"traceId":"t","type":"GENERATION","startTime":"2026-01-01T00:00:00Z","input":[{"role":"user","content":"q"}],"output":`+c.output+`}]`, c.want)
	}
}

// A text that is the beginning of JSON with messages, and a reference to no attachment, are reported.
func TestTruncatedTextsAreReported(t *testing.T) {
	const cut = `[{"role":"user","content":"q"},{"role":"assist`
	for name, c := range map[string]struct{ input, want string }{
		"messages":            {cut, "it may be truncated"},
		"a request":           {`{"messages": ` + cut, "it may be truncated"},
		"whole messages":      {`[{"role":"user","content":"q"}]`, ""},
		"a text":              {`[draft] the "role" of {x}`, ""},
		"a text with JSON":    {`Correct this: ` + cut, ""},
		"a text in a message": {`[{"role":"user","content":"[{\"role\":\"user"}]`, ""},
	} {
		isReported(t, name, `[{"id":"o","parentObservationId":null,"traceId":"t","type":"GENERATION","startTime":"2026-01-01T00:00:00Z","input":`+strconv.Quote(c.input)+`,"output":{"role":"assistant","content":"a"}}]`, c.want)
	}
	for attachments, want := range map[string]string{`{"b":"x"}`: `does not have the attachment "attachment://a"`, `{"a":"x"}`: ""} {
		isReported(t, attachments, inspectLog(`{"id":1,"messages":[{"role":"user","content":"attachment://a"},{"role":"assistant","content":"attachment://a"}],"attachments":`+attachments+`}`), want)
	}
}
