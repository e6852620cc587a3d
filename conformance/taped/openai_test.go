package taped

import (
	"context"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/looptape/looptape/conformance/node"
)

// runResponses is a tool loop with Responses. Each request has all items.
func runResponses(ctx context.Context, c node.Case) (string, error) {
	client := openai.NewClient()
	items := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(c.Input, responses.EasyInputMessageRoleUser)}
	params := responses.ResponseNewParams{Model: "gpt-4.1"}
	for _, t := range tools {
		params.Tools = append(params.Tools, responses.ToolParamOfFunction(t.name, schema(t.parameter), false))
	}
	for range maxSteps {
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
		response, err := respond(ctx, client, params, c.Streaming)
		if err != nil {
			return "", err
		}
		var results responses.ResponseInputParam
		for _, item := range response.Output {
			switch item := item.AsAny().(type) {
			case responses.ResponseOutputMessage:
				sent := item.ToParam()
				items = append(items, responses.ResponseInputItemUnionParam{OfOutputMessage: &sent})
			case responses.ResponseFunctionToolCall:
				sent := item.ToParam()
				items = append(items, responses.ResponseInputItemUnionParam{OfFunctionCall: &sent})
				results = append(results, responses.ResponseInputItemParamOfFunctionCallOutput(runTool(item.Name, item.Arguments)))
				results[len(results)-1].OfFunctionCallOutput.CallID = openai.String(item.CallID)
			}
		}
		if results == nil {
			return response.OutputText(), nil
		}
		items = append(items, results...)
	}
	return "", errStepLimit
}

// respond returns the next response of the model.
func respond(ctx context.Context, client openai.Client, params responses.ResponseNewParams, streaming bool) (*responses.Response, error) {
	if !streaming {
		return client.Responses.New(ctx, params)
	}
	events := client.Responses.NewStreaming(ctx, params)
	var response responses.Response
	for events.Next() {
		if done, ok := events.Current().AsAny().(responses.ResponseCompletedEvent); ok {
			response = done.Response
		}
	}
	return &response, events.Err()
}

// runChat is a tool loop with Chat Completions as in the examples of the SDK.
func runChat(ctx context.Context, c node.Case) (string, error) {
	client := openai.NewClient()
	params := openai.ChatCompletionNewParams{Model: "gpt-4.1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(c.Input)}}
	if c.Streaming {
		params.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	for _, t := range tools {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: t.name, Parameters: schema(t.parameter)}))
	}
	for range maxSteps {
		message, err := complete(ctx, client, params, c.Streaming)
		if err != nil || len(message.ToolCalls) == 0 {
			return message.Content, err
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage(runTool(call.Function.Name, call.Function.Arguments), call.ID))
		}
	}
	return "", errStepLimit
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
