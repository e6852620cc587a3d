package importer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// langChainExample is a state of LangGraph with calls in each place, one with invalid arguments, a
// failed result, and blocks of Anthropic whose call has an incomplete input.
const langChainExample = `{"messages":[
{"type":"system","content":"Be brief.","additional_kwargs":{},"response_metadata":{}},
{"type":"human","content":[{"type":"text","text":"Weather?"},{"type":"image_url","image_url":{"url":"https://a.b/c.png"}}],"id":"h1","example":false},
{"type":"ai","content":"","id":"r1","tool_calls":[{"name":"find","args":{"q":"sf"},"id":"c1","type":"tool_call"}],"invalid_tool_calls":[{"name":"find","args":"{q:","id":"c2","error":"no JSON","type":"invalid_tool_call"}],
 "additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"find","arguments":"{\"q\":\"sf\"}"},"type":"function"}]},
 "usage_metadata":{"input_tokens":48,"output_tokens":17,"total_tokens":65,"input_token_details":{"cache_read":8},"output_token_details":{"reasoning":3}},"response_metadata":{"token_usage":{"prompt_tokens":48,"completion_tokens":17}}},
{"type":"tool","content":"60F","name":"find","tool_call_id":"c1","artifact":null,"status":"success"},
{"type":"tool","content":"bad arguments","name":"find","tool_call_id":"c2","status":"error"},
{"type":"AIMessageChunk","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Once more"},{"type":"tool_use","id":"c3","name":"find","input":{},"partial_json":"{\"q\": \"la\"}","index":1}],"tool_calls":[{"name":"find","args":{"q":"la"},"id":"c3"}]},
{"type":"tool","content":{"temp":70},"tool_call_id":"c3"},
{"type":"ai","content":"60F","response_metadata":{"token_usage":{"prompt_tokens":80,"completion_tokens":15}}},
{"type":"remove","id":"h1"}],"thread":"t1"}
`

// serializedExample has messages as LangChain's dumps and messages_to_dict write them.
const serializedExample = `[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"Hi","additional_kwargs":{}}},
{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessageChunk"],"kwargs":{"content":"","additional_kwargs":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}}},
{"type":"tool","data":{"content":"x","tool_call_id":"c1","name":"f"}},
{"type":"chat","data":{"role":"assistant","content":"Ho"}}]
`

