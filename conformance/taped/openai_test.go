package taped

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/looptape/looptape/conformance/node"
)

// goClient is the program with OpenAI's SDK for Go: this test binary with this name as its
// argument.
const goClient = "openai-go"

// runGo runs the case that it reads, and returns the exit status.
func runGo(in io.Reader, out io.Writer) int {
	var c node.Case
	err := json.NewDecoder(in).Decode(&c)
	if err == nil {
		got := node.Result{ID: c.ID}
		if got.Text, err = weather(context.Background(), c); err != nil {
			got.Error = describe(err)
		}
		err = json.NewEncoder(out).Encode(got)
	}
	if err != nil {
		return 1
	}
	return 0
}

// describe returns an error with the message of the server, which the text of the SDK omits.
func describe(err error) string {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return fmt.Sprint(e.StatusCode, " ", e.Message)
	}
	return err.Error()
}

// weather is a tool loop as in the examples of the SDK. The base URL and the key come from the
// environment, and the SDK retries.
func weather(ctx context.Context, c node.Case) (string, error) {
	client := openai.NewClient()
	prompt := "How is the weather in Bern and in Rome?"
	if c.Input != "" {
		prompt = c.Input
	}
	city := shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}
	params := openai.ChatCompletionNewParams{
		Model:    "gpt-4.1",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Parameters: city}),
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "note"}),
		},
	}
	for range 8 {
		message, err := complete(ctx, client, params, c.Streaming)
		if err != nil || len(message.ToolCalls) == 0 {
			return message.Content, err
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage("well", call.ID))
		}
	}
	return "", errors.New("the loop reached its step limit of 8")
}

// complete returns the next response of the model.
func complete(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams, streaming bool) (m openai.ChatCompletionMessage, err error) {
	if !streaming {
		response, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return m, err
		}
		return response.Choices[0].Message, nil
	}
	events := client.Chat.Completions.NewStreaming(ctx, params)
	var acc openai.ChatCompletionAccumulator
	for events.Next() {
		if !acc.AddChunk(events.Current()) {
			return m, fmt.Errorf("the SDK rejects the chunk %s", events.Current().RawJSON())
		}
	}
	if err := events.Err(); err != nil {
		return m, err
	}
	return acc.Choices[0].Message, nil
}
