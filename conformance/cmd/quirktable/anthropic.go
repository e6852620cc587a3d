package main

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/looptape/looptape/fake/wire"
)

func anthropicMessages(ctx context.Context, c testCase, url string) (string, error) {
	client := anthropic.NewClient(option.WithBaseURL(baseURL(url, wire.Anthropic)), option.WithAPIKey(key),
		option.WithMaxRetries(retries), option.WithHTTPClient(newHTTP()))
	params := anthropic.MessageNewParams{
		Model: "claude-opus-4-5", MaxTokens: 1024,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
	}
	for _, t := range tools {
		schema := t.schema()
		declared := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: schema["properties"], Required: schema["required"].([]string)}, t.name)
		declared.OfTool.Description = param.NewOpt(t.description)
		params.Tools = append(params.Tools, declared)
	}
	return manualLoop(func() (*string, error) {
		response, err := anthropicMessage(ctx, client, params, c.streaming)
		if err != nil {
			return nil, err
		}
		params.Messages = append(params.Messages, response.ToParam())
		if response.StopReason == anthropic.StopReasonPauseTurn {
			return nil, nil
		}
		text := ""
		var results []anthropic.ContentBlockParamUnion
		for _, block := range response.Content {
			switch block := block.AsAny().(type) {
			case anthropic.TextBlock:
				text += block.Text
			case anthropic.ToolUseBlock:
				output, err := runTool(block.Name, block.Input)
				if err != nil {
					return nil, err
				}
				results = append(results, anthropic.NewToolResultBlock(block.ID, output, false))
			}
		}
		if len(results) == 0 {
			return &text, nil
		}
		params.Messages = append(params.Messages, anthropic.NewUserMessage(results...))
		return nil, nil
	})
}

func anthropicMessage(ctx context.Context, client anthropic.Client, params anthropic.MessageNewParams, stream bool) (*anthropic.Message, error) {
	if !stream {
		return client.Messages.New(ctx, params)
	}
	events := client.Messages.NewStreaming(ctx, params)
	var response anthropic.Message
	for events.Next() {
		if err := response.Accumulate(events.Current()); err != nil {
			return nil, err
		}
	}
	return &response, events.Err()
}
