package wire_test

import (
	"io"
	"net/http"
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
