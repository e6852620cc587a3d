package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
)

func ExampleNewChat() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()

	model := openai.NewChat("sk-…")
	model.BaseURL = server.URL // without it, the server of OpenAI
	response, err := llm.Collect(model.Stream(context.Background(), &llm.Request{
		Model:    "gpt-5-mini",
		Messages: []llm.Message{llm.User("Say hello.")},
	}))
	fmt.Println(response.Text(), response.FinishReason, err)
	// Output: Hello stop <nil>
}

func ExampleNewResponses() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprint(w, `{"error":{"message":"Slow down.","type":"requests","code":"rate_limit_exceeded"}}`)
	}))
	defer server.Close()

	model := openai.NewResponses("sk-…")
	model.BaseURL = server.URL
	_, err := llm.Collect(model.Stream(context.Background(), &llm.Request{
		Model:    "gpt-5",
		Messages: []llm.Message{llm.User("Say hello.")},
	}))
	fmt.Println(err)
	// Output: openai-responses: status 429 rate_limit_exceeded: Slow down.
}
