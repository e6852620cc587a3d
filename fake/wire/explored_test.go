package wire_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// TestWorldRunsShareNothing: equal requests of two runs that continue a response by its id have the messages of their own runs.
func TestWorldRunsShareNothing(t *testing.T) {
	w := wire.NewWorld(wire.Config{Script: &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{
		{ResponseID: "resp_one", Text: "yes"}, {Text: "bye"},
	}}}}})
	for _, first := range []string{"one", "two", "one"} {
		changed := w.BeginAnswers(false)
		server := w.Begin()
		ask := func(body string) string {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://looptape.invalid/openai/v1/responses", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer any-key")
			got := make(chan string)
			go func() {
				defer close(got)
				response, err := server.Client().Do(r)
				if err != nil {
					return
				}
				text, _ := io.ReadAll(response.Body) // compared below
				_ = response.Body.Close()
				got <- string(text)
			}()
			select {
			case <-changed:
				w.Deliver(w.Pending()[0], 0, false)
				return <-got
			case text := <-got: // the request is rejected
				return text
			}
		}
		ask(`{"model":"m","input":"` + first + `"}`)
		text := ask(`{"model":"m","previous_response_id":"resp_one","input":"next"}`)
		messages := server.Received()[1].Messages
		if len(messages) != 3 || messages[0].Text() != first || !strings.Contains(text, "bye") {
			t.Errorf("the second request of the run that begins with %q has %v, and got %s", first, messages, text)
		}
		server.Release()
	}
}

// TestWorldNames: the names of concurrent requests and their order do not depend on which came first.
func TestWorldNames(t *testing.T) {
	w := wire.NewWorld(wire.Config{Script: &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Text: "yes"}}}}}})
	const start = "How is the weather, and how will it be tomorrow, in "
	user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	system := func(text string) string { return `{"role":"system","content":"` + text + `"}` }
	for _, tt := range []struct {
		name    string
		batches [][]string // messages of concurrent requests
		want    string     // names, and system prompts
	}{
		{"one", [][]string{{user("a")}}, `1`},
		{"two", [][]string{{user("a"), user("b")}}, `1 of "a", 1 of "b"`},
		{"long", [][]string{{user(start + "Bern: rain"), user(start + "Basel"), user("c")}},
			`1 of "How is the weather, and how will it be t… asel", 1 of "How is the weather, and how will it be t… ern: rain", 1 of "c"`},
		{"later", [][]string{{user(start + "Bern")}, {user(start + "Rome"), user(start + "Oslo")}},
			`1, 1 of "How is the weather, and how will it be t… Oslo", 1 of "How is the weather, and how will it be t… Rome"`},
		{"system prompt", [][]string{{system("y") + "," + user("a"), system("x") + "," + user("a")}}, `1 x, 1, attempt 2 y`},
		{"histories", [][]string{{user("a") + "," + system("y"), user("a") + "," + system("x")}}, `1 x, 1 y`},
	} {
		for _, reversed := range []bool{false, true} {
			changed := w.BeginAnswers(false)
			server := w.Begin()
			came := make(chan string)
			for i, batch := range tt.batches {
				if reversed {
					slices.Reverse(batch)
				}
				for _, messages := range batch {
					before := len(w.Pending())
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://looptape.invalid/openai/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[`+messages+`]}`))
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Authorization", "Bearer any-key")
					go func() {
						if response, err := server.Client().Do(r); err == nil {
							_ = response.Body.Close()
						}
						came <- messages
					}()
					for len(w.Pending()) == before {
						<-changed
					}
				}
				if i < len(tt.batches)-1 {
					server.Pending()
				}
			}
			var got []string
			for _, p := range server.Pending() {
				w.Deliver(p, 0, false)
				got = append(got, p.Name)
				if messages := <-came; strings.Contains(messages, system("x")) {
					got[len(got)-1] += " x"
				} else if strings.Contains(messages, system("y")) {
					got[len(got)-1] += " y"
				}
			}
			if text := strings.Join(got, ", "); text != tt.want {
				t.Errorf("%s, reversed %v: got %s, want %s", tt.name, reversed, text, tt.want)
			}
			server.Release()
		}
	}
}
