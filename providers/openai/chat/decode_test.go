package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
)

// chatSent are bodies as clients send them. Written again they mean the same, except
// for the differences in again.
var chatSent = []struct {
	name, body, again string
	want              llm.Request
}{
	{
		name:  "a message echoed by an official SDK",
		body:  `{"messages":[{"content":"Hi","role":"user","name":null},{"content":null,"role":"assistant","refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":[{"index":0,"id":"1","function":{"arguments":{"a": 1},"name":"f"},"type":"function"}]},{"role":"tool","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"u"}}],"tool_call_id":"1","name":"g"}],"model":"m","stream":false,"stop":"a","temperature":null}`,
		again: `{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}],"annotations":[]},{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"u"}}],"name":"g"}],"stop":["a"]}`,
		want: llm.Request{Model: "m", ResponseMode: llm.NonStreaming, Settings: llm.Settings{StopSequences: []string{"a"}}, Messages: []llm.Message{
			llm.User("Hi"),
			{Role: llm.RoleAssistant, Parts: chatParts(chatCallOf("1", "f", `{"a": 1}`)), Opaque: chatOpaque(`{"chat:annotations":[]}`)},
			llm.ToolResults(llm.ToolResult{ID: "1", Name: "f", Content: chatParts(chatText("x"), llm.Unknown{Kind: "image_url", Raw: chatOpaque(`{"type":"image_url","image_url":{"url":"u"}}`)}), Opaque: chatOpaque(`{"name":"g"}`)}),
		}},
	},
	{
		name: "a stream without usage, and other options",
		body: `{"messages":[],"stream":true}`,
		want: llm.Request{Extra: map[string]json.RawMessage{"stream_options": json.RawMessage(`null`)}},
	},
	{
		name: "options with more in them",
		body: `{"messages":[],"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}}`,
		want: llm.Request{Extra: map[string]json.RawMessage{"stream_options": json.RawMessage(`{"include_usage":true,"include_obfuscation":false}`)}},
	},
	{
		name:  "options as this codec writes them, spaced",
		body:  `{"stream_options": {"include_usage": true}, "stream":true,"messages":[]}`,
		again: `{"messages":[],"stream":true,"stream_options":{"include_usage":true}}`,
	},
	{
		name: "options without a stream",
		body: `{"messages":[],"stream_options":{"include_usage":true}}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Extra: map[string]json.RawMessage{"stream_options": json.RawMessage(`{"include_usage":true}`)}},
	},
	{
		name: "max_tokens is known and kept",
		body: `{"messages":[],"max_tokens":7}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Settings: llm.Settings{MaxTokens: 7}, Extra: map[string]json.RawMessage{"max_tokens": json.RawMessage(`7`)}},
	},
	{
		name: "both bounds",
		body: `{"messages":[],"max_completion_tokens":8,"max_tokens":7}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Settings: llm.Settings{MaxTokens: 8}, Extra: map[string]json.RawMessage{"max_tokens": json.RawMessage(`7`), "max_completion_tokens": json.RawMessage(`8`)}},
	},
	{
		name: "tools that are not functions",
		body: `{"messages":[],"tool_choice":{"type":"custom","custom":{"name":"sh"}},"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"sh"}}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Tools: chatTools("f"), Extra: map[string]json.RawMessage{
			"tools":       json.RawMessage(`[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"sh"}}]`),
			"tool_choice": json.RawMessage(`{"type":"custom","custom":{"name":"sh"}}`),
		}},
	},
	{
		name: "tools with more in them",
		body: `{"messages":[],"tools":[{"type":"function","function":{"name":"f","x":1}}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Tools: chatTools("f"), Extra: map[string]json.RawMessage{"tools": json.RawMessage(`[{"type":"function","function":{"name":"f","x":1}}]`)}},
	},
	{
		name: "tools with other members",
		body: `{"messages":[],"tools":[{"type":"function","function":{"name":"f"},"cache_control":{}},{"type":"function","function":{"name":"g"}}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Tools: chatTools("f", "g"), Extra: map[string]json.RawMessage{"tools": json.RawMessage(`[{"type":"function","function":{"name":"f"},"cache_control":{}},{"type":"function","function":{"name":"g"}}]`)}},
	},
	{
		name: "no tools, but what is asked of them",
		body: `{"messages":[],"tools":[],"tool_choice":"required","parallel_tool_calls":true}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Extra: map[string]json.RawMessage{"tools": json.RawMessage(`[]`), "tool_choice": json.RawMessage(`"required"`), "parallel_tool_calls": json.RawMessage(`true`)}},
	},
	{
		name:  "auto is the default",
		body:  `{"messages":[],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto","parallel_tool_calls":false}`,
		again: `{"messages":[],"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":false}`,
		want:  llm.Request{ResponseMode: llm.NonStreaming, Tools: chatTools("f"), Settings: llm.Settings{ParallelToolCalls: new(false)}},
	},
	{
		name: "an answer in JSON of any form",
		body: `{"messages":[],"response_format":{"type":"json_object"}}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Extra: map[string]json.RawMessage{"response_format": json.RawMessage(`{"type":"json_object"}`)}},
	},
	{
		name: "a schema with a name",
		body: `{"messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Settings: llm.Settings{OutputSchema: json.RawMessage(`{"type":"object"}`)}, Extra: map[string]json.RawMessage{"response_format": json.RawMessage(`{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}`)}},
	},
	{
		name:  "unknown values",
		body:  `{"messages":[],"n":2,"store":null,"metadata":{"a": "b"},"usage":{"include":true}}`,
		again: `{"messages":[],"metadata":{"a":"b"},"n":2,"usage":{"include":true}}`,
		want:  llm.Request{ResponseMode: llm.NonStreaming, Extra: map[string]json.RawMessage{"n": json.RawMessage(`2`), "metadata": json.RawMessage(`{"a":"b"}`), "usage": json.RawMessage(`{"include":true}`)}},
	},
	{
		name:  "a system prompt in parts, and others that are not the first",
		body:  `{"messages":[{"role":"system","content":[{"type":"text","text":"s"}]},{"role":"system","content":"t"},{"role":"system","content":""},{"role":"user","content":[]}]}`,
		again: `{"messages":[{"role":"system","content":"s"},{"role":"system","content":"t"},{"role":"system","content":""},{"role":"user","content":""}]}`,
		want:  llm.Request{System: llm.SystemText("s"), ResponseMode: llm.NonStreaming, Messages: []llm.Message{{Role: llm.RoleSystem, Parts: chatParts(chatText("t"))}, {Role: llm.RoleSystem, Parts: chatParts(chatText(""))}, {Role: llm.RoleUser, Parts: chatParts(chatText(""))}}},
	},
	{
		name: "an empty system prompt",
		body: `{"messages":[{"role":"system","content":""},{"role":"developer","content":"t"}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{{Role: llm.RoleSystem, Parts: chatParts(chatText(""))}, {Role: llm.RoleSystem, Parts: chatParts(chatText("t")), Opaque: chatOpaque(`{"role":"developer"}`)}}},
	},
	{
		name: "media that Media cannot represent",
		body: `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:image/png;base64,YQ==","filename":"a"}},{"type":"file","file":{"file_data":"YQ==","filename":"a"}},{"type":"input_audio","input_audio":{"data":"YQ==","format":"ogg"}},` +
			`{"type":"input_audio","input_audio":{"data":"?","format":"wav"}},{"type":"image_url","image_url":"u"},{"type":"video_url","video_url":{"url":"u"}},{"type":"file","file":{"file_data":"data:;base64,YQ==","filename":"a"}},{"type":"file","file":{"file_data":"data:audio/x;base64,YQ==","filename":"a"}},{"x":1}]}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Messages: chatUser(
			chatKept("file", `{"type":"file","file":{"file_data":"data:image/png;base64,YQ==","filename":"a"}}`), chatKept("file", `{"type":"file","file":{"file_data":"YQ==","filename":"a"}}`),
			chatKept("input_audio", `{"type":"input_audio","input_audio":{"data":"YQ==","format":"ogg"}}`), chatKept("input_audio", `{"type":"input_audio","input_audio":{"data":"?","format":"wav"}}`),
			chatKept("image_url", `{"type":"image_url","image_url":"u"}`), chatKept("video_url", `{"type":"video_url","video_url":{"url":"u"}}`),
			chatKept("file", `{"type":"file","file":{"file_data":"data:;base64,YQ==","filename":"a"}}`), chatKept("file", `{"type":"file","file":{"file_data":"data:audio/x;base64,YQ==","filename":"a"}}`), chatKept("", `{"x":1}`),
		)},
	},
	{
		name: "images elsewhere, by any URL",
		body: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:application/pdf;base64,YQ=="}},{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}},{"type":"image_url","image_url":{"url":"data:image/svg+xml,a"}},{"type":"image_url","image_url":{"url":"image/png;base64,YQ=="}}]}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Messages: chatUser(
			llm.Media{MediaType: "image/*", URL: "data:application/pdf;base64,YQ=="}, llm.Media{MediaType: "image/*", URL: "data:image/png;base64,?"}, llm.Media{MediaType: "image/*", URL: "data:image/svg+xml,a"}, llm.Media{MediaType: "image/*", URL: "image/png;base64,YQ=="},
		)},
	},
	{
		name:  "an assistant message with all there is",
		body:  `{"messages":[{"role":"assistant","content":[{"type":"text","text":"t","x":1},{"type":"refusal","refusal":"r"},{"type":"thinking","thinking":"x"}],"reasoning":{"a":1},"reasoning_details":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}","y":2},"z":3}],"function_call":{"name":"f"}}]}`,
		again: `{"messages":[{"role":"assistant","content":[{"type":"text","text":"t","x":1},{"type":"refusal","refusal":"r"},{"type":"thinking","thinking":"x"}],"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}","y":2},"z":3}],"reasoning":{"a":1},"function_call":{"name":"f"}}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{{
			Role: llm.RoleAssistant,
			Parts: chatParts(llm.Text{Text: "t", Opaque: chatOpaque(`{"chat:x":1}`)}, llm.Text{Text: "r", Refusal: true}, chatKept("thinking", `{"type":"thinking","thinking":"x"}`),
				llm.ToolCall{ID: "1", Name: "f", Arguments: "{}", Opaque: chatOpaque(`{"chat:z":3,"function":{"y":2}}`)}),
			Opaque: chatOpaque(`{"chat:reasoning":{"a":1},"chat:function_call":{"name":"f"}}`),
		}}},
	},
	{
		name: "reasoning in two fields, with details",
		body: `{"messages":[{"role":"assistant","content":"t","reasoning_content":"a","reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b"}]},{"role":"assistant","content":"t","reasoning_content":"a","reasoning_details":[1]},{"role":"assistant","content":"t","reasoning_details":[{"type":"reasoning.summary","summary":"s"},2]}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.Assistant(llm.Reasoning{Text: "a", Opaque: chatOpaque(`{"field":"reasoning_content"}`)}, llm.Reasoning{Text: "b", Opaque: chatOpaque(`{"field":"reasoning","reasoning_details":[{"type":"reasoning.text","text":"b"}]}`)}, chatText("t")),
			llm.Assistant(llm.Reasoning{Text: "a", Opaque: chatOpaque(`{"field":"reasoning_content","reasoning_details":[1]}`)}, chatText("t")),
			llm.Assistant(llm.Reasoning{Text: "s", Opaque: chatOpaque(`{"reasoning_details":[{"type":"reasoning.summary","summary":"s"},2]}`)}, chatText("t")),
		}},
	},
	{
		name: "results first, a system message after another",
		body: `{"messages":[{"role":"tool","tool_call_id":"1","content":"a"},{"role":"tool","tool_call_id":"2","content":"b"},{"role":"system","content":"s"}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.ToolResults(llm.ToolResult{ID: "1", Content: chatParts(chatText("a"))}, llm.ToolResult{ID: "2", Content: chatParts(chatText("b"))}), {Role: llm.RoleSystem, Parts: chatParts(chatText("s"))},
		}},
	},
	{
		name: "functions, as they were before there were tools",
		body: `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}","x":1}},{"role":"function","name":"f","content":"a"},{"role":"assistant","content":"b","function_call":{"arguments":"","name":"g"}},{"role":"function","name":"g","content":"c"},{"role":"function","name":"g","content":"d"},{"role":"assistant","content":"e","function_call":{"name":1}}]}`,
		again: `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"function_call_1","type":"function","function":{"name":"f","arguments":"{}","x":1}}]},{"role":"tool","tool_call_id":"function_call_1","content":"a","name":"f"},` +
			`{"role":"assistant","content":"b","tool_calls":[{"id":"function_call_3","type":"function","function":{"name":"g","arguments":""}}]},{"role":"tool","tool_call_id":"function_call_3","content":"c","name":"g"},{"role":"function","content":"d","name":"g"},{"role":"assistant","content":"e","function_call":{"name":1}}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.User("Hi"),
			llm.Assistant(llm.ToolCall{ID: "function_call_1", Name: "f", Arguments: "{}", IDGenerated: true, Opaque: chatOpaque(`{"function":{"x":1}}`)}), llm.ToolResults(llm.ToolResult{ID: "function_call_1", Name: "f", Content: chatParts(chatText("a")), Opaque: chatOpaque(`{"name":"f"}`)}),
			llm.Assistant(chatText("b"), llm.ToolCall{ID: "function_call_3", Name: "g", IDGenerated: true}), llm.ToolResults(llm.ToolResult{ID: "function_call_3", Name: "g", Content: chatParts(chatText("c")), Opaque: chatOpaque(`{"name":"g"}`)}),
			{Role: "function", Parts: chatParts(chatText("d")), Opaque: chatOpaque(`{"name":"g"}`)},
			{Role: llm.RoleAssistant, Parts: chatParts(chatText("e")), Opaque: chatOpaque(`{"chat:function_call":{"name":1}}`)},
		}},
	},
	{
		name: "results apart, of calls of one id",
		body: `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"1","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"g","arguments":""}}]},{"role":"tool","tool_call_id":"1","content":"b"},{"role":"tool","tool_call_id":"2","content":"c","name":"h"},{"role":"user","content":"Hi","tool_call_id":"3"}]}`,
		want: llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{
			llm.Assistant(chatCallOf("1", "f", "")), llm.ToolResults(llm.ToolResult{ID: "1", Name: "f", Content: chatParts(chatText("a"))}),
			llm.Assistant(chatCallOf("1", "g", "")), llm.ToolResults(llm.ToolResult{ID: "1", Name: "g", Content: chatParts(chatText("b"))}, llm.ToolResult{ID: "2", Name: "h", Content: chatParts(chatText("c")), Opaque: chatOpaque(`{"name":"h"}`)}),
			{Role: llm.RoleUser, Parts: chatParts(chatText("Hi")), Opaque: chatOpaque(`{"chat:tool_call_id":"3"}`)},
		}},
	},
}

