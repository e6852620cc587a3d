package gemini_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// TestVertex asks Gemini where Vertex AI has it, with a bearer token that is another
// one for each request.
func TestVertex(t *testing.T) {
	type asked struct{ URL, Authorization, Key, Body string }
	var got asked
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = asked{r.URL.String(), r.Header.Get("Authorization"), r.Header.Get("X-Goog-Api-Key"), string(body)}
		const answer = `{"candidates":[{"content":{"parts":[{"text":"hi"}],"role":"model"},"finishReason":"STOP"}]}`
		if r.URL.Query().Get("alt") != "sse" {
			_, _ = io.WriteString(w, answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+answer+"\n\n")
	}))
	defer s.Close()
	tokens := []string{"ya29.first", "ya29.second"}
	c := &protocol.Client{
		Protocol: codec,
		BaseURL:  s.URL + "/v1/projects/my-project/locations/us-central1/publishers/google",
		HTTP:     s.Client(),
		Authorize: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+tokens[0])
			tokens = tokens[1:]
			return nil
		},
	}
	const path, body = "/v1/projects/my-project/locations/us-central1/publishers/google/models/gemini-2.5-flash", `{"contents":[{"parts":[{"text":"hello"}],"role":"user"}]}`
	for _, x := range []struct {
		delivery llm.ResponseMode
		want     asked
	}{
		{llm.Streaming, asked{URL: path + ":streamGenerateContent?alt=sse", Authorization: "Bearer ya29.first", Body: body}},
		{llm.NonStreaming, asked{URL: path + ":generateContent", Authorization: "Bearer ya29.second", Body: body}},
	} {
		turn, err := llm.Collect(c.Stream(t.Context(), &llm.Request{Model: "gemini-2.5-flash", Messages: []llm.Message{llm.User("hello")}, ResponseMode: x.delivery}))
		if err != nil || turn.Text() != "hi" {
			t.Errorf("%q: got %q, %v", x.delivery, turn.Text(), err)
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", x.delivery, diff)
		}
	}
}
