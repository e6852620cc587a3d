package check_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// A call of a server's tool needs its result in its message, or in the next one of the assistant after a pause.
func TestServerCallWithoutResult(t *testing.T) {
	call := llm.ToolCall{ID: "srvtoolu_1", Name: "web_search", Arguments: "{}", ProviderExecuted: true}
	other := llm.ToolCall{ID: "srvtoolu_12", Name: "web_search", Arguments: "{}", ProviderExecuted: true}
	mcp := call
	mcp.Opaque = json.RawMessage(`{"anthropic":{"type":"mcp_tool_use"}}`)
	found := llm.Unknown{Kind: "web_search_tool_result", Raw: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)}
	inner := llm.ToolCall{ID: "toolu_1", Name: "f", Arguments: "{}", Opaque: json.RawMessage(`{"anthropic":{"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}}`)}
	text, user := llm.Text{Text: "x"}, llm.User("q")
	for name, c := range map[string]struct {
		messages []llm.Message
		protocol string
		want     int // the event; -1 for no violation
	}{
		"without":                  {[]llm.Message{user, llm.Assistant(text, call), user, llm.Assistant(text)}, "anthropic-messages", 1},
		"the last":                 {[]llm.Message{user, llm.Assistant(text, call)}, "anthropic-messages", -1},
		"the second":               {[]llm.Message{user, llm.Assistant(call, found, other), user}, "anthropic-messages", 1},
		"with":                     {[]llm.Message{user, llm.Assistant(call, found), user}, "anthropic-messages", -1},
		"with a result as a part":  {[]llm.Message{user, llm.Assistant(call, llm.ToolResult{ID: "srvtoolu_1", Content: []llm.Part{text}}), user}, "anthropic-messages", -1},
		"after a pause":            {[]llm.Message{user, llm.Assistant(call), llm.Assistant(found, text), user}, "anthropic-messages", -1},
		"paused twice":             {[]llm.Message{user, llm.Assistant(call), llm.Assistant(text)}, "anthropic-messages", -1},
		"which calls tools":        {[]llm.Message{user, llm.Assistant(call, inner), llm.ToolResults(llm.ToolResult{ID: "toolu_1", Content: []llm.Part{text}}), llm.Assistant(text)}, "anthropic-messages", -1},
		"of an MCP server":         {[]llm.Message{user, llm.Assistant(mcp), user}, "anthropic-messages", -1},
		"of a call without result": {[]llm.Message{user, llm.Assistant(found), user}, "anthropic-messages", -1},
		"of another provider":      {[]llm.Message{user, llm.Assistant(call), user}, "openai-responses", -1},
	} {
		for _, request := range []bool{false, true} {
			l := check.List{Run: "r", Protocol: c.protocol, Request: request}
			l.Add(c.messages...)
			got := -1
			list := slices.DeleteFunc(l.Done(), func(v check.Violation) bool { return v.Invariant != "INV-24" })
			if len(list) > 0 {
				got = list[0].Event
			}
			if got != c.want || len(list) > 1 || got >= 0 && list[0].Note {
				t.Errorf("%s, as a request %t: violations %v, want event %d", name, request, list, c.want)
			}
			if again := l.Done(); len(again) != len(list) {
				t.Errorf("%s: a second call returns %v", name, again)
			}
		}
	}
}
