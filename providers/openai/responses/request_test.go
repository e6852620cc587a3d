package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
)

const (
	strictSchema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	looseSchema  = `{"type":"object","properties":{"a":{"type":"string"}}}`
	standing     = `"store":false,"include":["reasoning.encrypted_content"]`
)

func encodeRequest(t rapidOrTest, req *llm.Request) string {
	out, err := responses.Protocol{}.EncodeRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	if out.Path != "/responses" || out.Query != "" || len(out.Header) > 0 {
		t.Fatalf("got %s?%s and %v", out.Path, out.Query, out.Header)
	}
	if !json.Valid(out.Body) || !jsonio.Valid(out.Body) {
		t.Fatalf("not JSON: %s", out.Body)
	}
	return string(out.Body)
}

func decodeRequest(t rapidOrTest, body string) *llm.Request {
	req, err := responses.Protocol{}.DecodeRequest("/responses", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func system(opaque string, parts ...llm.Part) llm.Message {
	m := llm.Message{Role: llm.RoleSystem, Parts: parts}
	if opaque != "" {
		m.Opaque = raw(opaque)
	}
	return m
}

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: parts} }

// Each request has this body, and the body is this request again.
func TestResponsesRequests(t *testing.T) {
	result := func(id string, parts ...llm.Part) llm.ToolResult {
		return llm.ToolResult{ID: id, Name: "f", Content: parts}
	}
	asked := llm.Assistant(llm.ToolCall{ID: "call_1", Name: "f", Arguments: "{}"})
	askedWire := `{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}`
	for _, c := range []struct {
		name string
		req  llm.Request
		want string
	}{
		{"nothing", llm.Request{}, `{"input":[],` + standing + `,"stream":true}`},
		{"a model and a system prompt, non-streaming", llm.Request{Model: "gpt-5", System: llm.SystemText("Be brief."), ResponseMode: llm.NonStreaming}, `{"model":"gpt-5","instructions":"Be brief.","input":[],` + standing + `}`},
		{"messages", llm.Request{Messages: []llm.Message{
			system("", llm.Text{Text: "s"}), system(`{"role":"developer"}`, llm.Text{Text: "d"}), llm.User("hi"), user(llm.Text{}),
			user(llm.Text{Text: "a"}, llm.Text{Text: "b", Opaque: raw(`{"responses_content:x":1}`)}), user(llm.Text{Text: "c", Opaque: raw(`{"responses_content:x":1}`)}),
			{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "e"}}, Opaque: raw(`{"id":"msg_7","responses:x":[1]}`)},
		}}, `{"input":[{"role":"system","content":"s"},{"role":"developer","content":"d"},{"role":"user","content":"hi"},{"role":"user","content":""},` +
			`{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b","x":1}]},{"role":"user","content":[{"type":"input_text","text":"c","x":1}]},` +
			`{"role":"user","id":"msg_7","x":[1],"content":"e"}],` + standing + `,"stream":true}`},
		{"media", llm.Request{Messages: []llm.Message{user(
			llm.Media{MediaType: "image/png", Data: []byte("png"), Opaque: raw(`{"detail":"low"}`)}, llm.Media{MediaType: "image/*", URL: "https://x.org/a.png"}, llm.Media{MediaType: "image/*", Opaque: raw(`{"file_id":"file-1"}`)},
			llm.Media{MediaType: "application/pdf", Data: []byte("pdf")}, llm.Media{MediaType: "application/pdf", Name: "a.pdf", URL: "https://x.org/a.pdf"}, llm.Media{MediaType: "text/plain", Name: "a.txt", Data: []byte{}},
			llm.Media{MediaType: "application/octet-stream", Opaque: raw(`{"file_id":"file-2"}`)}, llm.Media{MediaType: "application/zip", Data: []byte("zip")},
			llm.Media{MediaType: "audio/wav", Data: []byte("wav")}, llm.Media{MediaType: "audio/mpeg", Data: []byte("mp3")},
			llm.Unknown{Kind: "input_video", Raw: raw(`{"type":"input_video","x":1}`)},
		)}}, `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"low"},{"type":"input_image","image_url":"https://x.org/a.png"},{"type":"input_image","file_id":"file-1"},` +
			`{"type":"input_file","filename":"file.pdf","file_data":"data:application/pdf;base64,cGRm"},{"type":"input_file","filename":"a.pdf","file_url":"https://x.org/a.pdf"},{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,"},` +
			`{"type":"input_file","file_id":"file-2"},{"type":"input_file","filename":"file","file_data":"data:application/zip;base64,emlw"},` +
			`{"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}},{"type":"input_audio","input_audio":{"data":"bXAz","format":"mp3"}},` +
			`{"type":"input_video","x":1}]}],` + standing + `,"stream":true}`},
		{"results", llm.Request{Messages: []llm.Message{asked, llm.ToolResults(result("call_1", llm.Text{Text: "ok"})), llm.Assistant(llm.ToolCall{ID: "call_2", Name: "f", Arguments: "oops"}, llm.ToolCall{ID: "call_3", Name: "f"}, llm.ToolCall{ID: "call_4", Name: "f", Arguments: "{}"}),
			llm.ToolResults(result("call_2"), result("call_3", llm.Text{Text: "a"}, llm.Media{MediaType: "image/png", Data: []byte("png")}), llm.ToolResult{ID: "call_4", Name: "f", Content: []llm.Part{llm.Text{Text: "b"}, llm.Text{Text: "c"}}, Opaque: raw(`{"id":"fco_1","responses:x":1}`)}),
		}}, `{"input":[` + askedWire + `,{"type":"function_call_output","call_id":"call_1","output":"ok"},{"type":"function_call","call_id":"call_2","name":"f","arguments":"oops"},{"type":"function_call","call_id":"call_3","name":"f","arguments":""},{"type":"function_call","call_id":"call_4","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"call_2","output":""},{"type":"function_call_output","call_id":"call_3","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"}]},` +
			`{"type":"function_call_output","id":"fco_1","call_id":"call_4","output":[{"type":"input_text","text":"b"},{"type":"input_text","text":"c"}],"x":1}],` + standing + `,"stream":true}`},
		{"an assistant's turn", llm.Request{Messages: []llm.Message{llm.Assistant(
			llm.Reasoning{Text: "One.", Opaque: raw(`{"id":"rs_1","encrypted_content":"gA","summary":[{"type":"summary_text","text":"One."}]}`)},
			llm.Text{Text: "a", Opaque: raw(`{"id":"msg_1","phase":"commentary"}`)}, llm.Text{Text: "b", Opaque: raw(`{"id":"msg_1","phase":"commentary","annotations":[{"type":"x"}]}`)}, llm.Text{Text: "no", Refusal: true, Opaque: raw(`{"id":"msg_2"}`)}, llm.Text{Text: "c"}, llm.Text{Text: "d"},
			llm.ToolCall{ID: "ws_1", Name: "web_search", Arguments: `{"q":1}`, ProviderExecuted: true, Opaque: raw(`{"id":"ws_1","type":"web_search_call","action":{"q":1}}`)},
			llm.Unknown{Kind: "compaction", Raw: raw(`{"type":"compaction","encrypted_content":"x"}`)},
			llm.ToolCall{ID: "call_1", Name: "f", Arguments: `{"a":1}`, Opaque: raw(`{"id":"fc_1","namespace":"n"}`)},
			llm.ToolCall{ID: "call_2", Name: "sql", Arguments: `SELECT 1`, Opaque: raw(`{"type":"custom_tool_call","id":"ctc_1"}`)},
		), llm.ToolResults(result("call_1", llm.Text{Text: "ok"}), llm.ToolResult{ID: "call_2", Name: "sql", Content: []llm.Part{llm.Text{Text: "1"}}}, llm.ToolResult{ID: "call_0", Opaque: raw(`{"type":"custom_tool_call_output"}`)})}},
			`{"input":[{"type":"reasoning","id":"rs_1","encrypted_content":"gA","summary":[{"type":"summary_text","text":"One."}]},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b","annotations":[{"type":"x"}]}],"id":"msg_1","phase":"commentary"},` +
				`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}],"id":"msg_2"},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"c"},{"type":"output_text","text":"d"}]},` +
				`{"id":"ws_1","type":"web_search_call","action":{"q":1}},{"type":"compaction","encrypted_content":"x"},` +
				`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\":1}","namespace":"n"},` +
				`{"type":"custom_tool_call","id":"ctc_1","call_id":"call_2","name":"sql","input":"SELECT 1"},` +
				`{"type":"function_call_output","call_id":"call_1","output":"ok"},{"type":"custom_tool_call_output","call_id":"call_2","output":"1"},{"type":"custom_tool_call_output","call_id":"call_0","output":""}],` + standing + `,"stream":true}`},
		{"tools and settings", llm.Request{
			Tools:      []llm.Tool{{Name: "f", Description: "does", Parameters: raw(strictSchema)}, {Name: "g", Parameters: raw(looseSchema), Strict: new(false)}, {Name: "h", Parameters: raw(looseSchema), Strict: new(true)}},
			ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "g"},
			Settings:   llm.Settings{MaxTokens: 100, Temperature: new(0.5), TopP: new(1.0), ParallelToolCalls: new(false), ReasoningEffort: "high", OutputSchema: raw(strictSchema)},
		}, `{"input":[],"tools":[{"type":"function","name":"f","description":"does","parameters":` + strictSchema + `},{"type":"function","name":"g","parameters":` + looseSchema + `,"strict":false},{"type":"function","name":"h","parameters":` + looseSchema + `,"strict":true}],` +
			`"tool_choice":{"type":"function","name":"g"},"parallel_tool_calls":false,"max_output_tokens":100,"temperature":0.5,"top_p":1,"reasoning":{"effort":"high"},"text":{"format":{"type":"json_schema","name":"answer","schema":` + strictSchema + `,"strict":true}},` + standing + `,"stream":true}`},
		{"required, and a schema that is not strict", llm.Request{
			Tools: []llm.Tool{{Name: "f", Parameters: raw(strictSchema)}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired},
			Settings: llm.Settings{ParallelToolCalls: new(true), OutputSchema: raw(looseSchema)},
		}, `{"input":[],"tools":[{"type":"function","name":"f","parameters":` + strictSchema + `}],"tool_choice":"required","parallel_tool_calls":true,"text":{"format":{"type":"json_schema","name":"answer","schema":` + looseSchema + `}},` + standing + `,"stream":true}`},
		{"extra", llm.Request{
			Tools: []llm.Tool{{Name: "f", Parameters: raw(strictSchema)}, {Name: "g", Parameters: raw(strictSchema)}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone},
			Settings: llm.Settings{ReasoningEffort: "low", OutputSchema: raw(strictSchema)},
			Extra: map[string]json.RawMessage{
				"store": raw(`true`), "include": raw(`[]`), "metadata": raw(`{"k":"v"}`), "reasoning": raw(`{"summary":"auto"}`), "service_tier": raw(`"flex"`),
				"text": raw(`{"format":{"name":"Book","strict":false},"verbosity":"low"}`), "tools": raw(`[{"type":"web_search"},{"type":"function","name":"g","parameters":` + strictSchema + `,"defer_loading":true}]`),
			},
		}, `{"input":[],"tools":[{"type":"function","name":"f","parameters":` + strictSchema + `},{"type":"web_search"},{"type":"function","name":"g","parameters":` + strictSchema + `,"defer_loading":true}],"tool_choice":"none",` +
			`"reasoning":{"effort":"low","summary":"auto"},"text":{"format":{"type":"json_schema","name":"Book","schema":` + strictSchema + `,"strict":false},"verbosity":"low"},"store":true,"include":[],"stream":true,"metadata":{"k":"v"},"service_tier":"flex"}`},
		{"extra that takes away", llm.Request{Extra: map[string]json.RawMessage{"store": raw(`null`), "include": raw(`null`), "reasoning": raw(`{"summary":"auto"}`), "text": raw(`{"format":{"type":"json_object"}}`), "tool_choice": raw(`{"type":"web_search"}`), "instructions": raw(`[{"role":"system"}]`)}},
			`{"input":[],"stream":true,"instructions":[{"role":"system"}],"reasoning":{"summary":"auto"},"text":{"format":{"type":"json_object"}},"tool_choice":{"type":"web_search"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := encodeRequest(t, &c.req)
			if diff := cmp.Diff(c.want, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&c.req, decodeRequest(t, body)); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

// What cannot be read back as it was, and what the provider would refuse.
func TestResponsesRequestsRepaired(t *testing.T) {
	asked := func(parts ...llm.Part) []llm.Message { return []llm.Message{llm.Assistant(parts...)} }
	text := llm.Text{Text: "x"}
	textWire := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`
	rs := func(opaque string) llm.Part { return llm.Reasoning{Text: "t", Opaque: raw(opaque)} }
	for _, c := range []struct {
		name, key, want string
		req             llm.Request
	}{
		{"reasoning at the end (SR-07)", "input", `[` + textWire + `]`, llm.Request{Messages: asked(text, rs(`{"id":"rs_1","summary":[]}`), llm.Text{})}},
		{"nothing but reasoning (SR-07)", "input", `[]`, llm.Request{Messages: asked(rs(`{"id":"rs_1","summary":[]}`))}},
		{"reasoning twice (SR-04)", "input", `[{"type":"reasoning","id":"rs_1","summary":[]},` + textWire + `]`, llm.Request{Messages: asked(rs(`{"id":"rs_1","summary":[]}`), rs(`{"id":"rs_1","summary":[]}`), text)}},
		{"an empty text with the id of the reasoning before it (SR-04, SR-07)", "input", `[]`, llm.Request{Messages: asked(rs(`{"id":"rs_1","summary":[]}`), llm.Text{Opaque: json.RawMessage(`{"id":"rs_1"}`)})}},
		{"an item with the id of the reasoning before it (SR-04, SR-07)", "input", `[]`, llm.Request{Messages: asked(rs(`{"id":"rs_1","summary":[]}`), llm.Unknown{Kind: "responses_item", Raw: json.RawMessage(`{"id":"rs_1","type":"x"}`)})}},
		{"an empty text twice (SR-04)", "input", `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}],"id":"msg_1"}]`, llm.Request{Messages: append(
			asked(llm.Text{Opaque: json.RawMessage(`{"id":"msg_1"}`)}), asked(llm.Text{Opaque: json.RawMessage(`{"id":"msg_1"}`)})...,
		)}},
		{"reasoning of others", "input", `[` + textWire + `]`, llm.Request{Messages: asked(rs(`{"signature":"s"}`), llm.Reasoning{Text: "t"}, rs(`{"id":"x"}`), text)}},
		{"reasoning with no id, and its status", "input", `[{"type":"reasoning","encrypted_content":"x","summary":[]},{"type":"reasoning","id":"rs_2","summary":[]},{"type":"reasoning","summary":[1]},` + textWire + `]`,
			llm.Request{Messages: asked(rs(`{"encrypted_content":"x","type":"reasoning","status":null}`), rs(`{"id":"rs_2","status":"completed"}`), rs(`{"summary":[1]}`), text)}},
		{"empty text", "input", `[` + textWire + `]`, llm.Request{Messages: asked(llm.Text{}, text, llm.Text{})}},
		{"empty text that is an item", "input", `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}],"id":"msg_1"}]`, llm.Request{Messages: asked(llm.Text{Opaque: raw(`{"id":"msg_1"}`)})}},
		{"no message at all", "input", `[]`, llm.Request{Messages: asked(llm.Text{}, llm.Text{Opaque: raw(`{"signature":"s"}`)})}},
		{"texts of one item, apart", "input", `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}],"id":"msg_1"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}]`,
			llm.Request{Messages: asked(llm.Text{Text: "a", Opaque: raw(`{"id":"msg_1"}`)}, llm.ToolCall{ID: "c", Name: "f", Arguments: "{}"}, llm.Text{Text: "b", Opaque: raw(`{"id":"msg_1","status":"completed"}`)})}},
		{"invalid ids of calls (SR-05, SR-06)", "input", `[{"type":"function_call","call_id":"call_1","name":"f","arguments":""},{"type":"function_call","call_id":"call_2","name":"f","arguments":""},{"type":"custom_tool_call","call_id":"call_3","name":"f","input":""}]`,
			llm.Request{Messages: asked(llm.ToolCall{ID: "call_1", Name: "f", Opaque: raw(`{"id":"call_1","status":"completed","thoughtSignature":"x"}`)}, llm.ToolCall{ID: "call_2", Name: "f", Opaque: raw(`{"id":""}`)}, llm.ToolCall{ID: "call_3", Name: "f", Opaque: raw(`{"id":"fc_1","type":"custom_tool_call"}`)})}},
		{"ids of servers that imitate (SR-05)", "input", `[{"role":"user","content":"q"},{"type":"reasoning","summary":[1]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}]`,
			llm.Request{Messages: append([]llm.Message{{Role: llm.RoleUser, Opaque: raw(`{"id":"item_0"}`), Parts: []llm.Part{llm.Text{Text: "q"}}}},
				asked(rs(`{"id":"item_1","summary":[1]}`), llm.Text{Text: "a", Opaque: raw(`{"id":"item_2"}`)}, llm.Text{Text: "b", Opaque: raw(`{"id":"item_2"}`)}, llm.Text{Opaque: raw(`{"id":"item_3"}`)})...)}},
		{"names (SR-14)", "input", `[{"type":"function_call","call_id":"1","name":"multi_tool_use_parallel","arguments":"{}"},{"type":"function_call","call_id":"2","name":"unnamed_tool","arguments":""},{"type":"function_call","call_id":"3","name":"az-AZ_09__","arguments":""}]`,
			llm.Request{Messages: asked(llm.ToolCall{ID: "1", Name: "multi_tool_use.parallel", Arguments: "{}"}, llm.ToolCall{ID: "2"}, llm.ToolCall{ID: "3", Name: "az-AZ_09\xff "})}},
		{"items twice (SR-04)", "input", `[{"id":"ws_1","type":"web_search_call"},{"type":"x","id":"x_1"},{"type":"mcp_call","name":"n"}]`,
			llm.Request{Messages: asked(llm.ToolCall{ProviderExecuted: true, Opaque: raw(`{"id":"ws_1","type":"web_search_call"}`)}, llm.ToolCall{ProviderExecuted: true, Opaque: raw(`{"id":"ws_1","type":"web_search_call"}`)}, llm.Unknown{Raw: raw(`{"type":"x","id":"x_1"}`)}, llm.Unknown{Raw: raw(`{"type":"x","id":"x_1"}`)}, llm.ToolResult{Opaque: raw(`{"type":"mcp_call","name":"n"}`)})}},
		{"marks of other protocols", "input", `[{"role":"user","content":[{"type":"input_text","text":"x"}]}]`, llm.Request{Messages: []llm.Message{user(llm.Text{Text: "x", Opaque: raw(`{"cache_control":{"type":"ephemeral"},"type":"y","text":"z"}`)})}}},
		{"a result that is an error", "input", `[{"type":"function_call_output","call_id":"c","output":"no"}]`, llm.Request{Messages: []llm.Message{llm.ToolResults(llm.ToolResult{ID: "c", IsError: true, Content: []llm.Part{llm.Text{Text: "no"}}})}}},
		{"an item in a tool message", "input", `[{"type":"mcp_approval_response","approve":true}]`, llm.Request{Messages: []llm.Message{{Role: llm.RoleTool, Parts: []llm.Part{llm.Unknown{Raw: raw(`{"type":"mcp_approval_response","approve":true}`)}}}}}},
		{"other names of sound", "input", `[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"eA==","format":"wav"}},{"type":"input_audio","input_audio":{"data":"eA==","format":"mp3"}}]}]`, llm.Request{Messages: []llm.Message{user(llm.Media{MediaType: "audio/x-wav", Data: []byte("x")}, llm.Media{MediaType: "audio/mp3", Data: []byte("x")})}}},
		{"text that is not UTF-8, and lone surrogates (QT-09)", "input", `[{"role":"user","content":[{"type":"input_text","text":"a` + "\ufffd" + `","x":"\ufffd\ud83d\ude00"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{\"s\":\"\\ud83d` + "\ufffd" + `\"}"}]`,
			llm.Request{Messages: []llm.Message{user(llm.Text{Text: "a\xff", Opaque: raw(`{"responses_content:x":"\ud83d\ud83d\ude00"}`)}), llm.Assistant(llm.ToolCall{ID: "c", Name: "f", Arguments: "{\"s\":\"\\ud83d\xff\"}"})}}},
		{"surrogates in a schema", "tools", `[{"type":"function","name":"f","parameters":{"type":"object","properties":{"\ufffd":{}}},"strict":false}]`, llm.Request{Tools: []llm.Tool{{Name: "f", Parameters: raw(`{"type":"object","properties":{"\udc00":{}}}`)}}}},
		{"surrogates in extra", "metadata", `{"a":"\ufffd"}`, llm.Request{Extra: map[string]json.RawMessage{"metadata": raw(`{"a": "\ud83d"}`)}}},
		{"surrogates in tools of extra", "tools", `[{"a":"\ufffd"}]`, llm.Request{Extra: map[string]json.RawMessage{"tools": raw(`[ {"a": "\ud83d"} ]`)}}},
		{"a tool without a schema (SR-16)", "tools", `[{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false}]`, llm.Request{Tools: []llm.Tool{{Name: "f"}}}},
		{"no tools (SO-12, SO-18)", "tool_choice", "", llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}, Settings: llm.Settings{ParallelToolCalls: new(true)}}},
		{"no tools (SO-12, SO-18)", "parallel_tool_calls", "", llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}, Settings: llm.Settings{ParallelToolCalls: new(true)}}},
		{"tools that are removed", "tools", "", llm.Request{Tools: []llm.Tool{{Name: "f"}}, Extra: map[string]json.RawMessage{"tools": raw(` null`)}}},
		{"a tool choice of extra's tools", "tool_choice", `{"type":"function","name":"f"}`, llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}, Extra: map[string]json.RawMessage{"tools": raw(`[{"type":"function","name":"f"}]`)}}},
		{"extra over the model", "model", `"b"`, llm.Request{Model: "a", Extra: map[string]json.RawMessage{"model": raw(`"b"`)}}},
		{"extra over reasoning", "reasoning", `{"effort":"low","summary":"auto"}`, llm.Request{Settings: llm.Settings{ReasoningEffort: "high"}, Extra: map[string]json.RawMessage{"reasoning": raw(`{"effort":"low","summary":"auto"}`)}}},
		{"extra that takes reasoning away", "reasoning", "", llm.Request{Settings: llm.Settings{ReasoningEffort: "high"}, Extra: map[string]json.RawMessage{"reasoning": raw(`null`)}}},
		{"a schema is not joined", "text", `{"format":{"type":"json_schema","name":"answer","schema":{"a":1},"strict":true}}`, llm.Request{Settings: llm.Settings{OutputSchema: raw(strictSchema)}, Extra: map[string]json.RawMessage{"text": raw(`{"format":{"schema":{"a":1}}}`)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got map[string]json.RawMessage
			if err := json.Unmarshal([]byte(encodeRequest(t, &c.req)), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got[c.key])); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.key, diff)
			}
		})
	}
}

func TestResponsesRequestsRefused(t *testing.T) {
	in := func(role llm.Role, parts ...llm.Part) llm.Request {
		return llm.Request{Messages: []llm.Message{llm.User("x"), {Role: role, Parts: parts}}}
	}
	f := llm.Tool{Name: "f"}
	for want, req := range map[string]llm.Request{
		`messages[1]: unknown role "x"`:                                                                                                                    in("x"),
		`messages[1].parts[0]: reasoning is not allowed here: use text or media`:                                                                           in(llm.RoleUser, llm.Reasoning{}),
		`messages[1].parts[1]: a tool call is not allowed here: use text or media`:                                                                         in(llm.RoleSystem, llm.Text{}, llm.ToolCall{}),
		`messages[1].parts[0]: a tool result is not allowed here: use text or media`:                                                                       in(llm.RoleUser, llm.ToolResult{}),
		`messages[1].parts[0]: nothing is not allowed here: use text or media`:                                                                             in(llm.RoleUser, nil),
		`messages[1].parts[0]: the part of the kind "k" is not a JSON object: use the whole object`:                                                        in(llm.RoleUser, llm.Unknown{Kind: "k", Raw: raw(`[]`)}),
		`messages[1].parts[0]: the media has neither data nor a URL: load the content`:                                                                     in(llm.RoleUser, llm.Media{MediaType: "image/png", Digest: "sha256:0"}),
		`messages[1].parts[0]: the Responses API accepts audio only in user messages, as audio/wav or audio/mpeg data, not audio/ogg`:                      in(llm.RoleUser, llm.Media{MediaType: "audio/ogg", Data: []byte("x")}),
		`messages[1].parts[0]: the Responses API accepts audio only in user messages, as audio/wav or audio/mpeg data, not audio/wav`:                      in(llm.RoleUser, llm.Media{MediaType: "audio/wav", URL: "u"}),
		`messages[1].parts[0].content[1]: the Responses API accepts audio only in user messages, as audio/wav or audio/mpeg data, not audio/mpeg`:          in(llm.RoleTool, llm.ToolResult{ID: "c", Content: []llm.Part{llm.Text{}, llm.Media{MediaType: "audio/mpeg", Data: []byte("x")}}}),
		`messages[1].parts[0].content[0]: reasoning is not allowed here: use text or media`:                                                                in(llm.RoleTool, llm.ToolResult{ID: "c", Content: []llm.Part{llm.Reasoning{}}}),
		`messages[1].parts[0]: a text is not allowed in a tool message: use results`:                                                                       in(llm.RoleTool, llm.Text{}),
		`messages[1].parts[0]: media is not allowed in a tool message: use results`:                                                                        in(llm.RoleTool, llm.Media{}),
		`messages[1].parts[0]: missing call id: set it on the call and its result`:                                                                         in(llm.RoleTool, llm.ToolResult{}),
		`messages[1].parts[1]: an assistant's message cannot contain media, only text and calls`:                                                           in(llm.RoleAssistant, llm.Text{Text: "a"}, llm.Media{URL: "u"}),
		`messages[1].parts[0]: the part of the kind "document" belongs to another protocol and is unknown to openai-responses: remove it from the message`: in(llm.RoleUser, llm.Unknown{Kind: "document", Raw: raw(`{"type":"document","source":{}}`)}),
		`messages[1].parts[0]: the part of the kind "" is not a JSON object: use the whole object`:                                                         in(llm.RoleTool, llm.Unknown{}),
		`tools[1]: the name "a.b" is invalid: use letters, digits, _ and -`:                                                                                {Tools: []llm.Tool{f, {Name: "a.b"}}},
		`tools[0]: the name "" is invalid: use letters, digits, _ and -`:                                                                                   {Tools: []llm.Tool{{}}},
		`tools[0]: the parameters are not a JSON object: set a JSON Schema`:                                                                                {Tools: []llm.Tool{{Name: "f", Parameters: raw(`true`)}}},
		`tool_choice: required without tools: add a tool`:                                                                                                  {ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}},
		`tool_choice: tool:f without tools: add a tool`:                                                                                                    {ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}},
		`tool_choice: unknown tool "g"`:                                                                                                                    {Tools: []llm.Tool{f}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "g"}},
		`tool_choice: unknown mode "x"`:                                                                                                                    {Tools: []llm.Tool{f}, ToolChoice: llm.ToolChoice{Mode: "x"}},
		`settings.seed: the Responses API has no seed: remove it`:                                                                                          {Settings: llm.Settings{Seed: new(int64(1))}},
		`settings.stop: the Responses API has no stop sequences: remove them`:                                                                              {Settings: llm.Settings{StopSequences: []string{"x"}}},
		`settings.temperature: NaN is not a JSON number`:                                                                                                   {Settings: llm.Settings{Temperature: new(nan())}},
		`settings.output_schema: not a JSON object: set a JSON Schema`:                                                                                     {Settings: llm.Settings{OutputSchema: raw(`[]`)}},
		`extra.x: not JSON: set a JSON value`:                                                                                                              {Extra: map[string]json.RawMessage{"x": raw(`{`)}},
		`extra.tools: not a JSON array`:                                                                                                                    {Extra: map[string]json.RawMessage{"tools": raw(`{}`)}},
	} {
		_, err := responses.Protocol{}.EncodeRequest(&req)
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func nan() float64 { var z float64; return z / z }

// What clients send is read, each form of it.
func TestResponsesRequestsRead(t *testing.T) {
	const rest = `,"store":false,"include":["reasoning.encrypted_content"],"stream":true}`
	read := func(messages ...llm.Message) *llm.Request { return &llm.Request{Messages: messages} }
	for _, c := range []struct {
		name, body string
		want       *llm.Request
	}{
		{"one text", `{"input":"hi"` + rest, read(llm.User("hi"))},
		{"nulls", `{"model":null,"instructions":null,"input":null,"tools":null,"temperature":null,"text":null,"x":null` + rest, read()},
		{"no stream", `{"input":[],"store":false,"include":["reasoning.encrypted_content"],"stream":false}`, &llm.Request{ResponseMode: llm.NonStreaming}},
		{"the provider's defaults", `{"input":[],"stream":true}`, &llm.Request{Extra: map[string]json.RawMessage{"store": raw("null"), "include": raw("null")}}},
		{"a type that comes last", `{"input":[{"arguments":"{}","id":"fc_1","call_id":"c","name":"f","type":"function_call"},{"output":[],"call_id":"c","status":"completed","type":"function_call_output"},{"summary":[],"id":"rs_1","status":null,"type":"reasoning"}]` + rest,
			read(llm.Assistant(llm.ToolCall{ID: "c", Name: "f", Arguments: "{}", Opaque: raw(`{"id":"fc_1"}`)}), llm.ToolResults(llm.ToolResult{ID: "c", Name: "f"}), llm.Assistant(llm.Reasoning{Opaque: raw(`{"id":"rs_1","summary":[]}`)}))},
		{"an assistant's text as a text", `{"input":[{"role":"assistant","content":"hi"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":null}],"id":null}]` + rest, read(llm.Assistant(llm.Text{Text: "hi"}, llm.Text{Text: "a"}))},
		{"no content", `{"input":[{"role":"user"},{"role":"user","content":null}]` + rest, read(user(), user())},
		{"open reasoning", `{"input":[{"type":"reasoning","id":"rs_1","content":[{"type":"reasoning_text","text":"a"},{"type":"reasoning_text","text":"b"}]},{"type":"reasoning","summary":[{"text":"s"}],"content":[{"text":"c"}]}]` + rest,
			read(llm.Assistant(llm.Reasoning{Text: "a\n\nb", Opaque: raw(`{"id":"rs_1","content":[{"type":"reasoning_text","text":"a"},{"type":"reasoning_text","text":"b"}]}`)}, llm.Reasoning{Text: "s", Opaque: raw(`{"summary":[{"text":"s"}],"content":[{"text":"c"}]}`)}))},
		{"outputs of the client's own tools", `{"input":[{"type":"shell_call","id":"sh_1"},{"type":"shell_call_output","call_id":"x"},{"type":"computer_call_output"},{"type":"item_reference","id":"msg_1"}]` + rest,
			read(llm.Assistant(llm.Unknown{Kind: "shell_call", Raw: raw(`{"type":"shell_call","id":"sh_1"}`)}), llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Unknown{Kind: "shell_call_output", Raw: raw(`{"type":"shell_call_output","call_id":"x"}`)}, llm.Unknown{Kind: "computer_call_output", Raw: raw(`{"type":"computer_call_output"}`)}}}, llm.Assistant(llm.Unknown{Kind: "item_reference", Raw: raw(`{"type":"item_reference","id":"msg_1"}`)}))},
		{"a search of the client and one of the provider", `{"input":[{"type":"tool_search_call","call_id":"s"},{"type":"tool_search_output","call_id":"s","execution":"client"},{"type":"tool_search_output","execution":"server"},{"type":"additional_tools","role":"developer"},{"type":"novel","role":"assistant"}]` + rest,
			read(llm.Assistant(unknown("tool_search_call", `{"type":"tool_search_call","call_id":"s"}`)), llm.Message{Role: llm.RoleTool, Parts: []llm.Part{unknown("tool_search_output", `{"type":"tool_search_output","call_id":"s","execution":"client"}`)}},
				llm.Assistant(unknown("tool_search_output", `{"type":"tool_search_output","execution":"server"}`)), llm.Message{Role: llm.RoleTool, Parts: []llm.Part{unknown("responses:additional_tools", `{"type":"additional_tools","role":"developer"}`)}}, llm.Assistant(unknown("responses:novel", `{"type":"novel","role":"assistant"}`)))},
		{"calls that the provider ran", `{"input":[{"type":"mcp_call","id":"mcp_1","name":"f","arguments":"{}","output":"x"},{"type":"code_interpreter_call","id":"ci_1","code":"1"}]` + rest,
			read(llm.Assistant(llm.ToolCall{ID: "mcp_1", Name: "f", Arguments: "{}", ProviderExecuted: true, Opaque: raw(`{"type":"mcp_call","id":"mcp_1","name":"f","arguments":"{}","output":"x"}`)}, llm.ToolCall{ID: "ci_1", Name: "code_interpreter", ProviderExecuted: true, Opaque: raw(`{"type":"code_interpreter_call","id":"ci_1","code":"1"}`)}))},
		{"parts without a field", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png,x"},{"type":"input_image"},{"type":"input_image","image_url":"data:;base64,eA=="},{"type":"input_image","image_url":"data:image/png;base64,%"},{"type":"input_file","file_data":"eA==","filename":"a"},{"type":"input_file","file_data":"data:a/b;base64,eA==","file_url":"u"},{"type":"input_audio","input_audio":{"data":"eA==","format":"flac"}},{"type":"input_audio","input_audio":{"data":"%","format":"wav"}},{"type":"input_audio","input_audio":{"data":"","format":"wav"}},{"type":"input_audio","input_audio":1}]}]` + rest,
			read(user(unknown("input_image", `{"type":"input_image","image_url":"data:image/png,x"}`), unknown("input_image", `{"type":"input_image"}`), unknown("input_image", `{"type":"input_image","image_url":"data:;base64,eA=="}`), unknown("input_image", `{"type":"input_image","image_url":"data:image/png;base64,%"}`),
				unknown("input_file", `{"type":"input_file","file_data":"eA==","filename":"a"}`), unknown("input_file", `{"type":"input_file","file_data":"data:a/b;base64,eA==","file_url":"u"}`), unknown("input_audio", `{"type":"input_audio","input_audio":{"data":"eA==","format":"flac"}}`), unknown("input_audio", `{"type":"input_audio","input_audio":{"data":"%","format":"wav"}}`), unknown("input_audio", `{"type":"input_audio","input_audio":{"data":"","format":"wav"}}`), unknown("input_audio", `{"type":"input_audio","input_audio":1}`)))},
		{"tools", `{"tools":[{"type":"function","name":"f"},{"type":"function","name":"g","description":null,"parameters":null,"strict":null,"x":null},{"type":"function","name":"h","parameters":true},{"type":"function"},{"type":"custom","name":"c"}],"tool_choice":"auto","parallel_tool_calls":true` + rest,
			&llm.Request{Tools: []llm.Tool{{Name: "f"}, {Name: "g"}, {Name: "h"}}, Settings: llm.Settings{ParallelToolCalls: new(true)}, Extra: map[string]json.RawMessage{"tools": raw(`[{"type":"function","name":"h","parameters":true},{"type":"function"},{"type":"custom","name":"c"}]`)}}},
		{"formats", `{"text":{"format":{"type":"json_schema","name":"answer","schema":` + strictSchema + `},"verbosity":"low"},"reasoning":{"effort":null},"tool_choice":{"type":"function"}` + rest,
			&llm.Request{Settings: llm.Settings{OutputSchema: raw(strictSchema)}, Extra: map[string]json.RawMessage{"text": raw(`{"format":{"strict":false},"verbosity":"low"}`), "tool_choice": raw(`{"type":"function"}`)}}},
		{"a format without a schema", `{"text":{"format":{"type":"json_schema","name":"answer"}}` + rest, &llm.Request{Extra: map[string]json.RawMessage{"text": raw(`{"format":{"type":"json_schema","name":"answer"}}`)}}},
		{"a format that is text", `{"text":{"format":{"type":"text"}}` + rest, &llm.Request{Extra: map[string]json.RawMessage{"text": raw(`{"format":{"type":"text"}}`)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, decodeRequest(t, c.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func unknown(kind, text string) llm.Part { return llm.Unknown{Kind: kind, Raw: raw(text)} }

func TestResponsesBadRequests(t *testing.T) {
	for body, want := range map[string]string{
		``:                "expected an object (byte 1)",
		`[]`:              "expected an object (byte 1)",
		`{"input":[{}],`:  "byte",
		`{"model":1}`:     "expected a string at model (byte 10)",
		`{"input":{}}`:    "expected an array at input (byte 10)",
		`{"input":["x"]}`: "expected an object at input[0] (byte 11)",
		`{"input":[{"role":"user","content":1}]}`:                                    "expected an array at input[0].content (byte 36)",
		`{"input":[{"role":"user","content":["x"]}]}`:                                "expected an object at input[0].content[0] (byte 37)",
		`{"input":[{"role":"x","content":"y"}]}`:                                     `a message has the role "x": want user, assistant, system or developer at input[0].content (byte 33)`,
		`{"input":[{"type":"message"}]}`:                                             `a message has the role ""`,
		`{"input":[{"type":"reasoning","summary":"x"}]}`:                             "expected an array at input[0].summary",
		`{"input":[{"type":"reasoning","content":["x"]}]}`:                           "expected an object at input[0].content[0]",
		`{"input":[{"type":"function_call_output","call_id":"c","output":{"a":1}}]}`: "expected an array at input[0].output",
		`{"max_output_tokens":1.5}`:                                                  "expected a whole number, not 1.5 at max_output_tokens (byte 22)",
		`{"temperature":"x"}`:                                                        "expected a number at temperature",
		`{"stream":1}`:                                                               "expected true or false at stream",
		`{"tools":[1]}`:                                                              "expected an object at tools[0]",
		`{"tools":[{"type":"function","name":"f","strict":1}]}`:                      "expected true or false at tools[0].strict",
		`{"reasoning":"high"}`:                                                       "expected an object at reasoning",
		`{"text":[]}`:                                                                "expected an object at text",
		"{\"model\":\"\xff\"}":                                                       "the text is not UTF-8 (byte 11)",
		`{} x`:                                                                       "something follows the JSON value",
	} {
		req, err := responses.Protocol{}.DecodeRequest("/responses", []byte(body))
		if req != nil || err == nil || !strings.HasPrefix(err.Error(), "openai-responses: the request: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}

// drawRequest draws a request that comes back as it is.
func drawRequest(t *rapid.T) *llm.Request {
	word := rapid.SampledFrom([]string{"a", "Hello, wörld.\n", `"\` + "\u2028\x00", "{}", "😀"})
	req := &llm.Request{Model: rapid.SampledFrom([]string{"", "gpt-5"}).Draw(t, "model"), System: llm.SystemText(rapid.SampledFrom([]string{"", "s"}).Draw(t, "system")), ResponseMode: rapid.SampledFrom([]llm.ResponseMode{llm.Streaming, llm.NonStreaming}).Draw(t, "delivery")}
	calls := 0
	for i := range rapid.IntRange(0, 4).Draw(t, "rounds") {
		var parts []llm.Part
		for range rapid.IntRange(1, 3).Draw(t, "pieces") {
			parts = append(parts, rapid.SampledFrom([]llm.Part{llm.Text{Text: word.Draw(t, "text")}, llm.Media{MediaType: "image/gif", Data: []byte("x")}, llm.Media{MediaType: "application/pdf", Name: "a.pdf", Data: []byte("x")}, llm.Text{Text: "y", Opaque: raw(`{"responses_content:x":[1]}`)}}).Draw(t, "piece"))
		}
		req.Messages = append(req.Messages, user(parts...))
		turn := llm.Message{Role: llm.RoleAssistant}
		for j, p := range drawTurn(t).Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				if p.ProviderExecuted {
					continue
				}
				calls++
				p.ID, p.Name, p.Opaque = fmt.Sprint("call_", calls), "f", raw(fmt.Sprintf(`{"id":"fc_%d"}`, calls))
				turn.Parts = append(turn.Parts, p)
			case llm.Text:
				turn.Parts = append(turn.Parts, llm.Text{Text: p.Text, Refusal: p.Refusal, Opaque: raw(fmt.Sprintf(`{"id":"msg_%d_%d"}`, i, j))})
			case llm.Reasoning:
				turn.Parts = append(turn.Parts, llm.Reasoning{Text: "x", Opaque: raw(fmt.Sprintf(`{"id":"rs_%d_%d","summary":[{"type":"summary_text","text":"x"}]}`, i, j))})
			}
		}
		turn.Parts = append(turn.Parts, llm.Text{Text: "end", Opaque: raw(fmt.Sprintf(`{"id":"msg_%d"}`, i))})
		req.Messages = append(req.Messages, turn)
		var results []llm.ToolResult
		for _, c := range turn.Calls() {
			results = append(results, llm.ToolResult{ID: c.ID, Name: c.Name, Content: rapid.SampledFrom([][]llm.Part{nil, {llm.Text{Text: word.Draw(t, "result")}}, {llm.Text{Text: "a"}, llm.Text{Text: "b"}}, {llm.Media{MediaType: "image/png", Data: []byte("x")}}}).Draw(t, "content")})
		}
		if results != nil {
			req.Messages = append(req.Messages, llm.ToolResults(results...))
		}
	}
	if rapid.Bool().Draw(t, "tools") {
		req.Tools = []llm.Tool{{Name: "f", Description: word.Draw(t, "description"), Parameters: raw(rapid.SampledFrom([]string{strictSchema, looseSchema}).Draw(t, "schema")), Strict: new(rapid.Bool().Draw(t, "strict"))}}
		req.ToolChoice = rapid.SampledFrom([]llm.ToolChoice{{}, {Mode: llm.ChooseNone}, {Mode: llm.ChooseRequired}, {Mode: llm.ChooseTool, Name: "f"}}).Draw(t, "choice")
		req.Settings.ParallelToolCalls = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "parallel")
	}
	req.Settings.MaxTokens = rapid.IntRange(0, 100).Draw(t, "max")
	req.Settings.Temperature = rapid.SampledFrom([]*float64{nil, new(0.0), new(1e-7), new(1e21)}).Draw(t, "temperature")
	req.Settings.ReasoningEffort = rapid.SampledFrom([]string{"", "low"}).Draw(t, "reasoning")
	req.Settings.OutputSchema = rapid.SampledFrom([]json.RawMessage{nil, raw(strictSchema), raw(looseSchema)}).Draw(t, "output")
	req.Extra = rapid.SampledFrom([]map[string]json.RawMessage{nil, {"store": raw("true")}, {"metadata": raw(`{"a":1}`), "text": raw(`{"verbosity":"low"}`)}}).Draw(t, "extra")
	return req
}

func TestResponsesRequestBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRequest(t)
		before := string(want.AppendJSON(nil))
		body := encodeRequest(t, want)
		if diff := cmp.Diff(want, decodeRequest(t, body)); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%s", diff, body)
		}
		if after := string(want.AppendJSON(nil)); after != before {
			t.Fatalf("the request was changed:\n%s", cmp.Diff(before, after))
		}
	})
}

// An id that is too long is cut, in the call and in its result, to what fits (SR-15).
func TestResponsesLongIDs(t *testing.T) {
	turn := func(id string) string {
		return said(t, "input", llm.Assistant(llm.ToolCall{ID: id, Name: "f", Arguments: "{}"}), llm.ToolResults(llm.ToolResult{ID: id, Name: "f"}))
	}
	for id, want := range map[string]string{
		strings.Repeat("i", 64): strings.Repeat("i", 64),
		strings.Repeat("i", 65): strings.Repeat("i", 47) + "_5bd30f2badab08e4",
	} {
		if diff := cmp.Diff(`[{"type":"function_call","call_id":"`+want+`","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"`+want+`","output":""}]`, turn(id)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
