package main

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/looptape/looptape/fake/wire"
)

func newOpenAI(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(baseURL(url, wire.OpenAI)), option.WithAPIKey(key),
		option.WithMaxRetries(retries), option.WithHTTPClient(newHTTP()))
}

func openAIChat(ctx context.Context, c testCase, url string) (string, error) {
	client := newOpenAI(url)
	params := openai.ChatCompletionNewParams{Model: "gpt-4.1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)}}
	for _, t := range tools {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.name, Description: param.NewOpt(t.description), Parameters: t.schema(), Strict: param.NewOpt(true),
		}))
	}
	return manualLoop(func() (*string, error) {
		response, err := openAICompletion(ctx, client, params, c.streaming)
		if err != nil {
			return nil, err
		}
		if len(response.Choices) == 0 {
			return nil, errors.New("the response has no choices")
		}
		message := response.Choices[0].Message
		params.Messages = append(params.Messages, message.ToParam())
		if len(message.ToolCalls) == 0 {
			text := message.Content + message.Refusal
			return &text, nil
		}
		for _, call := range message.ToolCalls {
			output, err := runTool(call.Function.Name, []byte(call.Function.Arguments))
			if err != nil {
				return nil, err
			}
			params.Messages = append(params.Messages, openai.ToolMessage(output, call.ID))
		}
		return nil, nil
	})
}

func openAICompletion(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams, stream bool) (*openai.ChatCompletion, error) {
	if !stream {
		return client.Chat.Completions.New(ctx, params)
	}
	params.StreamOptions.IncludeUsage = param.NewOpt(true)
	events := client.Chat.Completions.NewStreaming(ctx, params)
	var acc openai.ChatCompletionAccumulator
	for events.Next() {
		acc.AddChunk(events.Current())
	}
	return &acc.ChatCompletion, events.Err()
}

func openAIResponses(ctx context.Context, c testCase, url string) (string, error) {
	client := newOpenAI(url)
	var declared []responses.ToolUnionParam
	for _, t := range tools {
		declared = append(declared, responses.ToolParamOfFunction(t.name, t.schema(), true))
	}
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(prompt, responses.EasyInputMessageRoleUser)}
	return manualLoop(func() (*string, error) {
		response, err := openAIResponse(ctx, client, responses.ResponseNewParams{
			Model: "gpt-4.1", Tools: declared, Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input},
		}, c.streaming)
		if err != nil {
			return nil, err
		}
		var results responses.ResponseInputParam
		for _, item := range response.Output {
			switch item := item.AsAny().(type) {
			case responses.ResponseOutputMessage:
				p := item.ToParam()
				input = append(input, responses.ResponseInputItemUnionParam{OfOutputMessage: &p})
			case responses.ResponseReasoningItem:
				p := item.ToParam()
				input = append(input, responses.ResponseInputItemUnionParam{OfReasoning: &p})
			case responses.ResponseFunctionToolCall:
				p := item.ToParam()
				input = append(input, responses.ResponseInputItemUnionParam{OfFunctionCall: &p})
				text, err := runTool(item.Name, []byte(item.Arguments))
				if err != nil {
					return nil, err
				}
				output := responses.ResponseInputItemParamOfFunctionCallOutput(text)
				output.OfFunctionCallOutput.CallID = param.NewOpt(item.CallID)
				results = append(results, output)
			}
		}
		if len(results) == 0 {
			text := response.OutputText()
			return &text, nil
		}
		input = append(input, results...)
		return nil, nil
	})
}

func openAIResponse(ctx context.Context, client openai.Client, params responses.ResponseNewParams, stream bool) (*responses.Response, error) {
	if !stream {
		return client.Responses.New(ctx, params)
	}
	events := client.Responses.NewStreaming(ctx, params)
	var response responses.Response
	for events.Next() {
		switch end := events.Current().AsAny().(type) {
		case responses.ResponseCompletedEvent:
			response = end.Response
		case responses.ResponseIncompleteEvent:
			response = end.Response
		case responses.ResponseFailedEvent:
			return nil, errors.New(end.Response.Error.Message)
		}
	}
	return &response, events.Err()
}
