package chat_test

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
)

// chatBody is what chat asks for req.
func chatBody(t *testing.T, chat chat.Protocol, req *llm.Request) string {
	t.Helper()
	out, err := chat.EncodeRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&protocol.Request{Path: "/chat/completions", Body: out.Body}, out); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if !json.Valid(out.Body) {
		t.Errorf("not JSON: %s", out.Body)
	}
	return string(out.Body)
}

func chatUser(p ...llm.Part) []llm.Message { return []llm.Message{{Role: llm.RoleUser, Parts: p}} }

func chatTools(names ...string) (tools []llm.Tool) {
	for _, n := range names {
		tools = append(tools, llm.Tool{Name: n})
	}
	return tools
}

// chatBodies are requests and their bodies, which are read back as the requests
// except for the differences in back.
var chatBodies = []struct {
	name string
	chat chat.Protocol
	req  llm.Request
	want string
	back *llm.Request // nil if it is req
}{
	{
		name: "system and user",
		req:  llm.Request{Model: "m", System: llm.SystemText("Be brief."), Messages: []llm.Message{llm.User("Hi \"you\" <é>")}},
		want: `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi \"you\" <é>"}],"stream":true,"stream_options":{"include_usage":true}}`,
	},
	{
		name: "developer and max_tokens",
		chat: chat.Protocol{Developer: true, MaxTokens: true},
		req:  llm.Request{System: llm.SystemText("Be brief."), Messages: []llm.Message{llm.User("Hi"), {Role: llm.RoleSystem, Parts: chatParts(chatText("Now."))}}, ResponseMode: llm.NonStreaming, Settings: llm.Settings{MaxTokens: 9}},
		want: `{"messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi"},{"role":"developer","content":"Now."}],"max_tokens":9}`,
	},
	{
		name: "roles of their own",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			{Role: llm.RoleSystem, Parts: chatParts(chatText("a")), Opaque: chatOpaque(`{"role":"developer"}`)},
			{Role: llm.RoleSystem, Parts: chatParts(chatText("b")), Opaque: chatOpaque(`{"cache_control":{"type":"ephemeral"}}`)},
			{Role: "function", Parts: chatParts(chatText("c")), Opaque: chatOpaque(`{"name":"f"}`)},
		}},
		want: `{"messages":[{"role":"developer","content":"a"},{"role":"system","content":"b","cache_control":{"type":"ephemeral"}},{"role":"function","content":"c","name":"f"}]}`,
	},
	{
		name: "settings",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.User("Hi")}, Tools: chatTools("f"), ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}, Settings: llm.Settings{
			MaxTokens: 100, Temperature: new(0.5), TopP: new(1e-7), Seed: new(int64(-3)), StopSequences: []string{"a", "b"}, ParallelToolCalls: new(false), ReasoningEffort: "low", OutputSchema: json.RawMessage(`{"type":"object"}`),
		}},
		want: `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":false,"tool_choice":"required",` +
			`"max_completion_tokens":100,"temperature":0.5,"top_p":1e-07,"seed":-3,"stop":["a","b"],"reasoning_effort":"low",` +
			`"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":false,"schema":{"type":"object"}}}}`,
	},
	{
		name: "a strict schema",
		req:  llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.User("Hi")}, Settings: llm.Settings{OutputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}},
		want: `{"messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object","properties":{},"additionalProperties":false}}}}`,
	},
	{
		name: "tools",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.User("Hi")}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "g"}, Settings: llm.Settings{ParallelToolCalls: new(true)}, Tools: []llm.Tool{
			{Name: "f", Description: "does", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{}}}`), Strict: new(true)},
			{Name: "g", Strict: new(false)},
		}},
		want: `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","description":"does","parameters":{"type":"object","properties":{"a":{}}},"strict":true}},` +
			`{"type":"function","function":{"name":"g","strict":false}}],"parallel_tool_calls":true,"tool_choice":{"type":"function","function":{"name":"g"}}}`,
	},
	{
		name: "schemas without required members (SO-11)",
		req: llm.Request{ResponseMode: llm.NonStreaming, Tools: []llm.Tool{
			{Name: "a", Parameters: json.RawMessage(`{ }`)}, {Name: "b", Parameters: json.RawMessage(`{"type":"object"}`)},
			{Name: "c", Parameters: json.RawMessage(`{"properties":{}}`)}, {Name: "d", Parameters: json.RawMessage(`{"type":"string"}`)}, {Name: "e", Parameters: json.RawMessage(`true`)},
			{Name: "f", Parameters: json.RawMessage(`{"title":"T"}`)},
		}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}},
		want: `{"messages":[],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{}}}},` +
			`{"type":"function","function":{"name":"c","parameters":{"properties":{},"type":"object"}}},{"type":"function","function":{"name":"d","parameters":{"type":"string"}}},{"type":"function","function":{"name":"e","parameters":true}},` +
			`{"type":"function","function":{"name":"f","parameters":{"title":"T","type":"object","properties":{}}}}],"tool_choice":"none"}`,
		back: &llm.Request{ResponseMode: llm.NonStreaming, Tools: []llm.Tool{
			{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}, {Name: "b", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
			{Name: "c", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)}, {Name: "d", Parameters: json.RawMessage(`{"type":"string"}`)}, {Name: "e", Parameters: json.RawMessage(`true`)},
			{Name: "f", Parameters: json.RawMessage(`{"title":"T","type":"object","properties":{}}`)},
		}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}},
	},
	{
		name: "nothing of tools without tools (SO-12, SO-18)",
		req:  llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.User("Hi")}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}, Settings: llm.Settings{ParallelToolCalls: new(true)}},
		want: `{"messages":[{"role":"user","content":"Hi"}]}`,
		back: &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.User("Hi")}},
	},
	{
		name: "a step with calls",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.User("Hi"),
			llm.Assistant(chatText("Let me see."), chatCallOf("call_1", "f", `{"a":1}`), llm.ToolCall{ID: "call_2", Name: "g", Arguments: "", Opaque: chatOpaque(`{"extra_content":{"google":{"thought_signature":"s"}}}`)}),
			llm.ToolResults(llm.ToolResult{ID: "call_1", Name: "f", Content: chatParts(chatText("one"))}, llm.ToolResult{ID: "call_2", Name: "g", Content: chatParts(chatText("two"), chatText("three")), Opaque: chatOpaque(`{"cache_control":{}}`)}),
			llm.Assistant(chatText("Done."), llm.Text{Text: "Not that.", Refusal: true}),
			llm.Assistant(chatCallOf("call_3", "f", "rubbish")),
			llm.ToolResults(llm.ToolResult{ID: "call_3", Name: "f"}),
		}},
		want: `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},` +
			`{"id":"call_2","type":"function","function":{"name":"g","arguments":""},"extra_content":{"google":{"thought_signature":"s"}}}]},` +
			`{"role":"tool","tool_call_id":"call_1","content":"one"},{"role":"tool","tool_call_id":"call_2","content":[{"type":"text","text":"two"},{"type":"text","text":"three"}],"cache_control":{}},` +
			`{"role":"assistant","content":"Done.","refusal":"Not that."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_3","type":"function","function":{"name":"f","arguments":"rubbish"}}]},{"role":"tool","tool_call_id":"call_3","content":""}]}`,
	},
	{
		name: "assistant texts",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.Assistant(chatText("a"), chatText("b")),
			llm.Assistant(llm.Text{Text: "no", Refusal: true}),
			llm.Assistant(llm.Text{Text: "no", Refusal: true}, chatText("a")),
			llm.Assistant(llm.Text{Text: "no", Refusal: true}, llm.Text{Text: "never", Refusal: true}),
			llm.Assistant(llm.Text{Text: "a", Opaque: chatOpaque(`{"cache_control":{"type":"ephemeral"}}`)}),
			llm.Assistant(llm.Unknown{Kind: "x", Raw: chatOpaque(`{"type":"x","x":[1]}`)}),
		}},
		want: `{"messages":[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":"","refusal":"no"},` +
			`{"role":"assistant","content":[{"type":"refusal","refusal":"no"},{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"refusal","refusal":"no"},{"type":"refusal","refusal":"never"}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"x","x":[1]}]}]}`,
	},
	{
		name: "reasoning goes back where it came from (QO-29)",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.Assistant(llm.Reasoning{Text: "a", Opaque: chatOpaque(`{"field":"reasoning_content"}`)}, chatText("t"), chatCallOf("1", "f", "{}")),
			llm.Assistant(llm.Reasoning{Text: "a", Opaque: chatOpaque(`{"field":"reasoning","reasoning_details":[{"type":"reasoning.text","text":"a","signature":"s"}]}`)}, chatCallOf("2", "f", "{}")),
			llm.Assistant(llm.Reasoning{Text: "a", Opaque: chatOpaque(`{"reasoning_details":[{"type":"reasoning.text","text":"a"},{"type":"reasoning.encrypted","data":"d"}]}`)}, chatText("t")),
			llm.Assistant(llm.Reasoning{Text: "a", Opaque: chatOpaque(`{"field":"content"}`)}, chatText("t"), llm.Reasoning{Text: "b", Opaque: chatOpaque(`{"field":"content"}`)}),
			llm.Assistant(llm.Reasoning{Opaque: chatOpaque(`{"field":"reasoning_content"}`)}, chatCallOf("3", "f", "{}")),
		}},
		want: `{"messages":[{"role":"assistant","content":"t","reasoning_content":"a","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"assistant","content":null,"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","signature":"s"}],"tool_calls":[{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"assistant","content":"t","reasoning_details":[{"type":"reasoning.text","text":"a"},{"type":"reasoning.encrypted","data":"d"}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]},{"type":"text","text":"t"},{"type":"thinking","thinking":[{"type":"text","text":"b"}]}]},` +
			`{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[{"id":"3","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`,
	},
	{
		name: "reasoning in deltas, and that of others",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.Assistant(llm.Reasoning{Text: "a", Opaque: chatOpaque(`{"field":"reasoning","reasoning_details":[1]}`)}, chatText("t"), llm.Reasoning{Text: "b", Opaque: chatOpaque(`{"field":"reasoning","reasoning_details":[2]}`)}),
			llm.Assistant(llm.Reasoning{Text: "x"}, llm.Reasoning{Text: "y", Opaque: chatOpaque(`{"signature":"s"}`)}, llm.Reasoning{Text: "z", Opaque: chatOpaque(`{"field":"other"}`)}, chatText("t")),
		}},
		want: `{"messages":[{"role":"assistant","content":"t","reasoning":"ab","reasoning_details":[1,2]},{"role":"assistant","content":"t"}]}`,
		back: &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.Assistant(llm.Reasoning{Text: "ab", Opaque: chatOpaque(`{"field":"reasoning","reasoning_details":[1,2]}`)}, chatText("t")),
			llm.Assistant(chatText("t")),
		}},
	},
	{
		name: "media",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: chatUser(
			chatText("Look:"),
			llm.Media{MediaType: "image/png", Data: []byte("png")},
			llm.Media{MediaType: "image/*", URL: "https://example.org/a", Opaque: chatOpaque(`{"cache_control":{},"image_url":{"detail":"low"}}`)},
			llm.Media{MediaType: "audio/wav", Data: []byte("wav")},
			llm.Media{MediaType: "audio/mpeg", Data: []byte("mp3")},
			llm.Media{MediaType: "application/pdf", Name: "a.pdf", Data: []byte("%PDF")},
			llm.Unknown{Kind: "file", Raw: chatOpaque(`{"type":"file","file":{"file_id":"file-1"}}`)},
		)},
		want: `{"messages":[{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},` +
			`{"type":"image_url","image_url":{"url":"https://example.org/a","detail":"low"},"cache_control":{}},{"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}},` +
			`{"type":"input_audio","input_audio":{"data":"bXAz","format":"mp3"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}},{"type":"file","file":{"file_id":"file-1"}}]}]}`,
	},
	{
		name: "media by other names",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: chatUser(
			llm.Media{URL: "https://example.org/a"}, llm.Media{MediaType: "audio/x-wav", Data: []byte{}}, llm.Media{MediaType: "audio/mp3", Data: []byte("a")}, llm.Media{MediaType: "text/plain", Data: []byte("a")},
		)},
		want: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a"}},{"type":"input_audio","input_audio":{"data":"","format":"wav"}},` +
			`{"type":"input_audio","input_audio":{"data":"YQ==","format":"mp3"}},{"type":"file","file":{"filename":"file","file_data":"data:text/plain;base64,YQ=="}}]}]}`,
		back: &llm.Request{ResponseMode: llm.NonStreaming, Messages: chatUser(
			llm.Media{MediaType: "image/*", URL: "https://example.org/a"}, llm.Media{MediaType: "audio/wav", Data: []byte{}}, llm.Media{MediaType: "audio/mpeg", Data: []byte("a")}, llm.Media{MediaType: "text/plain", Name: "file", Data: []byte("a")},
		)},
	},
	{
		name: "empty texts are omitted, opaque members of others too",
		req: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: chatParts(chatText(""), chatText("a"), chatText(""))},
			{Role: llm.RoleUser, Parts: chatParts(chatText("")), Opaque: chatOpaque(`{"name":"bob","container":"c","role":"x","content":1}`)},
			{Role: llm.RoleUser, Parts: chatParts(llm.Text{Opaque: chatOpaque(`{"signature":"s"}`)}, chatText(""))},
			{Role: llm.RoleUser, Parts: chatParts(chatText(""), llm.Text{Text: "b", Opaque: chatOpaque(`{"chat:k":1}`)}, chatText(""))},
			llm.ToolResults(llm.ToolResult{ID: "1", IsError: true, Content: chatParts(chatText("bad"))}, llm.ToolResult{ID: "2", Name: "f", Opaque: chatOpaque(`[1]`)}),
			{Role: llm.RoleTool, Parts: chatParts(llm.ToolResult{ID: "3"}), Opaque: chatOpaque(`{"cache_control":{}}`)},
			llm.Assistant(chatText(""), llm.ToolCall{ID: "4", Name: "f", Opaque: chatOpaque(`{"id":"fc_1","status":"completed","thoughtSignature":"s","index":0,"type":"function","function":{"name":"x","k":1}}`)}),
		}},
		want: `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"","name":"bob"},{"role":"user","content":""},{"role":"user","content":[{"type":"text","text":"b","k":1}]},` +
			`{"role":"tool","tool_call_id":"1","content":"bad"},{"role":"tool","tool_call_id":"2","content":""},{"role":"tool","tool_call_id":"3","content":"","cache_control":{}},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"4","type":"function","function":{"name":"f","arguments":"","k":1}}]}]}`,
		back: &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.User("a"),
			{Role: llm.RoleUser, Parts: chatParts(chatText("")), Opaque: chatOpaque(`{"name":"bob"}`)},
			{Role: llm.RoleUser, Parts: chatParts(chatText(""))},
			{Role: llm.RoleUser, Parts: chatParts(llm.Text{Text: "b", Opaque: chatOpaque(`{"chat:k":1}`)})},
			llm.ToolResults(llm.ToolResult{ID: "1", Content: chatParts(chatText("bad"))}, llm.ToolResult{ID: "2"}, llm.ToolResult{ID: "3", Opaque: chatOpaque(`{"cache_control":{}}`)}),
			llm.Assistant(llm.ToolCall{ID: "4", Name: "f", Opaque: chatOpaque(`{"function":{"k":1}}`)}),
		}},
	},
	{
		name: "names and ids that OpenAI refuses (SO-09, SO-10)",
		req: llm.Request{ResponseMode: llm.NonStreaming, Tools: chatTools("a.b"), Messages: []llm.Message{
			llm.Assistant(
				chatCallOf("1", "", "{}"), chatCallOf("2", "functions.f é", "{}"), chatCallOf("3", "a.b", "{}"), chatCallOf("4", "azAZ09_-", "{}"),
				chatCallOf(strings.Repeat("i", 40), "f", "{}"), chatCallOf(strings.Repeat("i", 41), "f", "{}"),
			),
			llm.ToolResults(llm.ToolResult{ID: strings.Repeat("i", 41)}),
		}},
		want: `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"unnamed_tool","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"functions_f__","arguments":"{}"}},` +
			`{"id":"3","type":"function","function":{"name":"a.b","arguments":"{}"}},{"id":"4","type":"function","function":{"name":"azAZ09_-","arguments":"{}"}},{"id":"iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii","type":"function","function":{"name":"f","arguments":"{}"}},` +
			`{"id":"iiiiiiiiiiiiiiiiiiiiiii_1a85197c153f039c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"iiiiiiiiiiiiiiiiiiiiiii_1a85197c153f039c","content":""}],"tools":[{"type":"function","function":{"name":"a.b"}}]}`,
		back: &llm.Request{ResponseMode: llm.NonStreaming, Tools: chatTools("a.b"), Messages: []llm.Message{
			llm.Assistant(
				chatCallOf("1", "unnamed_tool", "{}"), chatCallOf("2", "functions_f__", "{}"), chatCallOf("3", "a.b", "{}"), chatCallOf("4", "azAZ09_-", "{}"),
				chatCallOf(strings.Repeat("i", 40), "f", "{}"), chatCallOf(strings.Repeat("i", 23)+"_1a85197c153f039c", "f", "{}"),
			),
			llm.ToolResults(llm.ToolResult{ID: strings.Repeat("i", 23) + "_1a85197c153f039c", Name: "f"}),
		}},
	},
	{
		name: "long ids for providers that send them",
		chat: chat.Protocol{LongIDs: true},
		req:  llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.ToolResults(llm.ToolResult{ID: strings.Repeat("i", 41)})}},
		want: `{"messages":[{"role":"tool","tool_call_id":"` + strings.Repeat("i", 41) + `","content":""}]}`,
	},
	{
		name: "a custom tool's call",
		req:  llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.Assistant(llm.ToolCall{ID: "1", Name: "sh", Arguments: "ls -l", Opaque: chatOpaque(`{"type":"custom"}`)})}},
		want: `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"custom","custom":{"name":"sh","input":"ls -l"}}]}]}`,
	},
	{
		name: "lone surrogates and bytes that are not UTF-8 (QT-09)",
		req: llm.Request{
			ResponseMode: llm.NonStreaming,
			Messages:     []llm.Message{llm.User("a\xffb"), llm.Assistant(chatCallOf("1", "f", `{"a":"\ud83d","b":"\ud83d\ude00","c":"\\ud83d"`+"\xff"))},
			Extra:        map[string]json.RawMessage{"x": json.RawMessage(`"\udc00 \ud83d\ude00"`)},
		},
		want: `{"messages":[{"role":"user","content":"a` + "\ufffd" + `b"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":\"\\ufffd\",\"b\":\"\\ud83d\\ude00\",\"c\":\"\\\\ud83d\"` + "\ufffd" + `"}}]}],"x":"\ufffd \ud83d\ude00"}`,
		back: &llm.Request{
			ResponseMode: llm.NonStreaming,
			Messages:     []llm.Message{llm.User("a\ufffdb"), llm.Assistant(chatCallOf("1", "f", `{"a":"\ufffd","b":"\ud83d\ude00","c":"\\ud83d"`+"\ufffd"))},
			Extra:        map[string]json.RawMessage{"x": json.RawMessage(`"\ufffd \ud83d\ude00"`)},
		},
	},
	{
		name: "extra wins, null leaves out",
		req: llm.Request{
			Model: "m", System: llm.SystemText("s"), Messages: []llm.Message{llm.User("Hi")}, Tools: chatTools("f"), ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired},
			Settings: llm.Settings{MaxTokens: 1, Temperature: new(1.0), TopP: new(1.0), Seed: new(int64(1)), StopSequences: []string{"a"}, ReasoningEffort: "low", ParallelToolCalls: new(true), OutputSchema: json.RawMessage(`{}`)},
			Extra: map[string]json.RawMessage{
				"model": json.RawMessage(`"n"`), "messages": json.RawMessage(`[ ]`), "tools": json.RawMessage(`[1]`), "tool_choice": json.RawMessage(`2`), "parallel_tool_calls": json.RawMessage(`3`), "max_tokens": json.RawMessage(`4`),
				"temperature": json.RawMessage(`5`), "top_p": json.RawMessage(`6`), "seed": json.RawMessage(`7`), "stop": json.RawMessage(`8`), "reasoning_effort": json.RawMessage(`9`), "response_format": json.RawMessage(`10`),
				"stream": json.RawMessage(`11`), "stream_options": json.RawMessage(`null`), "a": json.RawMessage(`{"b": 1}`),
			},
		},
		want: `{"a":{"b":1},"max_tokens":4,"messages":[],"model":"n","parallel_tool_calls":3,"reasoning_effort":9,"response_format":10,"seed":7,"stop":8,"stream":11,"temperature":5,"tool_choice":2,"tools":[1],"top_p":6}`,
		back: &llm.Request{}, // not to be read
	},
	{
		name: "the bound of the output by either name in extra",
		req: llm.Request{
			ResponseMode: llm.NonStreaming, Settings: llm.Settings{MaxTokens: 1}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired},
			Extra: map[string]json.RawMessage{"max_completion_tokens": json.RawMessage(`4`), "tools": json.RawMessage(`[1]`)},
		},
		want: `{"messages":[],"tool_choice":"required","max_completion_tokens":4,"tools":[1]}`,
		back: &llm.Request{}, // not to be read
	},
}

