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

// goClient is the program over OpenAI's SDK for Go, which this test binary is with that
// name as its argument.
const goClient = "openai-go"

// playGo plays the case that it reads, and returns the exit status.
func playGo(in io.Reader, out io.Writer) int {
	var c node.Case
	err := json.NewDecoder(in).Decode(&c)
	if err == nil {
		got := node.Outcome{ID: c.ID}
		if got.Text, err = weather(context.Background(), c); err != nil {
			got.Error = why(err)
		}
		err = json.NewEncoder(out).Encode(got)
	}
	if err != nil {
		return 1
	}
	return 0
}

// why is an error with what the server said of it, which the SDK's own text leaves out.
func why(err error) string {
	if refused, ok := errors.AsType[*openai.Error](err); ok {
		return fmt.Sprint(refused.StatusCode, " ", refused.Message)
	}
	return err.Error()
}

// weather is a tool loop, as the SDK's own examples have it: base URL and key come from
// the environment, and the retries are the SDK's.
func weather(ctx context.Context, c node.Case) (string, error) {
	client := openai.NewClient()
	question := "How is the weather in Bern and in Rome?"
	if c.Input != "" {
		question = c.Input
	}
	city := shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}
	params := openai.ChatCompletionNewParams{
		Model:    "gpt-4.1",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Parameters: city}),
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "note"}),
		},
	}
	for range 8 {
		message, err := complete(ctx, client, params, c.Streamed)
		if err != nil || len(message.ToolCalls) == 0 {
			return message.Content, err
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage("well", call.ID))
		}
	}
	return "", errors.New("no end after 8 steps")
}

// complete is the next message of the model.
func complete(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams, streamed bool) (m openai.ChatCompletionMessage, err error) {
	if !streamed {
		answer, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return m, err
		}
		return answer.Choices[0].Message, nil
	}
	events := client.Chat.Completions.NewStreaming(ctx, params)
	var acc openai.ChatCompletionAccumulator
	for events.Next() {
		if !acc.AddChunk(events.Current()) {
			return m, fmt.Errorf("the SDK cannot take the chunk %s", events.Current().RawJSON())
		}
	}
	if err := events.Err(); err != nil {
		return m, err
	}
	return acc.Choices[0].Message, nil
}
