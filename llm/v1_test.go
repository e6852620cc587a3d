package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// The JSON forms of version 1 are read as those of version 2.
func TestUnmarshalVersion1(t *testing.T) {
	var r llm.Request
	err := json.Unmarshal([]byte(`{"model":"m","messages":[{"role":"assistant","parts":[{"type":"tool_call","id":"a","name":"n","args_b64":"/w==","minted":true,"provider_id":"p"}]},`+
		`{"role":"tool","parts":[{"type":"tool_result","id":"a","content":[]}]}],"delivery":"buffered","settings":{"stop":["x"],"parallel_calls":false,"reasoning":"low"}}`), &r)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Request{
		Model: "m", ResponseMode: llm.NonStreaming,
		Messages: []llm.Message{
			llm.Assistant(llm.ToolCall{ID: "a", Name: "n", Arguments: "\xff", IDGenerated: true, ProviderID: "p"}),
			llm.ToolResults(llm.ToolResult{ID: "a"}),
		},
		Settings: llm.Settings{StopSequences: []string{"x"}, ParallelToolCalls: new(false), ReasoningEffort: "low"},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	for text, want := range map[string]llm.Event{
		`{"type":"tool_call_delta","id":"a","args":"{"}`: llm.ToolCallDelta{ID: "a", Arguments: "{"},
		`{"type":"tool_call_end","args":"{}"}`:           llm.ToolCallEnd{Arguments: "{}"},
		`{"type":"usage","input":1,"output":2,"cached":3,"cache_write":4,"reasoning":5}`: llm.Usage{
			InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4, ReasoningOutputTokens: 5,
		},
	} {
		got, err := llm.UnmarshalEvent([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("UnmarshalEvent(%s): error %v (-want +got):\n%s", text, err, diff)
		}
	}
}
