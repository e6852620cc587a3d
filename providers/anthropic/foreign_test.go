package anthropic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// TestEncodeForeign encodes the data of other protocols in a history, and checks
// that nothing unknown to Anthropic is sent.
func TestEncodeForeign(t *testing.T) {
	hosted := func(opaque string) llm.ToolCall {
		return llm.ToolCall{ID: "a", Name: "web_search", ProviderExecuted: true, Opaque: raw(opaque)}
	}
	unknown := func(kind, block string) llm.Unknown { return llm.Unknown{Kind: kind, Raw: raw(block)} }
	const hi = `{"type":"text","text":"hi"}`
	for _, c := range []struct {
		name string
		req  *llm.Request
		want string
	}{
		{"a text of Responses", assistantText(llm.Text{Text: "hi", Opaque: raw(`{"id":"msg_1","phase":"commentary","annotations":[1],"logprobs":[]}`)}), replied(hi)},
		{"a call of Responses", assistantText(llm.ToolCall{ID: "a", Name: "f", Opaque: raw(`{"id":"fc_1","status":"completed","namespace":"n"}`)}), replied(`{"type":"tool_use","id":"a","name":"f","input":{}}`)},
		{"a call of Chat", assistantText(llm.ToolCall{ID: "a", Name: "f", Opaque: raw(`{"extra_content":{"google":{}}}`)}), replied(`{"type":"tool_use","id":"a","name":"f","input":{}}`)},
		{"reasoning of the others", assistantText(llm.Reasoning{Text: "T", Opaque: raw(`{"field":"reasoning"}`)}, llm.Reasoning{Opaque: raw(`{"id":"rs_1","encrypted_content":"E"}`)}, llm.Text{Text: "hi"}), replied(hi)},
		{"an image of Chat", userText(llm.Media{MediaType: "image/png", URL: "u", Opaque: raw(`{"detail":"low"}`)}), said(`{"type":"image","source":{"type":"url","url":"u"}}`)},
		{"a message of Chat", &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "hi"}}, Opaque: raw(`{"id":"msg_7","name":"bob"}`)}}}, said(hi)},
		{"a result of Chat", answers(llm.ToolResult{ID: "a", Opaque: raw(`{"name":"f"}`)}), said3(`{"type":"tool_result","tool_use_id":"a"}`)},
		{"a search of Responses", assistantText(hosted(`{"type":"web_search_call"}`), llm.Text{Text: "hi"}), replied(hi)},
		{"code that Gemini ran", assistantText(hosted(`{"executableCode":{"code":"1"}}`), unknown("gemini_part", `{"type":"gemini_part","part":{"codeExecutionResult":{}}}`), llm.Text{Text: "hi"}), replied(hi)},
		{"a tool that Gemini ran", assistantText(hosted(`{"toolCall":{"id":"a"}}`), unknown("gemini_part", `{"type":"gemini_part","part":{"toolResponse":{}}}`), llm.Text{Text: "hi"}), replied(hi)},
		{"a shell of Responses", assistantText(unknown("local_shell_call", `{}`), unknown("local_shell_call_output", `{}`), unknown("mcp_list_tools", `{}`),
			unknown("mcp_approval_request", `{}`), unknown("compaction", `{"type":"compaction","encrypted_content":"E"}`), llm.Text{Text: "hi"}), replied(hi)},
		{"a reference of Chat", assistantText(unknown("reference", `{"type":"reference","reference_ids":[1]}`), llm.Text{Text: "hi"}), replied(hi)},
		{"a part of Gemini", assistantText(unknown("gemini_part", `{"type":"gemini_part","part":{"new":1}}`), llm.Text{Text: "hi"}), replied(hi)},
		{"compaction of its own", assistantText(unknown("compaction", `{"type":"compaction","content":"S"}`)), replied(`{"type":"compaction","content":"S"}`)},
		{"a search of its own", assistantText(llm.ToolCall{ID: "a", Name: "web_search", ProviderExecuted: true}), replied(`{"type":"server_tool_use","id":"a","name":"web_search","input":{}}`)},
		{"an id of others", &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.User("hi"), llm.Assistant(call("functions.f:0", "f", "{}")), llm.ToolResults(llm.ToolResult{ID: "functions.f:0"})}},
			`{"max_tokens":4096,"messages":[` + userHi + `,{"role":"assistant","content":[{"type":"tool_use","id":"functions_f_0_4be0e962e9dcd7b8","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_f_0_4be0e962e9dcd7b8"}]}]}`},
		{"an image of an error", answers(llm.ToolResult{ID: "a", IsError: true, Content: []llm.Part{llm.Text{Text: "x"}, llm.Media{MediaType: "image/png", URL: "u"}}}),
			said3(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"},{"type":"text","text":"image/png was omitted: the result of a failed call can contain only text."}],"is_error":true}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, encodeRequest(t, c.req)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
