package clients

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

func newOpenAI(base string) openai.Client {
	return openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0))
}

// TestOpenAIChat runs the scenario with the official SDK and Chat Completions.
func TestOpenAIChat(t *testing.T) { chatScript.run(t, playChat) }

func playChat(t *testing.T, base string, stream bool) (steps []step) {
	client := newOpenAI(base)
	params := chatParams()
	for {
		answer := completion(t, client, params, stream)
		choice := answer.Choices[0]
		s := step{Text: choice.Message.Content, Finish: choice.FinishReason, Usage: llm.Usage{
			InputTokens: answer.Usage.PromptTokens, OutputTokens: answer.Usage.CompletionTokens,
			CacheReadInputTokens: answer.Usage.PromptTokensDetails.CachedTokens, CacheCreationInputTokens: answer.Usage.PromptTokensDetails.CacheWriteTokens,
			ReasoningOutputTokens: answer.Usage.CompletionTokensDetails.ReasoningTokens,
		}}
		params.Messages = append(params.Messages, choice.Message.ToParam())
		for _, c := range choice.Message.ToolCalls {
			s.Calls = append(s.Calls, call{c.ID, c.Function.Name, c.Function.Arguments})
			params.Messages = append(params.Messages, openai.ToolMessage(outputFor(t, c.Function.Arguments), c.ID))
		}
		if steps = append(steps, s); len(s.Calls) == 0 || len(steps) > 3 {
			return steps
		}
	}
}

// chatParams returns the first request of the scenario.
func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "gpt-4.1",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(question)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "weather", Description: param.NewOpt("the weather of a city"), Parameters: weather, Strict: param.NewOpt(true),
		})},
	}
}

func completion(t *testing.T, client openai.Client, params openai.ChatCompletionNewParams, stream bool) openai.ChatCompletion {
	t.Helper()
	if !stream {
		answer, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return *answer
	}
	params.StreamOptions.IncludeUsage = param.NewOpt(true)
	events := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for events.Next() {
		if chunk := events.Current(); !acc.AddChunk(chunk) {
			t.Fatalf("the SDK cannot take the chunk %s", chunk.RawJSON())
		}
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	return acc.ChatCompletion
}

// outputFor returns the output of the tool for arguments.
func outputFor(t *testing.T, args string) string {
	t.Helper()
	said, err := runTool(args)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// TestOpenAIResponses runs the scenario with the official SDK and Responses.
func TestOpenAIResponses(t *testing.T) { responsesScript.run(t, playResponses) }

func playResponses(t *testing.T, base string, stream bool) (steps []step) {
	var input responses.ResponseInputParam
	input = append(input, responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser))
	for {
		params := responsesParams(input)
		params.Store = param.NewOpt(false)
		answer := response(t, newOpenAI(base), params, stream)
		for _, item := range answer.Output {
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
			default:
				t.Fatalf("the SDK has read an item of the type %T", item)
			}
		}
		input = append(input, outputs(t, answer)...)
		if steps = append(steps, stepOf(answer)); len(steps[len(steps)-1].Calls) == 0 || len(steps) > 3 {
			return steps
		}
	}
}

// TestOpenAIResponsesPrevious runs the scenario with the official SDK and Responses. Each request
// continues the response before it by its id and has only the results.
func TestOpenAIResponsesPrevious(t *testing.T) {
	for _, stream := range []bool{true, false} {
		l := open(t, responsesScript.signs.turns()...)
		params := responsesParams(responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser)})
		var got []step
		for range 3 {
			answer := response(t, newOpenAI(l.base(wire.OpenAI)), params, stream)
			got = append(got, stepOf(answer))
			params = responsesParams(outputs(t, answer))
			params.PreviousResponseID = param.NewOpt(answer.ID)
		}
		want := responsesScript.signs.steps(responsesScript.finish...)
		for _, s := range slices.Concat(got, want) {
			for i := range s.Calls {
				s.Calls[i].Args = reencode(s.Calls[i].Args)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("streaming %t: response that the client read (-want +got):\n%s", stream, diff)
		}
		l.quiet(t, 3)
	}
}

func responsesParams(input responses.ResponseInputParam) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-5", Instructions: param.NewOpt(system),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Tools:   []responses.ToolUnionParam{responses.ToolParamOfFunction("weather", weather, true)},
		Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: input},
	}
}

// stepOf returns the step that the client has read.
func stepOf(answer responses.Response) step {
	s := step{Text: answer.OutputText(), Finish: string(answer.Status), Usage: llm.Usage{
		InputTokens: answer.Usage.InputTokens, OutputTokens: answer.Usage.OutputTokens,
		CacheReadInputTokens: answer.Usage.InputTokensDetails.CachedTokens, CacheCreationInputTokens: answer.Usage.InputTokensDetails.CacheWriteTokens,
		ReasoningOutputTokens: answer.Usage.OutputTokensDetails.ReasoningTokens,
	}}
	for _, item := range answer.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseReasoningItem:
			for _, summary := range item.Summary {
				s.Reasoning += summary.Text
			}
		case responses.ResponseFunctionToolCall:
			s.Calls = append(s.Calls, call{item.CallID, item.Name, item.Arguments})
		}
	}
	return s
}

// outputs returns the results of the calls of a response.
func outputs(t *testing.T, answer responses.Response) (results responses.ResponseInputParam) {
	t.Helper()
	for _, c := range stepOf(answer).Calls {
		output := responses.ResponseInputItemParamOfFunctionCallOutput(outputFor(t, c.Args))
		output.OfFunctionCallOutput.CallID = param.NewOpt(c.ID)
		results = append(results, output)
	}
	return results
}

func response(t *testing.T, client openai.Client, params responses.ResponseNewParams, stream bool) responses.Response {
	t.Helper()
	if !stream {
		answer, err := client.Responses.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return *answer
	}
	events := client.Responses.NewStreaming(t.Context(), params)
	var answer responses.Response
	for events.Next() {
		if done, ok := events.Current().AsAny().(responses.ResponseCompletedEvent); ok {
			answer = done.Response
		}
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	return answer
}
