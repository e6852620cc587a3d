package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/protocol"
)

func ExampleMessages() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn"}`)
	}))
	defer server.Close()

	model := &protocol.Client{
		Protocol:  anthropic.Messages{},
		BaseURL:   server.URL, // or anthropic.BaseURL
		Authorize: anthropic.Key("sk-ant-…"),
	}
	response, err := llm.Collect(model.Stream(context.Background(), &llm.Request{
		Model:        "claude-sonnet-4-5",
		Messages:     []llm.Message{llm.User("Say hello.")},
		ResponseMode: llm.NonStreaming,
	}))
	fmt.Println(response.Text(), response.FinishReason, err)
	// Output: Hello stop <nil>
}
