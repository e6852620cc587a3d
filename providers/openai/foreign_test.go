package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// foreignTurns are responses of other providers, and of the other protocol of this one.
var foreignTurns = map[string]llm.Message{
	"anthropic": llm.Assistant(
		llm.Reasoning{Text: "T", Opaque: raw(`{"signature":"S"}`)},
		llm.ToolCall{ID: "srvtoolu_1", Name: "web_search", Arguments: "{}", ProviderExecuted: true, Opaque: raw(`{"type":"server_tool_use"}`)},
		llm.Unknown{Kind: "web_search_tool_result", Raw: raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)},
		llm.Unknown{Kind: "compaction", Raw: raw(`{"type":"compaction","content":"C"}`)},
		llm.Unknown{Kind: "novel", Raw: raw(`{"type":"novel","id":"nov_1"}`)},
		llm.Text{Text: "hi", Opaque: raw(`{"citations":[{"url":"u"}]}`)},
		llm.ToolCall{ID: "call_1", Name: "f", Arguments: "{}", Opaque: raw(`{"caller":{"type":"direct"}}`)},
	),
	"gemini": llm.Assistant(
		llm.ToolCall{Name: "code_execution", ProviderExecuted: true, Opaque: raw(`{"executableCode":{"code":"1"}}`)},
		llm.ToolResult{Name: "code_execution", Opaque: raw(`{"codeExecutionResult":{"output":"1"}}`)},
		llm.Unknown{Kind: "gemini_part", Raw: raw(`{"type":"gemini_part","part":{"new":1}}`)},
		llm.Text{Text: "hi", Opaque: raw(`{"thoughtSignature":"S"}`)},
		llm.ToolCall{ID: "call_1", Name: "f", Arguments: "{}", Opaque: raw(`{"thoughtSignature":"S","gemini":{"x":1}}`)},
	),
	"chat": {
		Role: llm.RoleAssistant,
		Parts: []llm.Part{
			llm.Reasoning{Text: "T", Opaque: raw(`{"field":"reasoning_content"}`)},
			llm.Unknown{Kind: "reference", Raw: raw(`{"type":"reference","reference_ids":[1]}`)},
			llm.Text{Text: "hi", Opaque: raw(`{"chat:x":1}`)},
			llm.ToolCall{ID: "call_1", Name: "f", Arguments: "{}", Opaque: raw(`{"extra_content":{"google":{"thought_signature":"S"}}}`)},
		},
		Opaque: raw(`{"extra_content":{"google":{"thought_signature":"c2ln"}},"annotations":[{"type":"url_citation","url_citation":{"url":"u"}}],"images":[{"type":"image_url"}],"audio":{"data":"AABB","id":"audio_1"},"logprobs":{"content":[{"token":"a"}]},"chat_answer":{"message":{"novel":{"x":1}},"choice":{"matched_stop":2},"response":{"citations":["u"]}}}`),
	},
	"responses": {
		Role: llm.RoleAssistant,
		Parts: []llm.Part{
			llm.Reasoning{Text: "T", Opaque: raw(`{"id":"rs_1","summary":[],"encrypted_content":"E"}`)},
			llm.ToolCall{ID: "ws_1", Name: "web_search", ProviderExecuted: true, Opaque: raw(`{"type":"web_search_call","id":"ws_1"}`)},
			llm.Unknown{Kind: "compaction", Raw: raw(`{"type":"compaction","id":"cmp_1","encrypted_content":"E"}`)},
			llm.Text{Text: "hi", Opaque: raw(`{"id":"msg_1","phase":"commentary","annotations":[{"url":"u"}]}`)},
			llm.ToolCall{ID: "call_1", Name: "f", Arguments: "{}", Opaque: raw(`{"id":"fc_1","namespace":"n"}`)},
		},
		Opaque: raw(`{"responses_answer":{"citations":["u"],"novel":{"x":1}}}`),
	},
}

// said is the member of a request that has the conversation.
func said(t *testing.T, p protocol.Protocol, key string, messages ...llm.Message) string {
	t.Helper()
	out, err := p.EncodeRequest(&llm.Request{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(out.Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body[key])
}

// What is another provider's alone is not sent.
func TestForeignMessages(t *testing.T) {
	const call = `{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}`
	const text, item = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`, `{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}`
	for origin, turn := range foreignTurns {
		if origin != "chat" {
			want := `[{"role":"assistant","content":[{"type":"text","text":"hi"}],"tool_calls":[` + call + `]}]`
			if diff := cmp.Diff(want, said(t, chat.Protocol{}, "messages", turn)); diff != "" {
				t.Errorf("%s to Chat (-want +got):\n%s", origin, diff)
			}
		}
		if origin != "responses" {
			if diff := cmp.Diff("["+text+","+item+"]", said(t, responses.Protocol{}, "input", turn)); diff != "" {
				t.Errorf("%s to Responses (-want +got):\n%s", origin, diff)
			}
		}
	}
	image := llm.Media{MediaType: "image/*", URL: "u", Opaque: raw(`{"detail":"low"}`)}
	user := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{image}, Opaque: raw(`{"id":"msg_7","name":"bob"}`)}
	if got := said(t, chat.Protocol{}, "messages", user); got != `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}],"name":"bob"}]` {
		t.Errorf("a user to Chat: %s", got)
	}
	if got := said(t, responses.Protocol{}, "input", user); got != `[{"role":"user","id":"msg_7","content":[{"type":"input_image","image_url":"u","detail":"low"}]}]` {
		t.Errorf("a user to Responses: %s", got)
	}
}

// A message with nothing left is not sent, like an empty one.
func TestEmptyMessages(t *testing.T) {
	search := foreignTurns["anthropic"].Parts[:4]
	for name, turn := range map[string]llm.Message{
		"nothing": llm.Assistant(), "an empty text": llm.Assistant(llm.Text{}), "a search": llm.Assistant(search...),
		"signed silence": llm.Assistant(llm.Text{Opaque: raw(`{"thoughtSignature":"S"}`)}),
	} {
		if got := said(t, chat.Protocol{}, "messages", llm.User("a"), turn, llm.User("b")); got != `[{"role":"user","content":"a"},{"role":"user","content":"b"}]` {
			t.Errorf("%s to Chat: %s", name, got)
		}
		if got := said(t, responses.Protocol{}, "input", llm.User("a"), turn, llm.User("b")); got != `[{"role":"user","content":"a"},{"role":"user","content":"b"}]` {
			t.Errorf("%s to Responses: %s", name, got)
		}
	}
	for name, turn := range map[string]llm.Message{
		"reasoning": llm.Assistant(llm.Reasoning{Text: "T", Opaque: raw(`{"field":"reasoning"}`)}),
		"a sound":   {Role: llm.RoleAssistant, Opaque: raw(`{"audio":{"id":"audio_1"}}`)},
		"a refusal": llm.Assistant(llm.Text{Text: "no", Refusal: true}),
	} {
		if got := said(t, chat.Protocol{}, "messages", turn); !strings.Contains(got, "assistant") {
			t.Errorf("%s to Chat: %s", name, got)
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }
