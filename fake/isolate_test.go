package fake_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// apartModel responds with two steps of calls and then text.
func apartModel() *fake.Model {
	m := fake.NewModel(
		fake.Response{Text: "I will look.", Calls: []fake.Call{{ID: "a", Name: "look", Arguments: "{}"}}},
		fake.Response{Calls: []fake.Call{{ID: "b", Name: "note", Arguments: "{}"}}},
		fake.Response{Text: "Done."},
	)
	m.IsolateConversations = true
	return m
}

// turnOf sends a request in one session and returns the number of its response and attempt,
// from 1.
func turnOf(t *testing.T, m *fake.Model, messages ...llm.Message) string {
	t.Helper()
	_, place, err := m.Respond(context.Background(), &llm.Request{Messages: messages}, true)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d.%d", place.Response+1, place.Attempt)
}

// Conversations in one session do not change each other's position. A rewritten conversation
// continues.
func TestIsolateConversations(t *testing.T) {
	u, said := llm.User, llm.Assistant
	result := func(id, text string) llm.Message {
		return llm.ToolResults(llm.ToolResult{ID: id, Content: []llm.Part{llm.Text{Text: text}}})
	}
	look := said(llm.Text{Text: "I will look."}, llm.ToolCall{ID: "a", Name: "look", Arguments: "{}"})
	note := said(llm.ToolCall{ID: "b", Name: "note", Arguments: "{}"})
	minted := said(llm.Text{Text: "I will look."}, llm.ToolCall{ID: "x7", Name: "look", Arguments: "{}"})
	m := apartModel()
	for i, c := range []struct {
		messages []llm.Message
		want     string
	}{
		{[]llm.Message{u("A")}, "1.1"},
		{[]llm.Message{u("B")}, "1.1"},
		{[]llm.Message{u("A")}, "1.2"},
		{[]llm.Message{u("A"), look, result("a", "x")}, "2.1"},
		{[]llm.Message{u("B"), look, result("a", "y")}, "2.1"},
		{[]llm.Message{u("A"), minted, result("x7", "x")}, "2.1"},                                // the ids are the client's own
		{[]llm.Message{u("A"), look, result("a", "x"), note, result("b", "n")}, "3.1"},           // on to the end
		{[]llm.Message{u("A"), look, result("a", "cleared"), note, result("b", "n")}, "3.1"},     // an old result was taken out
		{[]llm.Message{u("A"), note, result("b", "n")}, "3.1"},                                   // a window: the first message and the last response
		{[]llm.Message{u("A"), look, result("a", "x"), look, result("a", "x")}, "3.1"},           // the text of an earlier response does not identify a conversation
		{[]llm.Message{u("A"), u("a summary")}, "4"},                                             // all messages except the first were replaced
		{[]llm.Message{u("C"), look, result("a", "x"), note, result("b", "n")}, "3.1"},           // the head was replaced
		{[]llm.Message{u("D"), look, result("a", "x"), said(llm.Text{Text: "?"}), u("")}, "3.1"}, // a response that is not from the script counts, too
		{[]llm.Message{u("E"), said(llm.Text{Text: "an example"}), u("now you")}, "1.1"},         // none is the script's
		{[]llm.Message{said(llm.Text{Text: ""}), u("E")}, "1.1"},
	} {
		got := turnOf(t, m, c.messages...)
		if c.want == "4" {
			if !strings.Contains(got, "response 4, attempt 1: no response left") {
				t.Errorf("request %d: got %s", i, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("request %d: response and attempt are %s, want %s", i, got, c.want)
		}
	}
	if diff := cmp.Diff([]string(nil), m.Unused()); diff != "" {
		t.Errorf("unused (-want +got):\n%s", diff)
	}
}

// The content of each attempt belongs to the script.
func TestIsolateAttempts(t *testing.T) {
	m := fake.NewModel(fake.Response{Attempts: []fake.Response{{Text: "one"}, {Text: " two "}}}, fake.Response{Text: "end"})
	m.IsolateConversations = true
	if got := turnOf(t, m, llm.User("x"), llm.Assistant(llm.Text{Text: "two"}), llm.User("y")); got != "2.1" {
		t.Errorf("response and attempt are %s", got)
	}
}

// Concurrent conversations get the responses that each would get alone.
func TestIsolateConcurrent(t *testing.T) {
	m := apartModel()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			history := []llm.Message{llm.User(fmt.Sprint("prompt ", i))}
			for step := range 3 {
				turn, err := llm.Collect(m.Stream(context.Background(), &llm.Request{Messages: history}))
				if err != nil {
					t.Error(err)
					return
				}
				history = append(history, turn.Message())
				for _, c := range turn.Calls() {
					history = append(history, llm.ToolResults(llm.ToolResult{ID: c.ID, Content: []llm.Part{llm.Text{Text: "ok"}}}))
				}
				if last := turn.Text() == "Done."; last != (step == 2) {
					t.Errorf("conversation %d, step %d: got %q", i, step, turn.Text())
				}
			}
		})
	}
	wg.Wait()
}
