package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// Descriptive data of a response may come back; data that the provider requires must.
func TestWatchOpaque(t *testing.T) {
	lost := []string{"2 INV-22"}
	for _, c := range []struct {
		kind, received, back string
		want                 []string
	}{
		{"openai-chat", `{"chat_answer":{"message":{"x":1},"choice":{"y":2},"response":{"z":3}}}`, ``, nil},
		{"openai-chat", `{"annotations":[{"type":"url_citation"}],"images":[1],"logprobs":{"content":[2]}}`, ``, nil},
		{"openai-chat", `{"annotations":[{"type":"url_citation"}]}`, `{"annotations":[{"type":"url_citation"}]}`, nil},
		{"openai-chat", `{"annotations":[{"type":"url_citation"}]}`, `{"chat:annotations":[{ "type":"url_citation" }]}`, nil},
		{"openai-chat", `{"extra_content":{"a":1.5,"b":2},"chat_answer":{"response":{"z":3}}}`, `{"extra_content":{"b":2,"a":1.50}}`, nil},
		{"openai-chat", `{"extra_content":{"a":1}}`, `{"extra_content":{"a":2}}`, lost},
		{"openai-chat", `{"extra_content":{"a":1}}`, `{"name":"b"}`, lost},
		{"openai-chat", `{"extra_content":{"a":1}}`, ``, lost},
		{"openai-chat", `{"audio":{"id":"audio_1","data":"AA"}}`, `{"audio":{"id":"audio_1"}}`, nil},
		{"openai-chat", `{"audio":{"id":"audio_1","data":"AA"}}`, `{"audio":{"id":"audio_2"}}`, lost},
		{"openai-responses", `{"responses_answer":{"x":1}}`, ``, nil},
		{"anthropic-messages", `{"anthropic_answer":{"x":1},"stop_sequence":"END"}`, ``, nil},
		{"anthropic-messages", `{"container":{"id":"c"},"stop_sequence":"END"}`, `{"container":{"id":"c"}}`, nil},
		{"anthropic-messages", `{"container":{"id":"c"},"anthropic_answer":{"x":1}}`, `{"container":{"id":"d"}}`, lost},
		{"anthropic-messages", `{"container":{"id":"c"}}`, ``, lost},
		{"gemini", `{"gemini_answer":{"candidate":{"x":1},"response":{"y":2}}}`, ``, nil},
	} {
		for name, responseMode := range map[string]llm.ResponseMode{"streaming": llm.Streaming, "non-streaming": llm.NonStreaming} {
			t.Run(c.kind+" "+name+" "+c.received+c.back, func(t *testing.T) {
				received := fake.Response{Events: []llm.Event{llm.TextDelta{Text: "hi"}, llm.Finish{Reason: llm.FinishStop, Opaque: raw(c.received)}}}
				s, clients := pipe(t, wire.Config{Model: fake.NewModel(received, fake.Response{Text: "Bye."})}, "")
				first, err := ask(clients[c.kind], request(responseMode, llm.User("x")))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(decoded(t, c.received), decoded(t, string(first.Opaque))); diff != "" {
					t.Fatalf("reported (-want +got):\n%s", diff)
				}
				turn := first.Message()
				if turn.Opaque = nil; c.back != "" {
					turn.Opaque = raw(c.back)
				}
				if _, err := ask(clients[c.kind], request(responseMode, llm.User("x"), turn, llm.User("y"))); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, broke(s.Report())); diff != "" {
					t.Errorf("violations (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
