package importer_test

import (
	"strings"
	"testing"
)

// A kind is known only to the readers whose formats have it, and text in a part must be read.
func TestKindsOfOtherFormatsAreReported(t *testing.T) {
	const done = `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`
	const claude = `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	bare := func(part string) string {
		return `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a"},` + part + `]}`
	}
	for _, part := range []string{
		`{"type":"toolResult","toolUseId":"z","content":[{"text":"L"}]}`,
		`{"type":"holo_tool_result","tool_use_id":"z","content":"L"}`,
		`{"type":"tool_response","id":"z","response":"L"}`,
		`{"type":"custom","id":"z","custom":{"name":"w","input":"L"}}`,
		`{"type":"tool_search_call","call_id":"z","arguments":{"a":1}}`,
		`{"type":"user_tool_call","id":"z","name":"f"}`,
		`{"type":"server_tool_call","id":"z","name":"f","args":{}}`,
		`{"type":"data-toolcall","data":{"name":"f"}}`,
		`{"type":"text","content":"L"}`, `{"type":"text","value":"L"}`, `{"type":"text","text":"a","content":"L"}`,
		`{"type":"output_text","content":"L"}`, `{"type":"thinking","text":"L"}`,
	} {
		for where, file := range map[string]string{
			"messages": "[" + bare(part) + "]",
			"request":  typed(chatURL, `{"model":"m","messages":[`+bare(part)+`,{"role":"user","content":"q"}]}`, done),
			"response": typed(chatURL, chatSent, strings.Replace(done, `"x"`, `[`+part+`]`, 1)),
		} {
			if got := unknownIn(t, file); len(got) == 0 {
				t.Errorf("%s, %s: nothing was reported", part, where)
			}
		}
	}
	const lost = `{"role":"user","content":[{"type":"text","value":"L"}]}`
	for name, file := range map[string]string{
		"Anthropic, request":  typed(anthropic, `{"model":"c","max_tokens":9,"messages":[`+lost+`]}`, claude),
		"Anthropic, response": typed(anthropic, `{"model":"c","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`, strings.Replace(claude, `"text":"d"`, `"value":"L"`, 1)),
		"OpenTelemetry":       `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1","spanId":"1","name":"chat m","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"q\"}]}]"}}]}]}]}]}`,
	} {
		if got := unknownIn(t, file); len(got) != 1 || !strings.Contains(got[0], "not read") {
			t.Errorf("%s: reported %q, want the text", name, got)
		}
	}
	for _, part := range []string{
		`{"type":"text"}`, `{"type":"text","text":null}`, `{"type":"text","text":"b","cache_control":{"type":"ephemeral"},"citations":null}`,
		`{"type":"text","text":"b","content":"b"}`,
		`{"type":"thinking","thinking":[{"type":"text","text":"h"}],"closed":true}`,
		`{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"h"}]}`,
		`{"type":"custom","kind":"openai.compaction"}`,
		`{"type":"server_tool_use","id":"s","name":"holo","input":{}},{"type":"holo_tool_result","tool_use_id":"s","content":"x"}`,
		`{"type":"video_url","video_url":{"url":"u"}}`,
	} {
		if got := unknownIn(t, "["+bare(part)+"]"); got != nil {
			t.Errorf("%s: reported %q, want nothing", part, got)
		}
	}
}

// Events of ADK and steps of ATIF that have content in another member are reported.
func TestContentInAnotherMemberIsReported(t *testing.T) {
	adk := func(last string) string {
		return `{"id":"s","app_name":"a","user_id":"u","events":[{"author":"user","content":{"role":"user","parts":[{"text":"q"}]}},{"author":"agent",` + last + `}]}`
	}
	atif := func(last string) string {
		return `{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":"q"},{"step_id":2,"source":"agent",` + last + `}]}`
	}
	for file, want := range map[string]string{
		adk(`"message":{"role":"model","parts":[{"text":"L"}]}`):          "events[1].message",
		adk(`"content":{"role":"model","blocks":[{"text":"L"}]}`):         "events[1].content",
		adk(`"content":{"role":"model","parts":[{"text":"a"}]}`):          "",
		adk(`"content":{"role":"model"},"actions":{"state_delta":{}}`):    "",
		atif(`"message":"a","content":"L"`):                               `as "content"`,
		atif(`"message":"a","content":"a","extra":{"content":"details"}`): "",
	} {
		got := unknownIn(t, file)
		if want == "" && got != nil || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: reported %q, want %q", file, got, want)
		}
	}
}
