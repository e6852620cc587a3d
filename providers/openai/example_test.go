package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
)

func Example() {
	// A server that answers as OpenAI does.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()

	model := &protocol.Client{
		Protocol:  chat.Protocol{},
		BaseURL:   server.URL, // or openai.BaseURL
		Authorize: openai.Key("sk-…"),
	}
	turn, err := llm.Collect(model.Stream(context.Background(), &llm.Request{
		Model:    "gpt-5-mini",
		Messages: []llm.Message{llm.User("Say hello.")},
	}))
	fmt.Println(turn.Text(), turn.FinishReason, err)
	// Output: Hello stop <nil>
}