func chatKept(kind, raw string) llm.Part { return llm.Unknown{Kind: kind, Raw: chatOpaque(raw)} }

func TestChatSent(t *testing.T) {
	chat := chat.Protocol{}
	for _, c := range chatSent {
		t.Run(c.name, func(t *testing.T) {
			got, err := chat.DecodeRequest("/chat/completions", []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			again := c.again
			if again == "" {
				again = c.body
			}
			if diff := cmp.Diff(jsonval.Canonical(again), jsonval.Canonical(chatBody(t, chat, got))); diff != "" {
				t.Errorf("written again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChatBadRequests(t *testing.T) {
	for body, want := range map[string]string{
		"\xff":                              "the request is not UTF-8",
		``:                                  "invalid Chat Completions request: expected an object (byte 1)",
		`[]`:                                "invalid Chat Completions request: expected an object (byte 1)",
		`{"model":1}`:                       "invalid Chat Completions request: expected a string at model (byte 10)",
		`{"messages":{}}`:                   "invalid Chat Completions request: expected an array at messages (byte 13)",
		`{"messages":[1]}`:                  "invalid Chat Completions request: expected an object at messages[0] (byte 14)",
		`{"messages":[{"role":"user"},{}]}`: "invalid Chat Completions request: expected a message with a role before here at messages[1] (byte 32)",
		`{"messages":[{"role":1}]}`:         "invalid Chat Completions request: expected a message with a role before here at messages[0] (byte 24)",
		`{"messages":[{"role":"user","content":1}]}`:                                 "invalid Chat Completions request: expected a string at messages[0].content (byte 39)",
		`{"messages":[{"role":"user","content":["a"]}]}`:                             "invalid Chat Completions request: expected an object with a type at messages[0].content[0] (byte 40)",
		`{"messages":[{"role":"user","content":[{"type":"text","text":1}]}]}`:        "invalid Chat Completions request: expected a string at messages[0].content[0].text (byte 62)",
		`{"messages":[{"role":"assistant","refusal":1}]}`:                            "invalid Chat Completions request: expected a string at messages[0].refusal (byte 44)",
		`{"messages":[{"role":"assistant","tool_calls":1}]}`:                         "invalid Chat Completions request: expected an array at messages[0].tool_calls (byte 47)",
		`{"messages":[{"role":"assistant","tool_calls":[{"function":1}]}]}`:          "invalid Chat Completions request: expected an object at messages[0].tool_calls[0].function (byte 60)",
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":1}}]}]}`: "invalid Chat Completions request: expected a string at messages[0].tool_calls[0].function.name (byte 68)",
		`{"messages":[{"role":"tool","tool_call_id":1}]}`:                            "invalid Chat Completions request: expected a string at messages[0].tool_call_id (byte 44)",
		`{"tools":1}`: "invalid Chat Completions request: expected an array at tools (byte 10)",
		`{"messages":[{"role":"user","content":[{"type":"text","text":null}]}]}`: "invalid Chat Completions request: expected a string at messages[0].content[0].text (byte 62)",
		`{"tools":[{"type":null}]}`:                  "invalid Chat Completions request: expected a string at tools[0].type (byte 19)",
		`{"tools":[{"function":null}]}`:              "invalid Chat Completions request: expected an object at tools[0].function (byte 23)",
		`{"tools":[{"type":1}]}`:                     "invalid Chat Completions request: expected a string at tools[0].type (byte 19)",
		`{"tools":[{"function":{"strict":1}}]}`:      "invalid Chat Completions request: expected true or false at tools[0].function.strict (byte 33)",
		`{"tools":[{"function":{"description":1}}]}`: "invalid Chat Completions request: expected a string at tools[0].function.description (byte 38)",
		`{"stop":[1]}`:                               "invalid Chat Completions request: expected a string at stop[0] (byte 10)",
		`{"max_tokens":1.5}`:                         "invalid Chat Completions request: expected a whole number, not 1.5 at max_tokens (byte 15)",
		`{"max_completion_tokens":"1"}`:              "invalid Chat Completions request: expected a number at max_completion_tokens (byte 26)",
		`{"stream":1}`:                               "invalid Chat Completions request: expected true or false at stream (byte 11)",
		`{"n":1`:                                     "invalid Chat Completions request: the text ends too early at n (byte 7)",
		`{"n":x}`:                                    "invalid Chat Completions request: expected a value at n (byte 6)",
		`{} 1`:                                       "invalid Chat Completions request: something follows the JSON value (byte 4)",
	} {
		req, err := chat.Protocol{}.DecodeRequest("", []byte(body))
		if err == nil || err.Error() != want || req != nil {
			t.Errorf("%s:\ngot  %v\nwant %s", body, err, want)
		}
	}
}