func TestLangChain(t *testing.T) {
	want := `run-1 system:(Be brief.) user:(Weather?)<> assistant:[c1 find{"q":"sf"}][c2 find{q:] tool:[c1 find=60F] tool:[c2 find failed=bad arguments]` +
		` assistant:~hm~(Once more)[c3 find{"q":"la"}] tool:[c3 ={"temp":70}] assistant:(60F) {"input_tokens":128,"output_tokens":32,"cache_read_input_tokens":8,"reasoning_output_tokens":3}`
	serialized := "run-1 user:(Hi) assistant:[c1 f{}] tool:[c1 f=x] assistant:(Ho)"
	line := strings.ReplaceAll(langChainExample, "\n", "") + "\n"
	second := strings.Replace(want, "run-1", "run-2", 1)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a state": {langChainExample, []string{want}}, "compressed": {string(zstandard(t, langChainExample)), []string{want}},
		"a state per line": {line + line, []string{want, second}},
		"states":           {"[" + line + "," + line + "]", []string{want, second}},
		"a thread":         {`{"values":` + langChainExample + `,"next":[]}`, []string{want}},
		"serialized":       {serializedExample, []string{serialized}},
		"function_call": {
			`[{"type":"human","content":"q"},{"type":"ai","content":"","tool_calls":[],"additional_kwargs":{"function_call":{"name":"f","arguments":"{}"},"refusal":null}},{"type":"function","name":"f","content":"r"},{"type":"ai","content":"d"}]`,
			[]string{"run-1 user:(q) assistant:[function_call_1 f{}] tool:[function_call_1 f=r] assistant:(d)"},
		},
		"function_call and tool_calls": {
			`[{"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"c1"}],"additional_kwargs":{"function_call":{"name":"f","arguments":"{}"}}},{"type":"tool","tool_call_id":"c1","content":"r"}]`,
			[]string{"run-1 assistant:[c1 f{}] tool:[c1 =r]"},
		},
		"function_call and blocks": {
			`[{"type":"ai","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}],"additional_kwargs":{"function_call":{"name":"f","arguments":"{}"}}},{"type":"tool","tool_call_id":"c1","content":"r"}]`,
			[]string{"run-1 assistant:[c1 f{}] tool:[c1 =r]"},
		},
		"content blocks with calls": {
			`[{"type":"human","content":"q"},{"type":"ai","content":[{"type":"text","text":"a"},{"type":"tool_call","id":"c1","name":"f","args":{}}],"tool_calls":[{"name":"f","args":{},"id":"c1","type":"tool_call"}],"response_metadata":{"output_version":"v1"}},{"type":"tool","tool_call_id":"c1","content":"r"}]`,
			[]string{"run-1 user:(q) assistant:(a)[c1 f{}] tool:[c1 =r]"},
		},
		"content blocks without the calls": {
			`[{"type":"human","content":"q"},{"type":"ai","content":[{"type":"tool_call","id":"c1","name":"f","args":{}}],"tool_calls":[]},{"type":"tool","tool_call_id":"c1","content":"r"}]`,
			[]string{"run-1 user:(q) assistant:[c1 f{}] tool:[c1 =r]"},
		},
		"content blocks of the provider": {
			`[{"type":"human","content":"q"},{"type":"ai","content":[{"type":"server_tool_call","id":"s","name":"web_search","args":{}},{"type":"server_tool_result","tool_call_id":"s","status":"success","output":"x"},{"type":"non_standard","value":{"a":1}},{"type":"tool_call","id":"c1","name":"f","args":{}}],"tool_calls":[{"name":"f","args":{},"id":"c1","type":"tool_call"}]},{"type":"tool","tool_call_id":"c1","content":"r"}]`,
			[]string{"run-1 user:(q) assistant:?openai.server_tool_call?openai.server_tool_result?openai.non_standard[c1 f{}] tool:[c1 =r]"},
		},
		"a block of Anthropic that is not standard": {
			`[{"type":"human","content":"q"},{"type":"ai","content":[{"type":"non_standard","value":{"type":"redacted_thinking","data":"AA=="}},{"type":"tool_call","id":"c1","name":"f","args":{}}],"tool_calls":[{"name":"f","args":{},"id":"c1","type":"tool_call"}]},{"type":"tool","tool_call_id":"c1","content":"r"}]`,
			[]string{"run-1 user:(q) assistant:~~[c1 f{}] tool:[c1 =r]"},
		},
		"calls of the provider": {
			`[{"type":"human","content":"q"},{"type":"ai","content":"","tool_calls":[],"additional_kwargs":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}},{"type":"tool","tool_call_id":"c1","content":"r"}]`,
			[]string{"run-1 user:(q) assistant:[c1 f{}] tool:[c1 =r]"},
		},
		"a list of lists":    {"[" + serializedExample + "]", []string{serialized}},
		"a message per line": {strings.ReplaceAll(strings.Trim(serializedExample, "[]\n"), ",\n", "\n") + "\n", []string{serialized}},
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(c.text))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "langchain" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
		}
	}
}

