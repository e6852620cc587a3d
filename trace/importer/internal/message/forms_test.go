package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer/internal/message"
)

// A decoded message shares no memory with the next one that is decoded.
func TestDecodeOneCopies(t *testing.T) {
	for _, c := range []struct {
		protocol protocol.Protocol
		list     string
		text     string
	}{
		{anthropic.Messages{}, "messages", `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"a\"b","citations":[{"x":1}]},{"type":"tool_use","id":"c1","name":"f","input":{"a":"b"}},{"type":"zork","of":[1,2]}],"extra":{"k":"v"}}`},
		{anthropic.Messages{}, "messages", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"r"},{"type":"zork"}]},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="}}]}`},
		{anthropic.Messages{}, "messages", `{"role":"user","content":"hello"}`},
		{responses.Protocol{}, "input", `{"type":"reasoning","id":"rs1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"ZW5j"}`},
		{responses.Protocol{}, "input", `{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}","status":"completed"}`},
		{responses.Protocol{}, "input", `{"type":"zork_call","of":{"a":[1]}}`},
	} {
		first := encoded(t, c.protocol, c.list, c.text, func() {
			for range 8 { // the buffer may be that of another processor
				_, _ = message.DecodeOne(c.protocol, c.list, json.RawMessage(strings.Repeat("#", len(c.text)+100)))
			}
		})
		if diff := cmp.Diff(encoded(t, c.protocol, c.list, c.text, func() {}), first); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.text, diff)
		}
	}
}

// encoded decodes a message, calls then, and returns what the message is afterwards.
func encoded(t *testing.T, p protocol.Protocol, list, text string, then func()) string {
	t.Helper()
	messages, invalid := message.DecodeOne(p, list, json.RawMessage(text))
	if invalid != nil || len(messages) == 0 {
		t.Fatalf("%s: %v", text, invalid)
	}
	then()
	var out []byte
	for _, m := range messages {
		out = m.AppendJSON(out)
	}
	return string(out)
}
