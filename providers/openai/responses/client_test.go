package responses_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// serve responds to each request with these bytes.
func serve(status int, contentType, body string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
}

func ExampleProtocol() {
	const answer = `{"id":"resp_1","status":"completed","model":"gpt-5","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello!"}]}]}`
	server := serve(http.StatusOK, "application/json", answer)
	defer server.Close()

	model := &protocol.Client{
		Protocol:  responses.Protocol{},
		BaseURL:   server.URL, // openai.BaseURL for OpenAI itself
		Authorize: openai.Key("sk-example"),
	}
	turn, err := llm.Collect(model.Stream(context.Background(), &llm.Request{Model: "gpt-5", Messages: []llm.Message{llm.User("hi")}}))
	fmt.Println(turn.Text(), turn.FinishReason, err)
	// Output: Hello! stop <nil>
}

// The same response comes over HTTP in both forms, and no error contains the key.
func TestResponsesOverHTTP(t *testing.T) {
	const key = "sk-planted-0123456789"
	ask := func(status int, contentType, body string) (*llm.Response, error) {
		server := serve(status, contentType, body)
		defer server.Close()
		model := &protocol.Client{Protocol: responses.Protocol{}, BaseURL: server.URL, Authorize: openai.Key(key)}
		return llm.Collect(model.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hi")}}))
	}
	for contentType, body := range map[string]string{
		"text/event-stream": plainHello,
		"application/json":  `{"id":"resp_1","status":"completed","output":[{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hello"}]}]}`,
	} {
		turn, err := ask(http.StatusOK, contentType, body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(helloParts, turn.Parts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", contentType, diff)
		}
	}
	for _, c := range []struct {
		status            int
		contentType, body string
	}{
		{401, "application/json", `{"error":{"message":"Incorrect API key provided: ` + key + `.","code":"` + key + `"}}`},
		{401, "application/json", `{"error":{"message":"Incorrect API key provided: sk-plant****6789."}}`},
		{200, "text/event-stream", stream(`{"type":"error","code":"x","message":"` + key + `"}`)},
		{200, "text/event-stream", stream(`{"type":"response.failed","response":{"error":{"code":"x","message":"` + key + `"}}}`)},
		{200, "text/event-stream", stream(`{"type":"` + key)},
		{200, "application/json", `{"error":"` + key + `"}`},
		{200, "application/json", key},
	} {
		_, err := ask(c.status, c.contentType, c.body)
		if err == nil || strings.Contains(err.Error(), "planted") || strings.Contains(err.Error(), "6789") {
			t.Errorf("%s: got %v", c.body, err)
		}
	}
}
