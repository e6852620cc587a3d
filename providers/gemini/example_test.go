package gemini_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/protocol"
)

func ExampleGenerateContent() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}],"role":"model"},"finishReason":"STOP"}]}`+"\n\n")
	}))
	defer server.Close()

	model := &protocol.Client{
		Protocol:  gemini.GenerateContent{},
		BaseURL:   server.URL, // or gemini.BaseURL
		Authorize: gemini.Key("…"),
	}
	response, err := llm.Collect(model.Stream(context.Background(), &llm.Request{
		Model:    "gemini-3-pro",
		Messages: []llm.Message{llm.User("How is the weather in Oslo?")},
		Tools:    []llm.Tool{{Name: "weather"}},
	}))
	for _, call := range response.Calls() {
		fmt.Println(call.Name, call.Arguments, err)
	}
	// Output: weather {"city":"Oslo"} <nil>
}
