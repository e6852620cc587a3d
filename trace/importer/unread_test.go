package importer_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// typed is har with the media type of a stream or of JSON.
func typed(url, sent, got string) string {
	if strings.HasPrefix(got, "event:") || strings.HasPrefix(got, "data:") {
		return har(url, sent, "text/event-stream", got)
	}
	return har(url, sent, "application/json", got)
}

// unknownIn returns the parts of a file that were not understood.
func unknownIn(t *testing.T, file string) (list []string) {
	t.Helper()
	s, err := importer.Open("file", strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	add := func(unknown []*importer.Error, err error) {
		for _, u := range unknown {
			list = append(list, u.Error())
		}
		if err != nil {
			list = append(list, err.Error())
		}
	}
	for x, err := range s.Exchanges() {
		add(x.Unknown, err)
		if x.Incomplete != nil {
			list = append(list, x.Incomplete.Error())
		}
	}
	if !s.Format.HTTP {
		for run, err := range s.Runs() {
			add(run.Unknown, err)
		}
	}
	return list
}

const (
	chatSent  = `{"model":"m","messages":[{"role":"user","content":"q"}]}`
	gemini    = "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent"
	geminiSSE = "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse"
	anthropic = "https://api.anthropic.com/v1/messages"
	ollama    = "http://127.0.0.1:11434/api/chat"
	responses = "https://api.openai.com/v1/responses"
	converse  = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"
)

// What a codec does not know is reported, wherever it is.
func TestUnknownContentIsReported(t *testing.T) {
	chat := func(message string) string {
		return `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",` + message + `},"finish_reason":"stop"}]}`
	}
	chunk := func(delta string) string {
		return `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}]}` + "\n\n" +
			`data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	}
	const quantum = `{"role":"model","parts":[{"text":"a"},{"quantum":{"a":1}}]}`
	const candidates = `{"candidates":[{"content":` + quantum + `,"finishReason":"STOP"}]}`
	const blockResult = `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"hologram"}]}]}`
	const converseResult = `{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"hologram":{}}]}}]}`
	const items = `{"type":"message","role":"user","content":"q"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"hologram"}]}`
	const otherCalls = `[{"function":{"name":"f","arguments":{}}}]`
	const anthropicDone = `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	stream := func(delta string) string {
		var s strings.Builder
		for _, ev := range []string{
			`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`,
			`{"type":"message_stop"}`,
		} {
			var head struct{ Type string }
			if err := json.Unmarshal([]byte(ev), &head); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&s, "event: %s\ndata: %s\n\n", head.Type, ev)
		}
		return s.String()
	}
	local := func(message string) string {
		return `{"model":"m","message":{"role":"assistant","content":"a",` + message + `},"done":true,"done_reason":"stop"}`
	}
	for name, c := range map[string]struct{ file, want string }{
		"call among content":           {typed(chatURL, chatSent, chat(`"content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"f","input":{}}]`)), "tool_use"},
		"image":                        {typed(chatURL, chatSent, chat(`"content":[{"type":"image_url","image_url":{"url":"u"}}]`)), "image_url"},
		"hologram":                     {typed(chatURL, chatSent, chat(`"content":[{"type":"hologram"}]`)), "hologram"},
		"hologram in a stream":         {typed(chatURL, chatSent, chunk(`"content":[{"type":"hologram"}]`)), "hologram"},
		"hologram in a bare body":      {chat(`"content":[{"type":"hologram"}]`), "hologram"},
		"calls in another member":      {typed(chatURL, chatSent, chat(`"content":"x","tool_uses":[{"id":"a"}]`)), "tool_uses"},
		"call of an unknown kind":      {typed(chatURL, chatSent, chat(`"content":null,"tool_calls":[{"id":"a","type":"teleport","teleport":{}}]`)), "teleport"},
		"member in a request":          {typed(chatURL, `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"x","tool_uses":[{"id":"a"}]},{"role":"user","content":"q"}]}`, chat(`"content":"x"`)), "tool_uses"},
		"part of Gemini":               {typed(gemini, `{"contents":[{"role":"user","parts":[{"text":"q"}]}]}`, candidates), "gemini.quantum"},
		"in a stream of Gemini":        {typed(geminiSSE, `{"contents":[{"role":"user","parts":[{"text":"q"}]}]}`, "data: "+candidates+"\n\n"), "gemini.quantum"},
		"in a request of Gemini":       {typed(gemini, `{"contents":[{"role":"user","parts":[{"text":"q"}]},`+quantum+`,{"role":"user","parts":[{"text":"q"}]}]}`, `{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"}]}`), "gemini.quantum"},
		"in contents":                  {`{"contents":[{"role":"user","parts":[{"text":"q"}]},` + quantum + `]}`, "gemini.quantum"},
		"in candidates":                {candidates, "gemini.quantum"},
		"delta of Anthropic":           {typed(anthropic, `{"model":"c","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"q"}]}`, stream(`{"type":"hologram_delta","x":1}`)), "hologram_delta"},
		"in a bare stream":             {stream(`{"type":"hologram_delta","x":1}`), "hologram_delta"},
		"calls of Ollama":              {typed(ollama, chatSent, local(`"tool_uses":[{"id":"a"}]`)), "tool_uses"},
		"and in a bare body":           {local(`"tool_uses":[{"id":"a"}]`), "tool_uses"},
		"calls next to a message":      {`{"model":"m","message":{"role":"assistant","content":"a"},"done":true,"done_reason":"stop","tool_calls":` + otherCalls + `}`, "tool_calls"},
		"in a stream":                  {typed(ollama, chatSent, local(`"images":[]`)+"\n"+`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","tool_calls":`+otherCalls+`}`), "tool_calls"},
		"text next to a message":       {typed(ollama, chatSent, `{"model":"m","message":{"role":"assistant","content":"a"},"done":true,"done_reason":"stop","content":"b"}`), "content"},
		"of Cohere":                    {`{"id":"c","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},"tool_calls":` + otherCalls + `}`, "tool_calls"},
		"of Bedrock":                   {typed(converse, `{"messages":[{"role":"user","content":[{"text":"q"}]}]}`, `{"output":{"message":{"role":"assistant","content":[{"text":"d"}],"tool_calls":`+otherCalls+`}},"stopReason":"end_turn"}`), "tool_calls"},
		"next to content of Anthropic": {`{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"completion":"b"}`, "completion"},
		"calls next to it":             {`{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"more":[{"type":"tool_use","id":"t","name":"f","input":{}}]}`, "more"},
		"calls next to an output":      {typed(responses, `{"model":"m","input":"q"}`, `{"id":"r","object":"response","status":"completed","model":"m","tool_calls":`+otherCalls+`,"output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"d","annotations":[]}]}]}`), "tool_calls"},
		"text next to candidates":      {`{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"}],"text":"b"}`, "text"},
		"two kinds in one block":       {`[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"a","toolUse":{"toolUseId":"a","name":"f","input":{}}}]}]`, "converse.text with toolUse"},
		"calls next to a part":         {`{"candidates":[{"content":{"role":"model","parts":[{"text":"a","tool_calls":` + otherCalls + `}]},"finishReason":"STOP"}]}`, "tool_calls"},
		"result of Anthropic":          {"[" + blockResult + "]", "hologram"},
		"over HTTP":                    {typed(anthropic, `{"model":"c","max_tokens":9,"messages":[`+blockResult+`]}`, anthropicDone), "hologram"},
		"result of Bedrock":            {"[" + converseResult + "]", "hologram"},
		"result of Bedrock, by HTTP":   {typed(converse, `{"messages":[`+converseResult+`]}`, `{"output":{"message":{"role":"assistant","content":[{"text":"d"}]}},"stopReason":"end_turn"}`), "hologram"},
		"output of Responses":          {"[" + items + "]", "hologram"},
		"output, by HTTP":              {typed(responses, `{"model":"m","input":[`+items+`]}`, `{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"d","annotations":[]}]}]}`), "hologram"},
		"text in another member":       {`[{"role":"user","content":"q"},{"role":"assistant","text":"a"}]`, "text"},
		"of the user":                  {`{"id":"1","messages":[{"role":"user","id":"m1","text":"a"}],"reward":1}`, "text"},
		"that looptape does not know":  {`[{"role":"user","content":"q"},{"role":"assistant","said":"a"}]`, "said"},
		"next to the content":          {`[{"role":"user","content":"q"},{"role":"assistant","content":"a","message":"b"}]`, "message"},
		"as an object":                 {`[{"role":"user","content":"q"},{"role":"assistant","content":"","output":[{"type":"text","text":"b"}]}]`, "output"},
		"of a request":                 {typed(chatURL, `{"model":"m","messages":[{"role":"user","text":"q"}]}`, chat(`"content":"x"`)), "text"},
		"of a response":                {typed(chatURL, chatSent, chat(`"content":null,"text":"x"`)), "text"},
		"of a request of Anthropic":    {typed(anthropic, `{"model":"c","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"}],"body":"b"}]}`, anthropicDone), "body"},
		"of contents":                  {`{"contents":[{"role":"user","text":"q"}]}`, "text"},
		"of a message of Bedrock":      {`[{"role":"user","content":[{"text":"q"}],"reply":"a"}]`, "reply"},
		"next to calls of Anthropic":   {`[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"text":"b"}]`, "text"},
		"arguments without a call":     {`[{"role":"user","content":"q"},{"role":"assistant","content":"a","function_call":null,"arguments":"{\"x\":1}"},{"role":"user","content":"q"}]`, "arguments"},
		"of a request, by HTTP":        {typed(chatURL, `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","function_call":null,"arguments":{"x":1}}]}`, chat(`"content":"x"`)), "arguments"},
		"in a response":                {typed(chatURL, chatSent, chat(`"content":"a","function_call":null,"arguments":"{\"x\":1}"`)), "arguments"},
		"in a bare response":           {chat(`"content":"a","function_call":null,"arguments":"{\"x\":1}"`), "arguments"},
		"step without a message":       {`{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"q"},{"step_id":2,"source":"agent","message":"b","text":"a"}]}`, "text"},
	} {
		if got := unknownIn(t, c.file); len(got) != 1 || !strings.Contains(got[0], c.want+`"`) {
			t.Errorf("%s: reported %q, want %s once", name, got, c.want)
		}
	}
	for name, file := range map[string]string{
		"text of a response again":                   typed(responses, `{"model":"m","input":"q"}`, `{"id":"r","object":"response","status":"completed","model":"m","text":{"format":{"type":"text"}},"output_text":"d","tools":[{"type":"function","name":"f","parameters":{}}],"output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"d","annotations":[]}]}]}`),
		"text of candidates again":                   `{"candidates":[{"content":{"role":"model","parts":[{"text":"a"},{"text":"b"}]},"finishReason":"STOP"}],"text":"ab","automatic_function_calling_history":[]}`,
		"kinds of Gemini":                            `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"toolCall":{"id":"1","toolType":"GOOGLE_SEARCH_WEB"}},{"toolResponse":{"id":"1","toolType":"GOOGLE_SEARCH_WEB","response":{}},"thoughtSignature":"AA=="}]}]}`,
		"images in a result":                         `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"file","file_id":"f"}},{"type":"tool_reference","tool_name":"g"},{"type":"search_result","source":"s","title":"t","content":[]}]}]}]`,
		"the same text again":                        `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a b"}],"text":"a b","response":{"id":"r"}}]`,
		"an empty step":                              `{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"system","message":"","observation":{"results":[{"content":"x"}]}}]}`,
		"thinking next to calls of Chat Completions": `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"Eq=="}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"r"}]`,
		"arguments next to a call":                   `[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"x\":1}"},"arguments":{"x":1}},{"role":"function","name":"f","content":"r"}]`,
		"an empty response":                          `[{"role":"user","content":"q"},{"role":"assistant","id":"m","model":"n","content":[]}]`,
		"texts of a response":                        typed(chatURL, chatSent, chat(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]},{"type":"text","text":"x"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}],"function_call":null`)),
	} {
		if got := unknownIn(t, file); got != nil {
			t.Errorf("%s: reported %q, want nothing", name, got)
		}
	}
}

// The parts of Mistral have texts, media and references to sources. Other data in them is listed, as part of a message of a
// list, of a request, of a response and of a stream.
func TestPartsOfMistral(t *testing.T) {
	const text, other = `{"type":"text","text":"h"}`, `of the kind "thinking" with data that is not read`
	const openAIOther = `of the kind "openai.thinking" with data that is not read`
	for name, c := range map[string]struct{ part, list, request, response string }{
		"thinking":                {`{"type":"thinking","thinking":[` + text + `],"closed":true}`, "", "", ""},
		"thinking as a text":      {`{"type":"thinking","thinking":"h"}`, "", "", ""},
		"thinking with a source":  {`{"type":"thinking","thinking":[` + text + `,{"type":"reference","reference_ids":[1]},{"type":"tool_reference","tool":"web_search","title":"t"}]}`, "", "", ""},
		"thinking with a novelty": {`{"type":"thinking","thinking":[` + text + `,{"type":"hologram"}]}`, openAIOther, other, other},
		"thinking as an object":   {`{"type":"thinking","thinking":` + text + `}`, openAIOther, other, other},
		"a reference":             {`{"type":"reference","reference_ids":[1,"2"]}`, "", "", ""},
		"a reference with a text": {`{"type":"reference","reference_ids":[1],"text":"h"}`, `"openai.reference"`, `"reference"`, `text that is not read, as "text"`},
		"a document":              {`{"type":"document_url","document_url":"https://a.example/x.pdf","document_name":"x"}`, "", "", `"document_url"`},
		"a document as a number":  {`{"type":"document_url","document_url":7}`, "media that are not read: document_url is 7", "document_url is 7", `"document_url"`},
		"a sound":                 {`{"type":"input_audio","input_audio":"https://a.example/x.mp3"}`, "", "", `"input_audio"`},
		"a file":                  {`{"type":"file","file_id":"f"}`, "", "", `"file"`},
	} {
		content := `"content":[{"type":"text","text":"a"},` + c.part + `]`
		messages := `{"role":"user","content":"q"},{"role":"assistant",` + content + `},{"role":"user","content":"q"}`
		response := `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",` + content + `},"finish_reason":"stop"}]}`
		isReported(t, name+", a list", `[`+messages+`]`, c.list)
		isReported(t, name+", a request", typed(chatURL, `{"model":"m","messages":[`+messages+`]}`, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`), c.request)
		isReported(t, name+", a response", typed(chatURL, chatSent, response), c.response)
		isReported(t, name+", a stream", "data: "+strings.Replace(response, "message", "delta", 1)+"\n\ndata: [DONE]\n\n", c.response)
	}
}

// A block of Anthropic whose text is in an unknown member is listed, as part of a list, a request and a response, and a
// block that only has a signature or a mark for the cache is not.
func TestBlocksWithoutText(t *testing.T) {
	for block, want := range map[string]string{
		`{"type":"text","novel":"lost"}`:                                               `of the kind "text" whose text is not read`,
		`{"type":"text","text":"","novel":["lost"]}`:                                   `of the kind "text" whose text is not read`,
		`{"type":"text","value":"lost"}`:                                               `text that is not read, as "value"`,
		`{"type":"thinking","novel":"lost","signature":"Eq=="}`:                        `of the kind "thinking" whose text is not read`,
		`{"type":"thinking","thinking":"","signature":"Eq=="}`:                         "",
		`{"type":"text","text":"","citations":[{"type":"char_location","title":"t"}]}`: "",
		`{"type":"text","text":"h","novel":"x"}`:                                       "",
	} {
		content := `"content":[` + block + `,{"type":"tool_use","id":"a","name":"f","input":{}}]`
		messages := `{"role":"user","content":"q"},{"role":"assistant",` + content + `},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}`
		const done = `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
		isReported(t, block+", a list", `[`+messages+`]`, want)
		isReported(t, block+", a request", typed(anthropic, `{"model":"c","max_tokens":9,"messages":[`+messages+`]}`, done), want)
		isReported(t, block+", a response", typed(anthropic, `{"model":"c","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`, strings.Replace(done, `"content":[{"type":"text","text":"d"}]`, content, 1)), want)
	}
}

// A content of Inspect whose text is in an unknown member is listed. The summary of a reasoning is its text if it has no other.
func TestContentOfInspectWithoutText(t *testing.T) {
	for content, want := range map[string]struct{ unknown, text string }{
		`{"type":"reasoning","reasoning":"","novel":"lost"}`:                                            {`of the kind "reasoning" whose text is not read`, ""},
		`{"type":"reasoning","novel":"lost"}`:                                                           {`of the kind "inspect.reasoning" with data that is not read`, ""},
		`{"type":"text","text":"","novel":["lost"]}`:                                                    {`of the kind "text" whose text is not read`, ""},
		`{"type":"reasoning","reasoning":"","summary":"s","signature":"Eq=="}`:                          {"", "s"},
		`{"type":"reasoning","reasoning":"r","summary":"s","novel":"x","internal":{"a":1}}`:             {"", "r"},
		`{"type":"reasoning","reasoning":"","signature":"Eq==","redacted":false,"internal":{"id":"a"}}`: {"", ""},
		`{"type":"reasoning","reasoning":"Eq==","summary":"s","redacted":true}`:                         {"", ""},
	} {
		file := `{"version":2,"status":"success","eval":{"task":"t"},"samples":[{"id":"1","epoch":1,"input":"q","target":"t","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + content + `,{"type":"text","text":"a"}]}]}]}`
		isReported(t, content, file, want.unknown)
		_, runs, _, _ := readAll(t, "file", []byte(file))
		if r, ok := runs[0].Messages[1].Parts[0].(llm.Reasoning); r.Text != want.text || !ok && want.text != "" {
			t.Errorf("%s: got %q, want %q", content, r.Text, want.text)
		}
	}
}

// Calls in a form that no provider has are reported, and so is a response of Gemini without a finish reason.
func TestIncompleteCallsAreReported(t *testing.T) {
	const asked, done = `{"role":"user","parts":[{"text":"q"}]}`, `{"candidates":[{"content":{"role":"model","parts":[{"text":"d"}]},"finishReason":"STOP"}]}`
	called := func(args string) string {
		return `{"role":"model","parts":[{"functionCall":{"name":"f","args":` + args + `}}]}`
	}
	const returned = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"r":1}}}]}`
	request := func(args string) string { return `{"contents":[` + asked + `,` + called(args) + `,` + returned + `]}` }
	response := func(args string) string {
		return `{"candidates":[{"content":` + called(args) + `,"finishReason":"STOP"}]}`
	}
	const sent = `{"contents":[` + asked + `]}`
	const anthropicSent = "https://api.anthropic.com/v1/messages"
	const anthropicDone = `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	anthropicCall := func(input string) string {
		return `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f"` + input + `}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}]}`
	}
	calls := func(calls string) string {
		return typed(chatURL, chatSent, `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":`+calls+`},"finish_reason":"tool_calls"}]}`)
	}
	sentCall := func(kind string) string {
		return typed(chatURL, `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"`+kind+`","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"r"}]}`, `{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`)
	}
	const noObject, noName, noFinish = `the arguments of the call of "f" are not an object`, "a call without the name of a tool", "the response has no finish reason"
	stream := func(chunks ...string) string { return "data: " + strings.Join(chunks, "\n\ndata: ") + "\n\n" }
	open := strings.Replace(done, `,"finishReason":"STOP"`, "", 1)
	for name, c := range map[string]struct{ file, want string }{
		"of the model":           {typed(gemini, sent, response(`"x"`)), ""}, // as the fault of a provider
		"of the model, streamed": {typed(geminiSSE, sent, stream(response(`3`))), ""},
		"in a request":           {typed(gemini, request(`3`), done), noObject},
		"in a bare request":      {request(`"x"`), noObject},
		"an object":              {typed(gemini, request(`{"x":1}`), response(`{"x":1}`)), ""},
		"an object in a string":  {typed(gemini, request(`"{\"x\":1}"`), response(`null`)), ""},

		"Anthropic: a string":              {typed(anthropicSent, anthropicCall(`,"input":"x"`), anthropicDone), noObject},
		"Anthropic: an object in a string": {typed(anthropicSent, anthropicCall(`,"input": "{}"`), anthropicDone), noObject},
		"Anthropic: a list":                {typed(anthropicSent, anthropicCall(`,"input":[1]`), anthropicDone), noObject},
		"Anthropic: null":                  {typed(anthropicSent, anthropicCall(`,"input":null`), anthropicDone), noObject},
		"Anthropic: absent":                {typed(anthropicSent, anthropicCall(``), anthropicDone), noObject},
		"Anthropic: an object":             {typed(anthropicSent, anthropicCall(`,"input":{"input":"x"}`), anthropicDone), ""},

		"messages of Anthropic: a string":              {anthropicCall(`,"input":"x"`), noObject},
		"messages of Anthropic: an object in a string": {anthropicCall(`,"input":"{}"`), noObject},
		"messages of Anthropic: null":                  {anthropicCall(`,"input":null`), noObject},
		"messages of Anthropic: absent":                {anthropicCall(``), noObject},
		"messages of Anthropic: an object":             {anthropicCall(`,"input":{"input":"x"}`), ""},
		"messages of LangChain: a string":              {`[{"type":"human","content":"q"},{"type":"ai","content":[{"type":"tool_use","id":"a","name":"f","input":"{}"}],"tool_calls":[{"id":"a","name":"f","args":{}}]},{"type":"tool","tool_call_id":"a","content":"r"}]`, ""},

		"no members":         {calls(`[{}]`), noName},
		"an id":              {calls(`[{"id":"a","type":"function"}]`), noName},
		"an empty function":  {calls(`[{"id":"a","type":"function","function":{}}]`), noName},
		"no function":        {calls(`[{"id":"a","function":null}]`), noName},
		"no object":          {calls(`[null]`), noName},
		"no list":            {calls(`{}`), "choices[0].message.tool_calls is an object: want a list"},
		"none":               {calls(`null`), ""},
		"a call":             {calls(`[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`), ""},
		"an unknown type":    {sentCall("warp"), `the request has a call of the unknown kind "warp"`},
		"a known type":       {sentCall("function"), ""},
		"a part of a stream": {typed(chatURL, chatSent, stream(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")), ""},

		"no finish reason":             {typed(gemini, sent, open), noFinish},
		"in chunks":                    {typed(gemini, sent, "["+open+","+open+"]"), noFinish},
		"a finish reason":              {typed(gemini, sent, done), ""},
		"in the last chunk":            {typed(gemini, sent, "["+open+","+done+"]"), ""},
		"a finish reason as a number":  {typed(gemini, sent, strings.Replace(done, `"STOP"`, "1", 1)), ""},
		"Anthropic: no finish reason":  {typed(anthropicSent, anthropicCall(`,"input":{}`), strings.Replace(anthropicDone, `"end_turn"`, "null", 1)), noFinish},
		"of Chat Completions, null":    {typed(chatURL, chatSent, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":null}]}`), "the finish reason of the response is null"},
		"in a bare response, null":     {`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":null}]}`, "the finish reason of the response is null"},
		"of Chat Completions, without": {typed(chatURL, chatSent, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":""}]}`), ""},
	} {
		got := unknownIn(t, c.file)
		if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: reported %q, want %q", name, got, c.want)
		}
	}
}

// Members with calls, parts without a type and unknown states of a call are reported, and are no violation.
func TestUnknownCallsAreReported(t *testing.T) {
	with := func(member string) string {
		return `[{"role":"user","content":"q"},{"role":"assistant","content":"a",` + member + `}]`
	}
	state := func(state string) string {
		return `[{"role":"user","parts":[{"type":"text","text":"q"}]},{"role":"assistant","parts":[{"type":"tool-f","toolCallId":"t","input":{}` + state + `},{"type":"text","text":"a"}]}]`
	}
	for name, c := range map[string]struct{ file, want string }{
		"calls":            {with(`"calls":[{"name":"f","args":{}}]`), `the message has the unknown member "calls"`},
		"calls of OpenAI":  {with(`"calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`), `the message has the unknown member "calls"`},
		"tools of OpenAI":  {with(`"offered":[{"type":"function","function":{"name":"f","parameters":{}}}]`), ""},
		"one action":       {with(`"action":{"tool":"f","tool_input":"x"}`), `the message has the unknown member "action"`},
		"requests":         {with(`"toolRequests":[{"id":"a"}]`), `the message has the unknown member "toolRequests"`},
		"names":            {with(`"authors":[{"name":"f"}]`), ""},
		"a text":           {with(`"action":"f(x)"`), ""},
		"a part":           {`[{"role":"user","content":"q"},{"role":"assistant","content":[{"tool_call":{"id":"a"}}]}]`, `the content has a part without a type; it has the members "tool_call"`},
		"a result":         {`[{"role":"user","content":"q"},{"role":"tool","content":[{"tool_call_result":{"result":"7"},"x":1}]},{"role":"assistant","content":"a"}]`, `the content has a part without a type; it has the members "tool_call_result", "x"`},
		"an unknown state": {state(`,"state":"waiting"`), `a part of the unknown kind "ai-sdk.state waiting"`},
		"a known state":    {state(`,"state":"output-available","output":1`), ""},
		"no state":         {state(``), ""},
	} {
		got := unknownIn(t, c.file)
		if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: reported %q, want %q", name, got, c.want)
		}
		s, err := importer.Open("file", strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range s.Runs() {
			if found := check.Messages(run.Name, run.Messages); err != nil || found != nil {
				t.Errorf("%s: found %v, error %v, want nothing", name, found, err)
			}
		}
	}
}

// A second conversation next to the messages of a run is reported, unless it repeats them.
func TestOtherMessagesAreReported(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`
	const call = `[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"q"}]`
	const function = `{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}`
	const langChain = `"messages":[{"type":"human","content":"q"},{"type":"ai","content":"a","tool_calls":[]}]`
	for name, c := range map[string]struct{ file, want string }{
		"history":                 {`{` + messages + `,"history":` + call + `}`, "file:1: history: "},
		"before the messages":     {`{"history":` + call + `,` + messages + `}`, "file:1: history: "},
		"deep":                    {`{` + messages + `,"subagents":[{` + messages + `},{"messages":` + call + `}]}`, "file:1: subagents[1].messages: "},
		"on a line":               {`{` + messages + `}` + "\n" + `{` + messages + `,"history":` + call + `}`, "file:2: history: "},
		"that cannot be read":     {`{` + messages + `,"history":[{"role":"user","content":"q"},7]}`, "file:1: history: "},
		"of rows":                 {`{"question":"q","answer":"a","history":` + call + `}`, "file:1: history: "},
		"of a state of LangGraph": {`{` + langChain + `,"scratch":[{"type":"human","content":"other"}]}`, "file:1: scratch: "},
		"dumped in another state": {`{` + langChain + `,"scratch":[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"other"}}]}`, "file:1: scratch: "},
		"calls":                   {`{` + messages + `,"tool_calls":[` + function + `]}`, "file:1: tool_calls: "},
		"one more call":           {`{"messages":` + call + `,"tool_calls":[` + function + `,` + function + `]}`, "file:1: tool_calls: "},
		"a response":              {`{` + messages + `,"response":{"role":"assistant","tool_calls":[` + function + `]}}`, "file:1: response: "},
		"a preference":            {`{` + messages + `,"chosen":{"role":"assistant","content":"b"}}`, "file:1: chosen: "},
		"another text":            {`{` + messages + `,"response":{"role":"assistant","content":"b"}}`, "file:1: response: "},
		"of Gemini":               {`{` + messages + `,"contents_before":[{"role":"user","parts":[{"text":"other"}]}]}`, "file:1: contents_before: "},
	} {
		if got := unknownIn(t, c.file); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: reported %q, want %s once", name, got, c.want)
		}
	}
	for name, file := range map[string]string{
		"the calls again":      `{"messages":` + call + `,"tool_calls":[` + function + `]}`,
		"no calls":             `{` + messages + `,"tool_calls":[],"expected_tool_calls":[` + function + `]}`,
		"the choice of a tool": `{"model":"m",` + messages + `,"function_call":{"name":"f"}}`,
		"the answer again":     `{` + messages + `,"response":{"role":"assistant","content":[{"type":"text","text":"a"}]}}`,
		"a preference":         `{` + messages + `,"chosen":{"role":"assistant","content":"a"}}`,
		"an expected answer":   `{` + messages + `,"expected":{"role":"assistant","content":"b"}}`,
		"the prompt again":     `{` + messages + `,"prompt":[{"role":"user","content":"q"}]}`,
		"in another form":      `{` + messages + `,"input":[{"role":"user","content":[{"type":"text","text":"q"}]}]}`,
		"what is expected":     `{` + messages + `,"target":[{"role":"assistant","content":"b"}]}`,
		"the roles of users":   `{` + messages + `,"users":[{"role":"admin","content":"x"}]}`,
		"tools":                `{` + messages + `,"tools":[{"type":"function","function":{"name":"f","description":"\"content\"","parameters":{"type":"object","properties":{"content":{"type":"string"}}}}}]}`,
		"messages again":       `{` + langChain + `,"llm_input_messages":[{"type":"human","content":"q"}]}`,
		"the prompt of a row":  `{"prompt":[{"role":"user","content":"q"}],"answer":[{"role":"assistant","content":"a"}]}`,
		"the expected calls":   `{"prompt":[{"role":"user","content":"q"}],"answer":"a","expected":[{"role":"assistant","content":"b"}]}`,
	} {
		if got := unknownIn(t, file); got != nil {
			t.Errorf("%s: reported %q, want nothing", name, got)
		}
	}
}

// The images in a response of Ollama stay in its message.
func TestOllamaImagesAreKept(t *testing.T) {
	s, err := importer.Open("file", strings.NewReader(typed(ollama, chatSent, `{"model":"m","message":{"role":"assistant","content":"a","images":["AA=="]},"done":false}
{"model":"m","message":{"role":"assistant","content":"b"},"done":true,"done_reason":"stop"}`)))
	if err != nil {
		t.Fatal(err)
	}
	for x, err := range s.Exchanges() {
		if err != nil || x.Response == nil || string(x.Response.Opaque) != `{"images":["AA=="]}` || x.Response.Text() != "ab" {
			t.Errorf("%+v; %v", x.Response, err)
		}
	}
}

// An object with two members of one name is an error, because readers of JSON take the first, the last or both.
func TestRepeatedMembersAreReported(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`
	const done = `{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct{ file, want string }{
		"messages":         {`{` + messages + `,` + messages + `}`, `two members "messages"`},
		"another member":   {`{"id":"a",` + messages + `,"id":"b"}`, `two members "id"`},
		"of a row":         {`{"question":"q","answer":"a","answer":"b"}`, `two members "answer"`},
		"of a request":     {typed(chatURL, `{"model":"m",`+messages+`,`+messages+`}`, done), `two members "messages"`},
		"of a response":    {typed(chatURL, chatSent, done[:len(done)-1]+`,"choices":[]}`), `two members "choices"`},
		"of other objects": {`{` + messages + `,"meta":{"id":"a"},"id":"a"}`, ""},
	} {
		got := unknownIn(t, c.file)
		if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: reported %q, want %q once", name, got, c.want)
		}
	}
}

// An entry of a HAR file that cannot be read is reported with its place, and the others are read.
func TestUnreadEntriesAreReported(t *testing.T) {
	const socket = `{"_webSocketMessages":[{"type":"send"}],"request":{"method":"GET","url":"https://a.example/"},"response":{"status":101}}`
	const typeless = `{"request":{"method":"GET","url":7},"response":{"status":200}}`
	request := typed(chatURL, chatSent, `{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`)
	head, entry, _ := strings.Cut(strings.TrimSuffix(request, `]}}`), `"entries":[`)
	file := head + `"entries":[` + socket + ",\n" + entry + ",\n" + typeless + ",\n" + entry + ",\n" + socket + `]}}`
	for name, c := range map[string]struct {
		file  string
		want  []string
		reads int
	}{
		"some": {file, []string{
			"file:1: interaction 1: messages of WebSocket are not supported: export the file again without this entry",
			`file:3: interaction 3: there is a JSON number where it cannot be, at "request.url"`,
			"file:5: interaction 5: messages of WebSocket are not supported: export the file again without this entry",
		}, 2},
		"none": {request, nil, 1},
	} {
		s, err := importer.Open("file", strings.NewReader(c.file))
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		reads := 0
		for x, err := range s.Exchanges() {
			switch {
			case err != nil:
				got = append(got, err.Error())
			case x.Response != nil:
				if reads++; c.want != nil && x.Number != 2*reads {
					t.Errorf("%s: request %d has the number %d", name, reads, x.Number)
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || reads != c.reads {
			t.Errorf("%s: %d requests read, want %d (-want +got):\n%s", name, reads, c.reads, diff)
		}
	}
	if _, err := importer.Open("file", strings.NewReader(head+`"entries":[`+socket+`]}}`)); err == nil || !strings.HasPrefix(err.Error(), "file:1: interaction 1: messages of WebSocket") {
		t.Errorf("a file with nothing else: %v", err)
	}
}

// A request at an unknown address whose body cannot be read is reported if it may be to a model.
func TestUndecodableBodiesAreReported(t *testing.T) {
	const (
		unknown  = "https://llm.example/generate"
		answer   = `{"output":"a"}`
		embedded = `{"embedding":[1]}`
		encoded  = `{"name":"Content-Encoding","value":"%s"}`
		cut      = `{"inputs":[{"role":"user","content":"q`
	)
	entry := func(url, headers, sent, responseHeaders, got string, status int) string {
		encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
		return fmt.Sprintf(`{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{"request":{"method":"POST","url":%q,"headers":[%s],"postData":{"mimeType":"application/json","encoding":"base64","text":%q}},`+
			`"response":{"status":%d,"headers":[%s],"content":{"mimeType":"application/json","encoding":"base64","text":%q}}}]}}`, url, headers, encode(sent), status, responseHeaders, encode(got))
	}
	inEncoding := func(name string) string { return fmt.Sprintf(encoded, name) }
	form := inEncoding("compress") + `,{"name":"Content-Type","value":"application/x-protobuf"}`
	for name, c := range map[string]struct {
		file string
		want bool
	}{
		"unknown encoding":                {entry(unknown, inEncoding("compress"), "\x1f\x9d", "", answer, 200), true},
		"invalid gzip":                    {entry(unknown, inEncoding("gzip"), "\x1f\x8b\xff", "", answer, 200), true},
		"both unknown":                    {entry(unknown, inEncoding("gzip"), "\x1f\x8b\xff", inEncoding("gzip"), "\x1f\x8b\xff", 200), true},
		"refused":                         {entry(unknown, inEncoding("gzip"), "\x1f\x8b\xff", "", `{"error":"x"}`, 400), true},
		"truncated request":               {entry(unknown, "", cut, "", answer, 200), true},
		"response in an unknown encoding": {entry(unknown, "", `{"inputs":"q"}`, inEncoding("compress"), "\x1f\x9d", 200), true},
		"stream":                          {entry(unknown, inEncoding("gzip"), "\x1f\x8b\xff", "", "data:{\"token\":{}}\n\n", 200), true},
		"embeddings by path":              {entry("https://llm.example/v1/embeddings", inEncoding("compress"), "\x1f\x9d", "", answer, 200), false},
		"embeddings by response":          {entry(unknown, inEncoding("compress"), "\x1f\x9d", "", embedded, 200), false},
		"telemetry":                       {entry("https://metrics.example/v1/metrics", form, "\x1f\x9d", "", answer, 200), false},
		"without a response":              {entry("https://metrics.example/collect", inEncoding("compress"), "\x1f\x9d", "", "", 200), false},
		"truncated, of another service":   {entry("https://db.example/rows", "", cut, "", `{"rows":1}`, 200), false},
	} {
		got := unknownIn(t, c.file)
		if (len(got) == 1) != c.want || c.want && !strings.Contains(got[0], "interaction 1: the request ") {
			t.Errorf("%s: reported %q, want a report: %v", name, got, c.want)
		}
	}
}

// After a call of Anthropic without an object as its input, which is listed, the rest of a list is read and checked.
func TestRestAfterInvalidInput(t *testing.T) {
	for _, input := range []string{`,"input":"x"`, `,"input":"{\"a\":1}"`, `,"input":[1]`, `,"input":null`, ""} {
		call := `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f"` + input + `}]}`
		const result = `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}`
		const rest = `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"g","input":{}}]},{"role":"user","content":"k"}`
		for file, want := range map[string]string{
			call + result + rest: `INV-01 3 the call "toolu_2" has no result, and other messages follow`,
			call + rest:          `INV-01 1 the call "toolu_1" has no result, and other messages follow`,
		} {
			for form, path := range map[string]string{"[%s]": "[1]", `{"messages":[%s]}`: "messages[1]"} {
				run := onlyRun(t, fmt.Sprintf(form, file))
				list := check.List{Run: run.Name, Protocol: run.Protocol, Request: run.Sent}
				list.Add(run.Checkable()...)
				found := list.Done()
				if len(found) == 0 || fmt.Sprint(found[0].Invariant, " ", found[0].Event, " ", found[0].Message) != want {
					t.Errorf("%s: violations %v, want %s", input, found, want)
				}
				listed := `x:1: ` + path + `: the arguments of the call of "f" are not an object (in run-1)`
				if len(run.Unknown) != 1 || run.Unknown[0].Error() != listed {
					t.Errorf("%s: listed %v, want %s", input, run.Unknown, listed)
				}
			}
		}
	}
}

// Calls next to the messages repeat those of the messages, with equal arguments.
func TestCallsNextToMessagesWithOtherArguments(t *testing.T) {
	const run = `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1,\"y\":[\"z\"]}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}],%s}`
	const listed = "the member has calls that are not those of the run, and they are not read"
	for members, want := range map[string]string{
		`"tool_calls":[{"name":"f","arguments":"{ \"y\":[\"z\"], \"x\":1.0 }"},{"name":"f","arguments":{}}]`:     "",
		`"calls":[{"name":"f"},{"function":{"name":"f","arguments":{"x":1,"y":["z"]}}}]`:                         "",
		`"tool_calls":[{"name":"f","arguments":{"x":2,"y":["z"]}}]`:                                              listed,
		`"calls":[{"tool":"f","args":{"x":1}}]`:                                                                  listed,
		`"calls":[{"tool":"f","args":{"x":1,"y":["z"]}},{"tool":"f","args":{"x":1,"y":["z"]}}]`:                  listed,
		`"function_call":{"name":"f","arguments":"{\"x\":1,\"y\":[\"other\"]}"}`:                                 listed,
		`"calls":[{"tool":"f","args":{"x":1,"y":["z"]}},{"tool":"f"},{"tool":"f"}]`:                              listed,
		`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1,\"y\":\"cut"}}]`: listed,
	} {
		isReported(t, members, fmt.Sprintf(run, members), want)
	}
	const span = `{"name":"n","context":{"trace_id":"t","span_id":"s"},"attributes":{"openinference.span.kind":"LLM","input.value":"{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}]}","output.value":%q}}`
	for arguments, want := range map[string]string{`{"x":1}`: "", `{"x":2}`: `the calls in the member "tool_calls" are not read`} {
		output := `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}],"tool_calls":[{"name":"f","arguments":` + arguments + `}]}`
		_, _, failed, unknown := readAll(t, "x", fmt.Appendf(nil, span, output))
		if got := texts(append(failed, unknown...)); want == "" && len(got) > 0 || want != "" && (len(got) == 0 || !strings.Contains(strings.Join(got, " "), "tool_calls")) {
			t.Errorf("%s: reported %q, want %q", arguments, got, want)
		}
	}
}

// A member of another type makes neither a call nor a result unknown, which would be false violations.
func TestMembersOfAnotherType(t *testing.T) {
	const user = `{"role":"user","content":"q"}`
	const use, result = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"x":1}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"r"}]}`
	const called = `{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{"x":1}}}]}`
	const answered = `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"r":1}}}]}`
	const gemini, byName = "[" + called + "," + answered + "]", `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"x":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"r":1}}}]}]`
	session := `{"id":"s","app_name":"a","user_id":"u","events":[` + strings.ReplaceAll(strings.ReplaceAll("{\"content\":"+called+"},{\"content\":"+answered+"}", `},{"role"`, `}},{"content":{"role"`), "functionCall", "function_call") + `]}`
	const noArgs, noResponse = `the call of "f" has data that is not read, as "args"`, `the result of the call "%s" has no content that looptape reads; it has data as "response"`
	for name, c := range map[string]struct{ file, old, new, want string }{
		"Gemini: a number as arguments":       {gemini, `{"x":1}`, `7`, "x:1: " + noArgs + " (in message 1 of run-1)"},
		"Gemini: a text as arguments":         {gemini, `{"x":1}`, `"zzz"`, "x:1: " + noArgs + " (in message 1 of run-1)"},
		"Gemini: a list as arguments":         {gemini, `{"x":1}`, `[]`, "x:1: " + noArgs + " (in message 1 of run-1)"},
		"Gemini: false as arguments, by name": {byName, `{"x":1}`, `false`, "x:1: " + noArgs + " (in message 1 of run-1)"},
		"Gemini: a text as response":          {gemini, `{"r":1}`, `"zzz"`, "x:1: " + fmt.Sprintf(noResponse, "a") + " (in message 2 of run-1)"},
		"Gemini: an empty text":               {gemini, `{"r":1}`, `""`, "x:1: " + fmt.Sprintf(noResponse, "a") + " (in message 2 of run-1)"},
		"Gemini: a list as response":          {gemini, `{"r":1}`, `[]`, "x:1: " + fmt.Sprintf(noResponse, "a") + " (in message 2 of run-1)"},
		"Gemini: a number, by name":           {byName, `{"r":1}`, `5`, "x:1: " + fmt.Sprintf(noResponse, "function_call_1") + " (in message 2 of run-1)"},
		"Gemini: null":                        {gemini, `{"r":1}`, `null`, ""},
		"ADK session: a number as arguments":  {session, `{"x":1}`, `7`, "x:1: " + noArgs + " (in message 1 of s)"},
		"ADK session: a text as response":     {session, `{"r":1}`, `"zzz"`, "x:1: " + fmt.Sprintf(noResponse, "a") + " (in message 2 of s)"},
		"Anthropic: a number":                 {"[" + user + "," + use + "," + result + "]", `"content":"r"`, `"content":5`, "x:1: [2]: expected an array at content[0].content"},
		"Anthropic: an object":                {"[" + user + "," + use + "," + result + "]", `"content":"r"`, `"content":{"x":1}`, "x:1: [2]: expected an array at content[0].content"},
		"Anthropic: is_error":                 {"[" + user + "," + use + "," + result + "]", `"content":"r"`, `"content":"r","is_error":"no"`, "x:1: [2]: expected true or false at content[0].is_error"},
		"Anthropic, in an object":             {`{"messages":[` + user + "," + use + "," + result + "]}", `"content":"r"`, `"content":5`, "x:1: messages[2]: expected an array at content[0].content"},
	} {
		_, runs, failed, unknown := readAll(t, "x", []byte(strings.Replace(c.file, c.old, c.new, 1)))
		if got := strings.Join(texts(append(failed, unknown...)), "; "); got != c.want || len(runs) != 1 {
			t.Errorf("%s: %d runs, reported %q, want %q", name, len(runs), got, c.want)
			continue
		}
		list := check.List{Run: runs[0].Name, Protocol: runs[0].Protocol}
		list.Add(runs[0].Checkable()...)
		if found := list.Done(); len(found) > 0 {
			t.Errorf("%s: violations %v", name, found)
		}
	}
}

// Arguments that are neither a text nor an object are listed. A text that is not JSON is what the model sent.
func TestArgumentsOfAnotherType(t *testing.T) {
	list := func(call string) string {
		return `[{"role":"user","content":"q"},{"role":"assistant","content":null,` + call + `}]`
	}
	const tool = `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":%s}}]`
	const unread = `the call of "f" has data that is not read, as "arguments"`
	for _, arguments := range []string{"5", "true", "[1]", "[]"} {
		isReported(t, "a list "+arguments, list(fmt.Sprintf(tool, arguments)), unread)
		isReported(t, "the old form "+arguments, list(`"function_call":{"name":"f","arguments":`+arguments+`}`), unread)
		item := `[{"type":"message","role":"user","content":"q"},{"type":"function_call","call_id":"a","name":"f","arguments":` + arguments + `}]`
		if _, _, failed, unknown := readAll(t, "x", []byte(item)); len(failed)+len(unknown) != 1 {
			t.Errorf("an item %s: listed %v", arguments, append(failed, unknown...))
		}
		parts := `[{"trace_id":"t","span_id":"s","name":"chat m","attributes":{"gen_ai.operation.name":"chat","gen_ai.input.messages":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"q\"}]}]","gen_ai.output.messages":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"a\",\"name\":\"f\",\"arguments\":` + arguments + `}],\"finish_reason\":\"tool_call\"}]"}}]`
		if _, runs, failed, unknown := readAll(t, "x", []byte(parts)); len(failed)+len(unknown) > 0 {
			t.Errorf("OpenTelemetry, which allows any JSON, %s: listed %v of %d runs", arguments, append(failed, unknown...), len(runs))
		}
		span := `{"name":"n","context":{"trace_id":"t","span_id":"s"},"attributes":{"openinference.span.kind":"LLM","llm.input_messages.0.message.role":"user","llm.input_messages.0.message.content":"q","llm.output_messages.0.message.role":"assistant","llm.output_messages.0.message.tool_calls.0.tool_call.id":"a","llm.output_messages.0.message.tool_calls.0.tool_call.function.name":"f","llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments":` + arguments + `}}`
		isReported(t, "OpenInference "+arguments, span, `"tool_call.function.arguments"`)
	}
	for _, arguments := range []string{`"{\"x\":"`, `"[1]"`, `"5"`, `{"x":1}`, `""`, "null"} {
		isReported(t, "a list "+arguments, list(fmt.Sprintf(tool, arguments)), "")
	}
	for input, want := range map[string]string{`[1]`: `as "input"`, `5`: `as "input"`, `{"x":1}`: "", `{}`: ""} {
		isReported(t, "Converse "+input, `[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":`+input+`}}]}]`, want)
	}
}