func TestChatBodies(t *testing.T) {
	for _, c := range chatBodies {
		t.Run(c.name, func(t *testing.T) {
			body := chatBody(t, c.chat, &c.req)
			if diff := cmp.Diff(c.want, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			back := c.back
			if back == nil {
				back = &c.req
			}
			if back.Messages == nil && back.Tools == nil {
				return
			}
			got, err := c.chat.DecodeRequest("", []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(back, got); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if again := chatBody(t, c.chat, got); again != body {
				t.Errorf("written again:\n%s\nwant:\n%s", again, body)
			}
		})
	}
}

// TestChatStrict has output schemas, and whether they are sent as strict.
func TestChatStrict(t *testing.T) {
	const object, closed = `"type":"object"`, `"additionalProperties":false`
	for schema, want := range map[string]bool{
		`{` + object + `,` + closed + `}`: true,
		`{"properties":{"a":{"type":"string","description":"d","enum":["x"]}},"required":["b","a"],` + closed + `,` + object + `}`: true,
		`{` + object + `,"properties":{"a":{"type":"string"}},` + closed + `}`:                                                     false,
		`{` + object + `,"properties":{"a":{"type":"string"}},"required":["a"]}`:                                                   false,
		`{` + object + `,"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`:                       false,
		`{` + object + `,"properties":{"a":{"type":"string","default":"x"}},"required":["a"],` + closed + `}`:                      false,
		`{` + object + `,"properties":{"a":{"type":["object","null"]}},"required":["a"],` + closed + `}`:                           false,
		`{` + object + `,"properties":{"a":{"type":["object","null"],` + closed + `}},"required":["a"],` + closed + `}`:            true,
		`{` + object + `,"properties":{"a":{"items":{"type":"object"}}},"required":["a"],` + closed + `}`:                          false,
		`{` + object + `,"properties":{"a":{"type":"array","items":{"type":"string"}}},"required":["a"],` + closed + `}`:           true,
		`{` + object + `,"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],` + closed + `}`:        true,
		`{` + object + `,"properties":{"a":{"anyOf":[{"type":"string"},{"type":"object"}]}},"required":["a"],` + closed + `}`:      false,
		`{` + object + `,"properties":{"a":{"anyOf":{}}},"required":["a"],` + closed + `}`:                                         false,
		`{` + object + `,"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}},"required":["a"],` + closed + `}`: true,
		`{` + object + `,"$defs":{"b":{"not":{}}},` + closed + `}`:                                                                 false,
		`{` + object + `,"definitions":{"b":{"type":"object"}},` + closed + `}`:                                                    false,
		`{` + object + `,"properties":[],` + closed + `}`:                                                                          false,
		`{` + object + `,"properties":{"a":true},"required":["a"],` + closed + `}`:                                                 false,
		`{` + object + `,"required":1,` + closed + `}`:                                                                             false,
		`{"anyOf":[{"type":"string"}],` + object + `,` + closed + `}`:                                                              false,
		`{"type":"string"}`: false,
		`{}`:                false,
		`true`:              false,
	} {
		body := chatBody(t, chat.Protocol{}, &llm.Request{Settings: llm.Settings{OutputSchema: json.RawMessage(schema)}})
		if got := strings.Contains(body, `"name":"answer","strict":true`); got != want {
			t.Errorf("%s is strict: %v, want %v", schema, got, want)
		}
	}
}

// TestChatSurrogates has arguments with escapes of all kinds.
func TestChatSurrogates(t *testing.T) {
	for args, want := range map[string]string{
		`\ud83d`:              `\ufffd`,
		`\ud83d\ud83d`:        `\ufffd\ufffd`,
		`\ud83d\ud83d\ude00`:  `\ufffd\ud83d\ude00`,
		`\uD83D\uDE00`:        `\uD83D\uDE00`,
		`\udbff\udfff`:        `\udbff\udfff`,
		`\uDBFFx\uDC00`:       `\ufffdx\ufffd`,
		`\udc00\ud800`:        `\ufffd\ufffd`,
		`\ud7ff\ue000 \u00d8`: `\ud7ff\ue000 \u00d8`,
		`\\ud83d`:             `\\ud83d`,
		`\\\ud83d`:            `\\\ufffd`,
		`\ud83`:               `\ud83`,
		`\ud83g`:              `\ud83g`,
		`\ud8g3`:              `\ud8g3`,
		`\ud83d\`:             `\ufffd\`,
		`\ud83d\n`:            `\ufffd\n`,
		`\nd83d`:              `\nd83d`,
		`a\`:                  `a\`,
	} {
		body := chatBody(t, chat.Protocol{}, &llm.Request{Messages: []llm.Message{llm.Assistant(chatCallOf("1", "f", args))}})
		written, _ := json.Marshal(want)
		if !strings.Contains(body, `"arguments":`+string(written)) {
			t.Errorf("%s: got %s, want %s", args, body, written)
		}
	}
}

func TestChatUnsupported(t *testing.T) {
	user := func(p llm.Part) *llm.Request { return &llm.Request{Messages: chatUser(chatText("a"), p)} }
	assistant := func(p llm.Part) *llm.Request {
		return &llm.Request{Messages: []llm.Message{llm.User("Hi"), llm.Assistant(chatText("a"), p)}}
	}
	tool := func(p llm.Part) *llm.Request {
		return &llm.Request{Messages: []llm.Message{{Role: llm.RoleTool, Parts: chatParts(p)}}}
	}
	image := llm.Media{MediaType: "image/png", Data: []byte("a")}
	for want, req := range map[string]*llm.Request{
		"messages[0].parts[1]: a Chat Completions user message cannot contain a tool call":                                                     user(llm.ToolCall{}),
		"messages[0].parts[1]: a Chat Completions user message cannot contain a call that the provider ran":                                    user(llm.ToolCall{ProviderExecuted: true}),
		"messages[0].parts[1]: a Chat Completions user message cannot contain a tool result":                                                   user(llm.ToolResult{}),
		"messages[0].parts[1]: a Chat Completions user message cannot contain reasoning":                                                       user(llm.Reasoning{}),
		"messages[0].parts[1]: image/png has neither data nor a URL":                                                                           user(llm.Media{MediaType: "image/png", Digest: "sha256:00", Size: 3}),
		"messages[0].parts[1]: media without a type has neither data nor a URL":                                                                user(llm.Media{}),
		"messages[0].parts[1]: missing media type: set Media.MediaType":                                                                        user(llm.Media{Data: []byte("a")}),
		"messages[0].parts[1]: a Chat Completions message accepts application/pdf by its data, not by a URL":                                   user(llm.Media{MediaType: "application/pdf", URL: "https://example.org"}),
		"messages[0].parts[1]: a Chat Completions message accepts audio as audio/wav or audio/mpeg, not audio/x":                               user(llm.Media{MediaType: "audio/x", Data: []byte("a")}),
		"messages[1].parts[1]: a Chat Completions assistant message cannot contain image/png":                                                  assistant(image),
		`messages[0].parts[1]: the part of the kind "x" belongs to another protocol and is unknown to openai-chat: remove it from the message`: user(llm.Unknown{Kind: "x", Raw: chatOpaque(`{"type":"x","y":1}`)}),
		`messages[1].parts[1]: the part of the kind "x" is not a JSON object: use the whole object`:                                            assistant(llm.Unknown{Kind: "x", Raw: chatOpaque(`[]`)}),
		"messages[0].parts[0]: a Chat Completions tool message contains only results, not text":                                                tool(chatText("a")),
		"messages[0].parts[0]: a Chat Completions tool message contains only results, not a part of the type x":                                tool(llm.Unknown{Kind: "x"}),
		"messages[0].parts[0].content[1]: a Chat Completions tool message contains only text, not image/png":                                   tool(llm.ToolResult{Content: chatParts(chatText("a"), image)}),
		"tools[1]: the parameters of g are not JSON: set a JSON Schema":                                                                        {Tools: []llm.Tool{{Name: "f"}, {Name: "g", Parameters: json.RawMessage(`{`)}}},
		"tool_choice: required requires tools: add a tool":                                                                                     {ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}},
		"tool_choice: tool:f requires tools: add a tool":                                                                                       {ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}},
		"settings.temperature: NaN is not a JSON number":                                                                                       {Settings: llm.Settings{Temperature: new(math.NaN())}},
		"settings.top_p: +Inf is not a JSON number":                                                                                            {Settings: llm.Settings{TopP: new(math.Inf(1))}},
		"settings.output_schema: not JSON: set a JSON Schema":                                                                                  {Settings: llm.Settings{OutputSchema: json.RawMessage(`{`)}},
		`extra.b: not JSON: set a JSON value`:                                                                                                  {Extra: map[string]json.RawMessage{"a": json.RawMessage(`1`), "b": json.RawMessage(``)}},
	} {
		_, err := chat.Protocol{}.EncodeRequest(req)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestChatKeepsTheKey checks that no error contains the key, although the provider quotes
// it.
func TestChatKeepsTheKey(t *testing.T) {
	const key = "sk-verysecretkey1234567890"
	for _, body := range []string{
		`{"error":{"message":"Incorrect API key provided: ` + key + `.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		`{"error":{"message":"Incorrect API key provided: sk-very****7890.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		"<p>" + key + "</p>",
	} {
		for _, status := range []int{200, 401} {
			client := protocol.Client{
				Protocol: chat.Protocol{}, BaseURL: openai.BaseURL, Authorize: openai.Key(key),
				HTTP: &http.Client{Transport: answering(func(req *http.Request) *http.Response {
					if req.Header.Get("Authorization") != "Bearer "+key || req.URL.String() != "https://api.openai.com/v1/chat/completions" {
						t.Errorf("requested %s with %v", req.URL, req.Header)
					}
					return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
				})},
			}
			_, err := llm.Collect(client.Stream(t.Context(), &llm.Request{}))
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "7890") {
				t.Errorf("%d: got %v", status, err)
			}
		}
	}
}

type answering func(*http.Request) *http.Response

func (f answering) RoundTrip(req *http.Request) (*http.Response, error) { return f(req), nil }

func TestChatName(t *testing.T) {
	if got := (chat.Protocol{}).Name(); got != "openai-chat" {
		t.Errorf("got %s", got)
	}
}

func TestChatKey(t *testing.T) {
	req, _ := http.NewRequest(http.MethodPost, openai.BaseURL, nil) //nolint:noctx // not sent
	if err := openai.Key("sk-1")(req); err != nil || req.Header.Get("Authorization") != "Bearer sk-1" {
		t.Errorf("got %v and %v", req.Header, err)
	}
	if err := openai.Key("")(req); err == nil {
		t.Error("got no error for the missing key")
	}
}

// said is the member of a request that has the conversation.
func said(t testing.TB, key string, messages ...llm.Message) string {
	t.Helper()
	out, err := chat.Protocol{}.EncodeRequest(&llm.Request{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(out.Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body[key])
}
