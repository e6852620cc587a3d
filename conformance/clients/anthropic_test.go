package clients

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/looptape/looptape/llm"
)

func newAnthropic(base string) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0))
}

// TestAnthropic plays the scenario with the official SDK.
func TestAnthropic(t *testing.T) { messagesScript.run(t, playAnthropic) }

func playAnthropic(t *testing.T, base string, stream bool) (steps []step) {
	client := newAnthropic(base)
	params := anthropicParams()
	params.Thinking = anthropic.ThinkingConfigParamOfEnabled(2000)
	for {
		answer := message(t, client, params, stream)
		u := answer.Usage
		s := step{Finish: string(answer.StopReason), Usage: llm.Usage{
			InputTokens:  u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
			OutputTokens: u.OutputTokens, CacheReadInputTokens: u.CacheReadInputTokens, CacheCreationInputTokens: u.CacheCreationInputTokens,
			ReasoningOutputTokens: u.OutputTokensDetails.ThinkingTokens,
		}}
		var results []anthropic.ContentBlockParamUnion
		for _, block := range answer.Content {
			switch block := block.AsAny().(type) {
			case anthropic.TextBlock:
				s.Text += block.Text
			case anthropic.ThinkingBlock:
				s.Reasoning += block.Thinking
			case anthropic.ToolUseBlock:
				s.Calls = append(s.Calls, call{block.ID, block.Name, string(block.Input)})
				results = append(results, anthropic.NewToolResultBlock(block.ID, outputFor(t, string(block.Input)), false))
			default:
				t.Fatalf("the SDK has read a block of the type %T", block)
			}
		}
		params.Messages = append(params.Messages, answer.ToParam(), anthropic.NewUserMessage(results...))
		if steps = append(steps, s); len(s.Calls) == 0 || len(steps) > 3 {
			return steps
		}
	}
}

// anthropicParams is the first request of the scenario.
func anthropicParams() anthropic.MessageNewParams {
	tool := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{
		Properties: weather["properties"], Required: []string{"city", "at"}, ExtraFields: map[string]any{"additionalProperties": false},
	}, "weather")
	tool.OfTool.Description = param.NewOpt("the weather of a city")
	return anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 4000, System: []anthropic.TextBlockParam{{Text: system}},
		Tools:    []anthropic.ToolUnionParam{tool},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
}

func message(t *testing.T, client anthropic.Client, params anthropic.MessageNewParams, stream bool) anthropic.Message {
	t.Helper()
	if !stream {
		answer, err := client.Messages.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return *answer
	}
	events := client.Messages.NewStreaming(t.Context(), params)
	var answer anthropic.Message
	for events.Next() {
		if err := answer.Accumulate(events.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	return answer
}
