package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// A builtin tool is sent in the provider's own form, with functions and alone.
func TestEncodeRequestBuiltin(t *testing.T) {
	for _, c := range []struct {
		protocol protocol.Protocol
		builtin  string
		function string // a tool of the request
	}{
		{chat.Protocol{}, `{"type":"custom","custom":{"name":"code"}}`, `{"type":"function","function":{"name":"a"}}`},
		{responses.Protocol{}, `{"type":"web_search","search_context_size":"low"}`, `{"type":"function","name":"a","parameters":{"type":"object","properties":{}},"strict":false}`},
		{anthropic.Messages{}, `{"type":"web_search_20250305","name":"web_search","max_uses":2}`, `{"name":"a","input_schema":{"type":"object"}}`},
		{gemini.GenerateContent{}, `{"googleSearch":{}}`, `{"functionDeclarations":[{"name":"a"}]}`},
	} {
		own, function := llm.Tool{Name: "search", Description: "not sent", Builtin: json.RawMessage(" " + c.builtin)}, llm.Tool{Name: "a"}
		tools := func(list ...llm.Tool) (got []any) {
			t.Helper()
			r, err := c.protocol.EncodeRequest(&llm.Request{Model: "m", Messages: []llm.Message{llm.User("go")}, Tools: list})
			if err != nil {
				t.Fatalf("%s: %v", c.protocol.Name(), err)
			}
			var body struct{ Tools []any }
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatalf("%s: %v", c.protocol.Name(), err)
			}
			return body.Tools
		}
		parse := func(list ...string) (want []any) {
			t.Helper()
			if err := json.Unmarshal([]byte("["+strings.Join(list, ",")+"]"), &want); err != nil {
				t.Fatal(err)
			}
			return want
		}
		if diff := cmp.Diff(parse(c.builtin, c.function), tools(own, function)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.protocol.Name(), diff)
		}
		if diff := cmp.Diff(parse(c.builtin), tools(own)); diff != "" {
			t.Errorf("%s, alone (-want +got):\n%s", c.protocol.Name(), diff)
		}
		own.Builtin = json.RawMessage(`{"type":`)
		_, err := c.protocol.EncodeRequest(&llm.Request{Model: "m", Messages: []llm.Message{llm.User("go")}, Tools: []llm.Tool{function, own}})
		if want := `tools[1]: the builtin tool "search" is not a JSON object`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %s", c.protocol.Name(), err, want)
		}
	}
}
