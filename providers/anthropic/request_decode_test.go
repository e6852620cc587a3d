package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
)

func decodeRequest(body string) (*llm.Request, error) {
	return anthropic.Messages{}.DecodeRequest("/v1/messages", []byte(body))
}

func buffered(r llm.Request) *llm.Request {
	r.ResponseMode = llm.NonStreaming
	return &r
}

func extra(pairs ...string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = raw(pairs[i+1])
	}
	return m
}

const markedA = `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`

// marked returns a system prompt of parts with a cache mark.
func marked(texts ...string) (s llm.System) {
	for _, text := range texts {
		s = append(s, llm.SystemPart{Text: text, CacheMark: true})
	}
	return s
}

// TestDecodeRequest reads the representations that clients use.
func TestDecodeRequest(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       *llm.Request
	}{
		{"nothing", `{}`, buffered(llm.Request{})},
		{"nulls", `{"model":null,"messages":null,"max_tokens":null,"temperature":null,"top_p":null,"stop_sequences":null,"stream":null,"system":null,"tools":null,"tool_choice":null,"output_config":null}`, buffered(llm.Request{})},
		{"a stream", `{"stream":true}`, &llm.Request{}},
		{"no stream", `{"stream":false}`, buffered(llm.Request{})},
		{"what is not known", `{"metadata":{"user_id": "u"},"top_k":5,"thinking":null}`, buffered(llm.Request{Extra: extra("metadata", `{"user_id":"u"}`, "top_k", "5", "thinking", "null")})},
		{"system, a text", `{"system":"a"}`, buffered(llm.Request{System: llm.SystemText("a")})},
		{"system, one block", `{"system":[{"text":"a","type":"text","citations":null}]}`, buffered(llm.Request{System: llm.SystemText("a")})},
		{"system, two blocks", `{"system":[{"text":"a","type":"text"},{"type":"text","text":"b"}]}`, buffered(llm.Request{System: llm.System{{Text: "a"}, {Text: "b"}}})},
		{"system, a mark", `{"system":[{"text":"a","type":"text","cache_control":{"type":"ephemeral"}}]}`, buffered(llm.Request{System: marked("a")})},
		{"system, a part after the mark", `{"system":[{"cache_control":{ "type": "ephemeral" },"text":"a","type":"text"},{"type":"text","text":"b","cache_control":null}]}`, buffered(llm.Request{System: append(marked("a"), llm.SystemPart{Text: "b"})})},
		{"system, four marks", `{"system":[` + markedA + `,` + markedA + `,` + markedA + `,` + markedA + `]}`, buffered(llm.Request{System: marked("a", "a", "a", "a")})},
		{"system, five marks", `{"system":[` + markedA + `,` + markedA + `,` + markedA + `,` + markedA + `,` + markedA + `]}`,
			buffered(llm.Request{System: marked("a", "a", "a", "a", "a"), Extra: extra("system", `[`+markedA+`,`+markedA+`,`+markedA+`,`+markedA+`,`+markedA+`]`)})},
		{"system, a lifetime", `{"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"5m"}}]}`, buffered(llm.Request{System: llm.SystemText("a"), Extra: extra("system", `[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"5m"}}]`)})},
		{"system, a blank block of several", `{"system":[{"type":"text","text":"a"},{"type":"text","text":""}]}`, buffered(llm.Request{System: llm.SystemText("a"), Extra: extra("system", `[{"type":"text","text":"a"},{"type":"text","text":""}]`)})},
		{"system, a mark on a blank block", `{"system":[{"type":"text","text":"","cache_control":{"type":"ephemeral"}}]}`, buffered(llm.Request{System: marked(""), Extra: extra("system", `[{"type":"text","text":"","cache_control":{"type":"ephemeral"}}]`)})},
		{"system, an empty block", `{"system":[{"type":"text","text":""}]}`, buffered(llm.Request{})},
		{"system, another block", `{"system":[{"type":"novel"}]}`, buffered(llm.Request{Extra: extra("system", `[{"type":"novel"}]`)})},
		{"tools", `{"tools":[{"name":"a","description":"d","input_schema":{"type": "object"},"strict":true,"type":"custom","cache_control":null},{"name":"b","type":null,"strict":null,"description":null}]}`,
			buffered(llm.Request{Tools: []llm.Tool{{Name: "a", Description: "d", Parameters: raw(`{"type":"object"}`), Strict: new(true)}, {Name: "b"}}})},
		{"tools of the provider", `{"tools":[{"name":"a"},{"type":"web_search_20250305","name":"web_search"}]}`,
			buffered(llm.Request{Tools: []llm.Tool{{Name: "a"}}, Extra: extra("tools", `[{"name":"a"},{"type":"web_search_20250305","name":"web_search"}]`)})},
		{"tools with more", `{"tools":[{"defer_loading":true,"cache_control":null,"name":"a"},{"name":"b"}]}`,
			buffered(llm.Request{Tools: []llm.Tool{{Name: "a"}, {Name: "b"}}, Extra: extra("tools", `[{"defer_loading":true,"cache_control":null,"name":"a"},{"name":"b"}]`)})},
		{"choice", `{"tool_choice":{"type":"any","disable_parallel_tool_use":true}}`, buffered(llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}, Settings: llm.Settings{ParallelToolCalls: new(false)}})},
		{"choice, one tool", `{"tool_choice":{"name":"f","disable_parallel_tool_use":null,"type":"tool"}}`, buffered(llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}})},
		{"choice, none", `{"tool_choice":{"type":"none"}}`, buffered(llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}})},
		{"choice, auto", `{"tool_choice":{"type":"auto","disable_parallel_tool_use":false}}`, buffered(llm.Request{Settings: llm.Settings{ParallelToolCalls: new(true)}})},
		{"choice, novel", `{"tool_choice":{"type":"novel"}}`, buffered(llm.Request{Extra: extra("tool_choice", `{"type":"novel"}`)})},
		{"choice, with more", `{"tool_choice":{"type":"any","x":1}}`, buffered(llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}, Extra: extra("tool_choice", `{"type":"any","x":1}`)})},
		{"output", `{"output_config":{"effort":"low","format":{"schema":{"a": 1},"type":"json_schema"},"task_budget":null}}`, buffered(llm.Request{Settings: llm.Settings{ReasoningEffort: "low", OutputSchema: raw(`{"a":1}`)}})},
		{"output without a format", `{"output_config":{"format":null}}`, buffered(llm.Request{})},
		{"output, novel", `{"output_config":{"format":{"type":"grammar","schema":{}}}}`, buffered(llm.Request{Extra: extra("output_config", `{"format":{"type":"grammar","schema":{}}}`)})},
		{"output, a format with more", `{"output_config":{"format":{"type":"json_schema","schema":{},"name":"n"},"effort":"low"}}`,
			buffered(llm.Request{Settings: llm.Settings{ReasoningEffort: "low", OutputSchema: raw(`{}`)}, Extra: extra("output_config", `{"format":{"type":"json_schema","schema":{},"name":"n"},"effort":"low"}`)})},
		{"output, with more", `{"output_config":{"task_budget":{"total":1}}}`, buffered(llm.Request{Extra: extra("output_config", `{"task_budget":{"total":1}}`)})},
		{"texts", `{"messages":[{"content":"hi","role":"user"},{"role":"assistant","content":""},{"role":"user","content":null},{"role":"system","content":"s","x":1,"y":null}]}`,
			buffered(llm.Request{Messages: []llm.Message{llm.User("hi"), {Role: llm.RoleAssistant}, {Role: llm.RoleUser}, {Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "s"}}, Opaque: raw(`{"anthropic":{"x":1}}`)}}})},
		{"results among other blocks", `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"g","input":{}}]},` +
			`{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"b","content":"B","is_error":true},{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"y"},{"type":"tool_result","tool_use_id":"z","is_error":null,"content":[]}]}]}`,
			buffered(llm.Request{Messages: []llm.Message{
				llm.Assistant(call("a", "f", "{}"), call("b", "g", "{}")), llm.User("x"),
				llm.ToolResults(llm.ToolResult{ID: "b", Name: "g", IsError: true, Content: []llm.Part{llm.Text{Text: "B"}}}, llm.ToolResult{ID: "a", Name: "f"}),
				llm.User("y"), llm.ToolResults(llm.ToolResult{ID: "z"}),
			}})},
		{"blocks", `{"messages":[{"role":"user","content":[{"type":"text","text":null,"cache_control":null},{"citations":{"enabled":true},"source":{"media_type":"application/pdf","data":"AQ==","type":"base64"},"title":"t","context":null,"type":"document"},` +
			`{"type":"document","source":{"type":"content","content":[]}},{"type":"image","title":"t","source":{"type":"url","url":"u"}},{"type":"image","source":{"type":"url","url":"u","x":1}},{"type":"image","source":{"type":"text","media_type":"text/plain","data":"d"}},` +
			`{"type":"document","source":{"type":"text","media_type":"text/html","data":"d"}},{"type":"document"},{"x":1}]}]}`,
			buffered(llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
				llm.Text{}, llm.Media{MediaType: "application/pdf", Name: "t", Data: []byte{1}, Opaque: raw(`{"citations":{"enabled":true}}`)},
				llm.Unknown{Kind: "document", Raw: raw(`{"type":"document","source":{"type":"content","content":[]}}`)},
				llm.Media{MediaType: "image/*", URL: "u", Opaque: raw(`{"anthropic":{"title":"t"}}`)},
				llm.Unknown{Kind: "image", Raw: raw(`{"type":"image","source":{"type":"url","url":"u","x":1}}`)},
				llm.Unknown{Kind: "image", Raw: raw(`{"type":"image","source":{"type":"text","media_type":"text/plain","data":"d"}}`)},
				llm.Unknown{Kind: "document", Raw: raw(`{"type":"document","source":{"type":"text","media_type":"text/html","data":"d"}}`)},
				llm.Unknown{Kind: "document", Raw: raw(`{"type":"document"}`)},
				llm.Unknown{Raw: raw(`{"x":1}`)},
			}}}})},
		{"calls", `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f"},{"type":"tool_use","id":"b","name":"f","input":null,"caller":null},{"type":"tool_use","id":"c","name":"f","input":"x","caller":{"type":"direct","y":1}},` +
			`{"type":"tool_use","id":"d","name":"f","input":[1, 2],"caller":{ "type" : "direct" },"cache_control":{}},{"type":"tool_use","id":"e","name":"f","caller":"direct"},{"type":"thinking","thinking":"t"},{"type":"text","text":"x","citations":[]}]}]}`,
			buffered(llm.Request{Messages: []llm.Message{llm.Assistant(call("a", "f", ""), call("b", "f", ""), llm.ToolCall{ID: "c", Name: "f", Arguments: "x", Opaque: raw(`{"caller":{"type":"direct","y":1}}`)},
				llm.ToolCall{ID: "d", Name: "f", Arguments: "[1, 2]", Opaque: raw(`{"cache_control":{}}`)}, llm.ToolCall{ID: "e", Name: "f", Opaque: raw(`{"caller":"direct"}`)},
				llm.Reasoning{Text: "t"}, llm.Text{Text: "x"})}})},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decodeRequest(c.body)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDecodeRequestErrors(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{``, "the request body: expected an object (byte 1)"},
		{`[]`, "the request body: expected an object (byte 1)"},
		{"\xff", "the request body is not UTF-8"},
		{`{} x`, "the request body: something follows the JSON value (byte 4)"},
		{`{"model":5}`, "the request body: expected a string at model (byte 10)"},
		{`{"messages":{}}`, "the request body: expected an array at messages (byte 13)"},
		{`{"messages":[{"role":"tool"}]}`, "the request body: unknown role: want user or assistant, got tool at messages[0].role (byte 28)"},
		{`{"messages":[{"role":null}]}`, "the request body: expected a string at messages[0].role (byte 22)"},
		{`{"messages":[{"role":"user","content":[{"type":"image","source":null}]}]}`, "the request body: expected an object at messages[0].content[0].source (byte 65)"},
		{`{"messages":[5]}`, "the request body: expected an object at messages[0] (byte 14)"},
		{`{"messages":[{"role":"user","content":[5]}]}`, "the request body: expected an object at messages[0].content[0] (byte 40)"},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":5}]}]}`, "the request body: expected a string at messages[0].content[0].text (byte 62)"},
		{`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"?"}}]}]}`, "the request body: the data of this image is not base64 at messages[0].content[0] (byte 94)"},
		{`{"messages":[{"role":"user","content":[{"type":"image","source":5}]}]}`, "the request body: expected an object at messages[0].content[0].source (byte 65)"},
		{`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"tool_result"}]}]}]}`, "the request body: a tool_result must not contain a tool_result at messages[0].content[0].content[0] (byte 73)"},
		{`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[5]}]}]}`, "the request body: expected an object at messages[0].content[0].content[0] (byte 73)"},
		{`{"messages":[{"role":"user","content":[{"type":"novel","x":`, "the request body: the text ends too early at messages[0].content[0].x (byte 60)"},
		{`{"max_tokens":1.5}`, "the request body: expected a whole number, not 1.5 at max_tokens (byte 15)"},
		{`{"tools":[5]}`, "the request body: expected an object at tools[0] (byte 11)"},
		{`{"stop_sequences":[5]}`, "the request body: expected a string at stop_sequences[0] (byte 20)"},
		{`{"stream":1}`, "the request body: expected true or false at stream (byte 11)"},
		{`{"tool_choice":"auto"}`, "the request body: expected an object at tool_choice (byte 16)"},
	} {
		got, err := decodeRequest(c.body)
		if err == nil || err.Error() != c.want || got != nil {
			t.Errorf("%s:\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
}