func TestLangChainBroken(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"not JSON":        {strings.Replace(langChainExample, `"content":"60F","name"`, `"content":,"name"`, 1), "file:7: messages[3].content: expected a value"},
		"no object":       {strings.Replace(langChainExample, `{"type":"tool","content":"60F"`, `7,{"type":"tool","content":"60F"`, 1), `file:7: messages[3]: the message has the unknown type "" (in run-1)`},
		"unknown type":    {strings.Replace(langChainExample, `"type":"tool","content":"60F"`, `"type":"result","content":"60F"`, 1), `file:7: messages[3]: the message has the unknown type "result" (in run-1)`},
		"unknown content": {strings.Replace(langChainExample, `"content":"60F","name"`, `"content":7,"name"`, 1), ""},
		"a name":          {strings.Replace(langChainExample, `"name":"find","tool_call_id":"c1"`, `"name":7,"tool_call_id":"c1"`, 1), "file:7: messages[3]: the name, the role or the tool_call_id of the message is not a string (in run-1)"},
		"content":         {strings.Replace(langChainExample, `"content":"Be brief."`, `"content":7`, 1), "file:2: messages[0].content: the content is neither a string nor a list of parts (in run-1)"},
		"not standard":    {`[{"type":"human","content":"q"},{"type":"ai","content":[{"type":"non_standard","value":{"type":"hologram"}}]}]`, `file:1: the content has a part of the unknown kind "openai.hologram" (in message 1 of run-1)`},
		"no messages":     {strings.Replace(langChainExample, `"messages":[`, `"values":[`, 1), "file:1: the value has no list of messages (in run-1)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, failed, unknown := readAll(t, "file", []byte(c.text))
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if diff := cmp.Diff(want, texts(append(failed, unknown...))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// Calls that a message has in several places count once, and those that only one place has are calls or listed.
func TestLangChainCallsInSeveralPlaces(t *testing.T) {
	const call, raw = `{"name":"f","args":{"a":1},"id":"c1","type":"tool_call"}`, `{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}`
	const g = `{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}`
	const block = `{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}`
	const once, unread = `[c1 f{"a":1}]`, "the message has calls that are not read, as "
	for _, c := range []struct{ content, calls, kwargs, want, listed string }{
		{`""`, `"tool_calls":[` + call + `]`, `{"tool_calls":[` + raw + `],"function_call":{"name":"f","arguments":"{\"a\":1}"}}`, once, ""},
		{`""`, `"tool_calls":[` + call + `]`, `{"tool_calls":[` + raw + `,` + g + `]}`, once, unread + `"tool_calls" in "additional_kwargs"`},
		{`""`, `"tool_calls":[` + call + `]`, `{"tool_calls":` + g + `}`, once, unread + `"tool_calls" in "additional_kwargs"`},
		{`"x"`, `"tool_calls":[]`, `{"tool_calls":"lost"}`, "(x)", unread + `"tool_calls" in "additional_kwargs"`},
		{`""`, `"tool_calls":[` + call + `]`, `{"function_call":{"name":"g","arguments":"{}"}}`, once, unread + `"function_call" in "additional_kwargs"`},
		{`"x"`, `"tool_calls":[]`, `{"function_call":{"arguments":"{}"}}`, "(x)", unread + `"function_call" in "additional_kwargs"`},
		{`""`, `"tool_calls":[` + call + `],"invalid_tool_calls":[` + call + `]`, `{}`, once, ""},
		{`""`, `"tool_calls":[` + call + `],"tool_call_chunks":[{"name":"f","args":"{\"a\": 1}","id":"c1","index":0,"type":"tool_call_chunk"}]`, `{}`, once, ""},
		{`""`, `"tool_calls":[` + call + `],"tool_call_chunks":[{"name":"g","args":"{}","id":"c1"}]`, `{}`, once, unread + `"tool_call_chunks"`},
		{`[` + block + `]`, `"tool_calls":[` + call + `]`, `{}`, once, ""},
		{`[` + block + `]`, `"tool_calls":[]`, `{"tool_calls":[` + raw + `]}`, once, ""},
		{`[{"type":"tool_use","id":"c1","name":"f","input":{}}]`, `"tool_calls":[` + call + `]`, `{}`, once, ""},
		{`[{"type":"tool_use","id":"c1","name":"f","input":{"b":2}}]`, `"tool_calls":[` + call + `]`, `{}`, once, `the call of "f" has data that is not read, as "block_input"`},
		{`[{"type":"tool_call","id":"c1","name":"f","args":{"b":2}}]`, `"tool_calls":[` + call + `]`, `{}`, "?openai.tool_call" + once, `a part of the unknown kind "openai.tool_call"`},
		{`[{"type":"function_call","call_id":"c1","id":"fc_1","name":"f","arguments":"{\"a\":1}"}]`, `"tool_calls":[` + call + `]`, `{}`, once, ""},
		{`[{"type":"function_call","call_id":"c1","id":"fc_1","name":"f","arguments":"{\"a\":1}"}]`, `"tool_calls":[]`, `{}`, once, ""},
		{`[{"type":"custom_tool_call","call_id":"c1","id":"fc_1","name":"f","input":"x"}]`, `"tool_calls":[{"name":"f","args":{"__arg1":"x"},"id":"c1"}]`, `{}`, `[c1 f{"__arg1":"x"}]`, ""},
		{`""`, `"tool_calls":[{"name":"f","args":7,"id":"c1"}]`, `{}`, "[c1 f]", `the call of "f" has data that is not read, as "arguments"`},
		{`""`, `"tool_calls":[]`, `{"tool_calls":[{"id":"c1","type":"function","function":{"name":7,"arguments":"{}"}}]}`, "", "[1].tool_calls[0].function.name: expected a string"},
	} {
		name := c.content + c.calls + c.kwargs
		_, runs, failed, unknown := readAll(t, "file", []byte(`[{"type":"human","content":"q"},{"type":"ai","content":`+c.content+`,`+c.calls+`,"additional_kwargs":`+c.kwargs+`}]`))
		want := "run-1 user:(q) assistant:" + c.want
		if c.want == "" {
			want = "run-1 user:(q)"
		}
		if diff := cmp.Diff([]string{want}, outline(runs)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		got := texts(append(failed, unknown...))
		if c.listed == "" && got != nil || c.listed != "" && (len(got) != 1 || !strings.Contains(got[0], c.listed)) {
			t.Errorf("%s: listed %q, want %q once", name, got, c.listed)
		}
	}
}
