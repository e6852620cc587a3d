package decoding

import (
	"context"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

func openChat(_ testing.TB, client *http.Client) func() (int, error) {
	sdk := openai.NewClient(option.WithBaseURL("http://canned.example"), option.WithAPIKey("key"), option.WithHTTPClient(client), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{Model: "some-model", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is the weather?")}}
	return func() (n int, err error) {
		events := sdk.Chat.Completions.NewStreaming(context.Background(), params)
		for events.Next() {
			n += len(events.Current().Choices)
		}
		return n, events.Err()
	}
}

func openResponses(_ testing.TB, client *http.Client) func() (int, error) {
	sdk := openai.NewClient(option.WithBaseURL("http://canned.example"), option.WithAPIKey("key"), option.WithHTTPClient(client), option.WithMaxRetries(0))
	params := responses.ResponseNewParams{Model: "some-model", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("What is the weather?")}}
	return func() (n int, err error) {
		events := sdk.Responses.NewStreaming(context.Background(), params)
		for events.Next() {
			if events.Current().Type != "" {
				n++
			}
		}
		return n, events.Err()
	}
}

func openMessages(_ testing.TB, client *http.Client) func() (int, error) {
	sdk := anthropic.NewClient(anthropicoption.WithBaseURL("http://canned.example"), anthropicoption.WithAPIKey("key"), anthropicoption.WithHTTPClient(client), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{Model: "some-model", MaxTokens: 4000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("What is the weather?"))}}
	return func() (n int, err error) {
		events := sdk.Messages.NewStreaming(context.Background(), params)
		for events.Next() {
			if events.Current().Type != "" {
				n++
			}
		}
		return n, events.Err()
	}
}

func openGemini(t testing.TB, client *http.Client) func() (int, error) {
	sdk, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: "http://canned.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() (n int, err error) {
		for chunk, err := range sdk.Models.GenerateContentStream(context.Background(), "some-model", genai.Text("What is the weather?"), nil) {
			if err != nil {
				return n, err
			}
			n += len(chunk.Candidates)
		}
		return n, nil
	}
}
