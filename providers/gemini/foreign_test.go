package gemini_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// TestContentsForeign encodes the data of other protocols in a history, and checks
// that nothing unknown to Gemini is sent.
func TestContentsForeign(t *testing.T) {
	hosted := func(data string) llm.ToolCall {
		return llm.ToolCall{ID: "a", Name: "web_search", ProviderExecuted: true, Opaque: opaque(data)}
	}
	unknown := func(kind string) llm.Unknown { return llm.Unknown{Kind: kind, Raw: opaque(`{"type":"x"}`)} }
	own := llm.Text{Text: "hi", Opaque: opaque(`{"thoughtSignature":"S"}`)}
	const hi = `[{"parts":[{"text":"hi"}],"role":"model"}]`
	for name, c := range map[string]struct {
		said llm.Message
		want string
	}{
		"a text of Responses":      {llm.Assistant(llm.Text{Text: "hi", Opaque: opaque(`{"id":"msg_1","phase":"commentary","annotations":[]}`)}), hi},
		"a text of Anthropic":      {llm.Assistant(llm.Text{Text: "hi", Opaque: opaque(`{"citations":[1],"cache_control":{},"anthropic":{"x":1}}`)}), hi},
		"reasoning":                {llm.Assistant(llm.Reasoning{Opaque: opaque(`{"id":"rs_1","encrypted_content":"E"}`)}, llm.Reasoning{Opaque: opaque(`{"type":"redacted_thinking","data":"D"}`)}, text("hi")), hi},
		"a thought of Chat":        {llm.Assistant(llm.Reasoning{Text: "T", Opaque: opaque(`{"field":"reasoning_content"}`)}, text("hi")), hi},
		"a thought of Anthropic":   {llm.Assistant(llm.Reasoning{Text: "T", Opaque: opaque(`{"signature":"EqQBCg=="}`)}, text("hi")), hi},
		"a thought of its own":     {llm.Assistant(llm.Reasoning{Text: "T"}, text("hi")), `[{"parts":[{"text":"T","thought":true},{"text":"hi"}],"role":"model"}]`},
		"a signed one of its own":  {llm.Assistant(llm.Reasoning{Text: "T", Opaque: opaque(`{"thoughtSignature":"S"}`)}), `[{"parts":[{"text":"T","thought":true,"thoughtSignature":"S"}],"role":"model"}]`},
		"a call of Chat":           {llm.Assistant(llm.ToolCall{ID: "functions.f:0", Name: "f", Opaque: opaque(`{"extra_content":{"google":{}},"index":0}`)}), `[{"parts":[{"functionCall":{"id":"functions.f:0","name":"f","args":{}}}],"role":"model"}]`},
		"a message of Chat":        {llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{text("hi")}, Opaque: opaque(`{"id":"msg_7","name":"bob","container":{}}`)}, hi},
		"a search of Responses":    {llm.Assistant(hosted(`{"type":"web_search_call"}`), text("hi")), hi},
		"a search of Anthropic":    {llm.Assistant(hosted(`null`), unknown("web_search_tool_result"), text("hi")), hi},
		"a shell of Responses":     {llm.Assistant(unknown("local_shell_call"), unknown("local_shell_call_output"), text("hi")), hi},
		"MCP of Responses":         {llm.Assistant(unknown("mcp_list_tools"), unknown("mcp_approval_request"), unknown("mcp_approval_response"), text("hi")), hi},
		"a signature of its own":   {llm.Assistant(own), `[{"parts":[{"text":"hi","thoughtSignature":"S"}],"role":"model"}]`},
		"a tool that it ran":       {llm.Assistant(hosted(`{"toolCall":{"id":"a"}}`)), `[{"parts":[{"toolCall":{"id":"a"}}],"role":"model"}]`},
		"code that it ran":         {llm.Assistant(hosted(`{"executableCode":{"code":"1"}}`)), `[{"parts":[{"executableCode":{"code":"1"}}],"role":"model"}]`},
		"a part that is not known": {llm.Assistant(llm.Unknown{Kind: "gemini_part", Raw: opaque(`{"part":{"novel":1}}`)}), `[{"parts":[{"novel":1}],"role":"model"}]`},
	} {
		if got := contents(t, "m", c.said); got != c.want {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(c.want, got))
		}
	}
}

// TestSystemMessagesFirst shows where system messages go that come first.
func TestSystemMessagesFirst(t *testing.T) {
	system := func(s string) llm.Message {
		return llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{text(s)}}
	}
	for name, c := range map[string]struct {
		prompt   string
		messages []llm.Message
		want     string
	}{
		"after the prompt": {"A", []llm.Message{system("B"), system(""), system("C")}, `,"systemInstruction":{"parts":[{"text":"A\n\nB\n\nC"}]}`},
		"alone":            {"", []llm.Message{system("B")}, `,"systemInstruction":{"parts":[{"text":"B"}]}`},
		"of nothing":       {"", []llm.Message{system("")}, ``},
	} {
		got, err := codec.EncodeRequest(&llm.Request{Model: "m", System: llm.SystemText(c.prompt), Messages: append(c.messages, llm.User("hi"))})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := `{"contents":[{"parts":[{"text":"hi"}],"role":"user"}]` + c.want + `}`
		if diff := cmp.Diff(want, string(got.Body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
