package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// A client that sends only the last messages, with or without the first one, breaks INV-05
// only, and the conversation continues. Its calls are those of the responses.
func TestWatchWindow(t *testing.T) {
	noIDs, err := wire.ParseQuirk("QG-03") // which is of Gemini alone
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range protocols {
		for name, c := range map[string]struct {
			head   int
			quirks []wire.Quirk
		}{"the first and the last": {head: 1}, "the last": {}, "without ids": {1, []wire.Quirk{noIDs}}} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				if c.head == 0 && k.provider != wire.OpenAI {
					t.Skip("the provider refuses a conversation that the assistant begins (SA-17, SG-02)")
				}
				model := fake.NewModel(
					fake.Response{Calls: []fake.Call{{ID: "c1", Name: "weather", Arguments: `{"city":"Bern"}`}}},
					fake.Response{Calls: []fake.Call{{ID: "c2", Name: "weather", Arguments: `{"city":"Rome"}`}}},
					fake.Response{Calls: []fake.Call{{ID: "c3", Name: "weather", Arguments: `{"city":"Oslo"}`}}},
					fake.Response{Text: "Done."},
				)
				model.IsolateConversations = true
				s, clients := pipe(t, wire.Config{Model: model, Quirks: c.quirks, Suppress: map[string]string{"INV-05": "a window"}}, "")
				history := []llm.Message{llm.User("A")}
				var said string
				for step := range 4 {
					sent := history
					if step > 0 {
						sent = append(history[:c.head:c.head], history[len(history)-2:]...)
					}
					turn, err := ask(clients[k.name], request(llm.NonStreaming, sent...))
					if err != nil {
						t.Fatal(err)
					}
					said = turn.Text()
					history = append(history, turn.Message())
					for _, c := range turn.Calls() {
						history = append(history, llm.ToolResults(llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: "rain"}}}))
					}
				}
				if said != "Done." {
					t.Errorf("the last response is %q", said)
				}
				report := s.Done()
				want := []string{"2 INV-05", "3 INV-05", "4 INV-05"}[c.head:]
				if diff := cmp.Diff(want, broke(report)); diff != "" || !report.OK() {
					t.Errorf("violations (-want +got):\n%s\n%+v", diff, report.Violations)
				}
				behind := "the messages before it are missing"
				if c.head == 1 {
					behind = "the messages before it are not those of that request"
				}
				for _, v := range report.Violations {
					if !strings.HasSuffix(v.Message, behind) {
						t.Errorf("the message is %q, want …%s", v.Message, behind)
					}
				}
			})
		}
	}
}
