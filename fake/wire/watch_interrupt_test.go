package wire_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// A user may interrupt the model. The client may omit a response whose end it has not
// received, or truncate it there.
func TestWatchInterrupted(t *testing.T) {
	for _, k := range protocols {
		for name, behind := range map[string][]llm.Message{
			"omitted": {llm.User("No, stop.")}, "truncated": {llm.Assistant(llm.Text{Text: "I will"}), llm.User("No, stop.")},
		} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				if r := interrupted(t, k.name, behind, true); !r.OK() {
					t.Errorf("the report is %+v", r)
				}
			})
		}
	}
}

// The client must send back a response that it received completely, even if it arrived slowly.
func TestWatchReceived(t *testing.T) {
	got := interrupted(t, "openai-chat", []llm.Message{llm.User("No, stop.")}, false)
	if diff := cmp.Diff([]string{"3 INV-05"}, broke(got)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// interrupted returns the report on three requests; the last one is the second with more after
// it. The client disconnects before the end of the second response, or reads it all.
func interrupted(t *testing.T, protocol string, behind []llm.Message, leaves bool) wire.Report {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	wait := func(here context.Context, _ time.Duration) error {
		if leaves {
			leave()
			<-here.Done()
		}
		return here.Err()
	}
	call := func(id string) []fake.Call { return []fake.Call{{ID: id, Name: "weather", Arguments: "{}"}} }
	s, clients := pipe(t, wire.Config{Delays: true, Wait: wait, Model: &fake.Model{IsolateConversations: true, Responses: []fake.Response{
		{Calls: call("call_1")}, {Text: "I will look again.", Calls: call("call_2"), EventInterval: time.Second}, {Text: "as you like"},
	}}}, "a")
	client := clients[protocol]
	history := []llm.Message{llm.User("How is the weather?")}
	first, err := ask(client, request(llm.Streaming, history...))
	if err != nil {
		t.Fatal(err)
	}
	history = append(history, first.Message(), llm.ToolResults(llm.ToolResult{ID: "call_1", Name: "weather", Content: []llm.Part{llm.Text{Text: "rain"}}}))
	if _, err := llm.Collect(client.Stream(ctx, request(llm.Streaming, history...))); (err != nil) != leaves {
		t.Fatalf("the second response: %v", err)
	}
	last, err := ask(client, request(llm.Streaming, append(history, behind...)...))
	if err != nil || last.Text() != "as you like" {
		t.Fatalf("the last response is %q, %v", last.Text(), err)
	}
	return s.Done()
}
