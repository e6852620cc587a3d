package clients

import (
	"cmp"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// adapter is one of ours.
type adapter struct {
	protocol  protocol.Protocol
	authorize func(*http.Request) error
	below     string // the base URL of its official SDK
	model     string
}

var (
	ourChat      = adapter{chat.Protocol{}, openai.Key(key), "", "gpt-4.1"}
	ourResponses = adapter{responses.Protocol{}, openai.Key(key), "", "gpt-5"}
	ourMessages  = adapter{anthropic.Messages{}, anthropic.Key(key), "", "claude-sonnet-4-5"}
	ourGemini    = adapter{gemini.GenerateContent{}, gemini.Key(key), "/v1beta", "gemini-3-pro-preview"}
)

// TestAdapters plays the scenario with our own adapters.
func TestAdapters(t *testing.T) {
	t.Run("openai-chat", func(t *testing.T) { chatScript.run(t, ourChat.play) })
	t.Run("openai-responses", func(t *testing.T) { responsesScript.run(t, ourResponses.play) })
	t.Run("anthropic-messages", func(t *testing.T) { messagesScript.run(t, ourMessages.play) })
	t.Run("gemini", func(t *testing.T) { geminiScript.run(t, ourGemini.play) })
}

// play is how the adapter plays the scenario.
func (a adapter) play(t *testing.T, base string, stream bool) (steps []step) {
	client := &protocol.Client{Protocol: a.protocol, BaseURL: base + a.below, Authorize: a.authorize}
	req := &llm.Request{
		Model: a.model, System: llm.SystemText(system), Messages: []llm.Message{llm.User(question)},
		Tools: []llm.Tool{{Name: "weather", Description: "the weather of a city", Parameters: marshal(t, weather)}},
	}
	if a.protocol.Name() == "anthropic-messages" {
		req.Extra = map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)}
	}
	if !stream {
		req.ResponseMode = llm.NonStreaming
	}
	for {
		turn, err := llm.Collect(client.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		if len(turn.Warnings) > 0 {
			t.Errorf("warnings: %v", turn.Warnings)
		}
		s := step{Text: turn.Text(), Finish: cmp.Or(turn.RawFinishReason, string(turn.FinishReason)), Usage: turn.Usage}
		s.Reasoning, _ = turn.Reasoning()
		var results []llm.ToolResult
		for _, c := range turn.Calls() {
			s.Calls = append(s.Calls, call{c.ID, c.Name, c.Arguments})
			results = append(results, llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: outputFor(t, c.Arguments)}}})
		}
		req.Messages = append(req.Messages, turn.Message(), llm.ToolResults(results...))
		if steps = append(steps, s); len(s.Calls) == 0 || len(steps) > 3 {
			return steps
		}
	}
}
