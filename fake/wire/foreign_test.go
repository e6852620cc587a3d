package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// origins is a response of each protocol with all that must come back: reasoning, text, opaque
// data, a call.
var origins = map[string]string{
	"openai-chat": `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"T","novel":1,
		"annotations":[{"type":"url_citation","url_citation":{"url":"u"}},{"type":"file","file":{"hash":"h"}}],"images":[{"type":"image_url"}],"audio":{"id":"audio_1","data":"AA"},
		"tool_calls":[{"id":"functions.f:0","type":"function","extra_content":{"google":{"thought_signature":"c2ln"}},"x":1,"function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}`,
	"openai-responses": `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"T"}],"encrypted_content":"gAAAAABo"},
		{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"hi","annotations":[{"type":"url_citation","url":"u"}]}]},
		{"type":"function_call","id":"fc_1","call_id":"call_1","namespace":"n","name":"f","arguments":"{\"a\":1}","status":"completed"}],"novel":1}`,
	"anthropic-messages": `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"thinking","thinking":"T","signature":"EqQBCg=="},
		{"type":"text","text":"hi","citations":[{"type":"web_search_result_location","url":"u","encrypted_index":"I"}]},
		{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1},"caller":{"type":"direct"}}],"stop_reason":"tool_use","container":{"id":"cont_1"},"novel":1}`,
	"gemini": `{"candidates":[{"content":{"role":"model","parts":[{"text":"T","thought":true},{"text":"hi","thoughtSignature":"c2ln"},
		{"functionCall":{"id":"abc","name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP","novel":1}]}`,
}

// private is the part of them that only their own protocol gets.
var private = map[string][]string{
	"openai-chat":        {"novel", `"T"`, "annotations", "image_url", "audio_1", "reasoning_content", "extra_content", "c2ln"},
	"openai-responses":   {"novel", `"T"`, "rs_1", "gAAAABo", "msg_1", "fc_1", "commentary", "namespace", "url_citation"},
	"anthropic-messages": {"novel", `"T"`, "EqQBCg==", "encrypted_index", "direct", "cont_1"},
	"gemini":             {"novel", "c2ln"},
}

// A history of one provider continues with every other provider, without its opaque data.
func TestForeignHistories(t *testing.T) {
	for _, from := range protocols {
		var acc llm.Accumulator
		if err := from.proto.DecodeResponse([]byte(origins[from.name]), func(ev llm.Event) { acc.Add(ev) }); err != nil {
			t.Fatal(err)
		}
		turn := acc.Response().Message()
		history := []llm.Message{llm.User("x"), turn}
		for _, c := range turn.Calls() {
			history = append(history, llm.ToolResults(llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: "r"}}}))
		}
		for _, to := range protocols {
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				s, clients := serve(t, wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})}, "")
				req := request(llm.NonStreaming, history...)
				if from.name == "anthropic-messages" && to.name == from.name { // SA-16
					req.Settings.MaxTokens = 4096
					req.Extra = map[string]json.RawMessage{"thinking": raw(`{"type":"enabled","budget_tokens":1024}`)}
				}
				if asked, err := to.proto.EncodeRequest(req); err == nil && from.name != to.name {
					for _, mark := range private[from.name] {
						if strings.Contains(string(asked.Body), mark) {
							t.Errorf("%s is in the request: %s", mark, asked.Body)
						}
					}
				}
				got, err := ask(clients[to.name], req)
				if err != nil || got.Text() != "ok" {
					t.Errorf("got %q, %v", got.Text(), err)
				}
				if v := s.Report().Violations; len(v) != 0 {
					t.Errorf("violations: %v", v)
				}
			})
		}
	}
}

// novelties are parts of a kind that llm does not define, one per protocol.
var novelties = map[string]llm.Unknown{
	"openai-chat":        {Kind: "reference", Raw: raw(`{"type":"reference","reference_ids":[7]}`)},
	"openai-responses":   {Kind: "mcp_list_tools", Raw: raw(`{"type":"mcp_list_tools","id":"mcpl_7","tools":[]}`)},
	"anthropic-messages": {Kind: "novelty", Raw: raw(`{"type":"novelty","x":7}`)},
	"gemini":             {Kind: "gemini_part", Raw: raw(`{"type":"gemini_part","part":{"novelty":7}}`)},
}

// A part of an unknown kind is sent to its own protocol only. Other protocols omit it from
// responses and results, and reject it in a user message.
func TestForeignParts(t *testing.T) {
	result := llm.ToolResult{ID: "call_1", Name: "f", Content: []llm.Part{llm.Text{Text: "r"}}}
	for _, from := range protocols {
		novelty := novelties[from.name]
		turn := llm.Assistant(llm.Text{Text: "hi"}, novelty, llm.ToolCall{ID: "call_1", Name: "f", Arguments: "{}"})
		tool := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{result, novelty}}
		within := result
		within.Content = []llm.Part{llm.Text{Text: "r"}, novelty}
		for _, to := range protocols {
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				asked, err := to.proto.EncodeRequest(request(llm.NonStreaming, llm.User("x"), turn, llm.ToolResults(result)))
				if err != nil || strings.Contains(string(asked.Body), "7") != (from.name == to.name) {
					t.Fatalf("error %v, sent: %s", err, asked.Body)
				}
				if from.name == to.name {
					return
				}
				s, clients := serve(t, wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})}, "")
				got, err := ask(clients[to.name], request(llm.NonStreaming, llm.User("x"), turn, tool))
				if v := s.Report().Violations; err != nil || got.Text() != "ok" || len(v) != 0 {
					t.Errorf("got %q, %v, violations: %v", got.Text(), err, v)
				}
				for place, messages := range map[string][]llm.Message{
					"messages[0].parts[1]": {{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "x"}, novelty}}},
					"messages[2].parts[0]": {llm.User("x"), turn, llm.ToolResults(within)},
				} {
					if _, err := to.proto.EncodeRequest(request(llm.NonStreaming, messages...)); err == nil || !strings.HasPrefix(err.Error(), place) {
						t.Errorf("no error of %s: %v", place, err)
					}
				}
			})
		}
	}
}
