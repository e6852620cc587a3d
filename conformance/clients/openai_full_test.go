package clients

import (
	"encoding/base64"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

func dataURL(kind string, data []byte) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// TestOpenAIChatFull sends everything that the SDK supports by Chat Completions.
func TestOpenAIChatFull(t *testing.T) {
	params := openai.ChatCompletionNewParams{
		Model: "gpt-5",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage(system),
			openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
				openai.TextContentPart("Look."),
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: imageURL, Detail: "low"}),
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: dataURL("image/png", png)}),
				openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{Data: base64.StdEncoding.EncodeToString(png), Format: "wav"}),
				openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{FileData: param.NewOpt(dataURL("application/pdf", pdf)), Filename: param.NewOpt("sky.pdf")}),
				openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{FileID: param.NewOpt("file-1")}),
			}),
			openai.AssistantMessage("I see a sky."),
			openai.DeveloperMessage("Be brief."),
			openai.UserMessage(question),
		},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Description: param.NewOpt("the weather of a city"), Parameters: weather, Strict: param.NewOpt(true)}),
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "now"}),
			openai.ChatCompletionCustomTool(openai.ChatCompletionCustomToolCustomParam{Name: "sql", Description: param.NewOpt("asks a database")}),
		},
		ToolChoice:        openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "weather"}),
		ParallelToolCalls: param.NewOpt(false),
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Description: param.NewOpt("whether it rains"), Schema: verdict, Strict: param.NewOpt(true)},
		}},
		MaxCompletionTokens: param.NewOpt[int64](500), Temperature: param.NewOpt(0.5), TopP: param.NewOpt(0.9), Seed: param.NewOpt[int64](7),
		Stop:            openai.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"END", "STOP"}},
		ReasoningEffort: shared.ReasoningEffortLow,
		Metadata:        shared.Metadata{"of": "tests"}, User: param.NewOpt("tester"), PromptCacheKey: param.NewOpt("cache"),
		FrequencyPenalty: param.NewOpt(0.1), PresencePenalty: param.NewOpt(0.2), LogitBias: map[string]int64{"50256": -100},
		Logprobs: param.NewOpt(true), TopLogprobs: param.NewOpt[int64](3), Store: param.NewOpt(false), ServiceTier: "flex", Verbosity: "low",
		Modalities: []string{"text"}, SafetyIdentifier: param.NewOpt("safe"), PromptCacheRetention: "24h",
	}
	half, most, seed, yes, no := 0.5, 0.9, int64(7), true, false
	want := &llm.Request{
		Model: "gpt-5", System: llm.SystemText(system), ResponseMode: llm.NonStreaming,
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{
				llm.Text{Text: "Look."},
				llm.Media{MediaType: "image/*", URL: imageURL, Opaque: []byte(`{"image_url":{"detail":"low"}}`)},
				llm.Media{MediaType: "image/png", Data: png},
				llm.Media{MediaType: "audio/wav", Data: png},
				llm.Media{MediaType: "application/pdf", Name: "sky.pdf", Data: pdf},
				llm.Unknown{Kind: "file", Raw: []byte(`{"file":{"file_id":"file-1"},"type":"file"}`)},
			}},
			llm.Assistant(llm.Text{Text: "I see a sky."}),
			{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "Be brief."}}, Opaque: []byte(`{"role":"developer"}`)},
			llm.User(question),
		},
		Tools: []llm.Tool{
			{Name: "weather", Description: "the weather of a city", Parameters: marshal(t, weather), Strict: &yes},
			{Name: "now"},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "weather"},
		Settings: llm.Settings{
			MaxTokens: 500, Temperature: &half, TopP: &most, Seed: &seed, StopSequences: []string{"END", "STOP"}, ParallelToolCalls: &no,
			ReasoningEffort: "low", OutputSchema: marshal(t, verdict),
		},
	}
	extra := []string{
		"frequency_penalty", "logit_bias", "logprobs", "metadata", "modalities", "presence_penalty", "prompt_cache_key",
		"prompt_cache_retention", "response_format", "safety_identifier", "service_tier", "store", "tools", "top_logprobs", "user", "verbosity",
	}
	full(t, want, extra, func(t *testing.T, l *lab) {
		completion(t, newOpenAI(l.base(wire.OpenAI)), params, false)
	})
}

// TestOpenAIResponsesFull sends everything that the SDK supports by Responses.
func TestOpenAIResponsesFull(t *testing.T) {
	params := responses.ResponseNewParams{
		Model: "gpt-5", Instructions: param.NewOpt(system), Store: param.NewOpt(false),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfInputMessage(responses.ResponseInputMessageContentListParam{
				responses.ResponseInputContentParamOfInputText("Look."),
				{OfInputImage: &responses.ResponseInputImageParam{Detail: "low", ImageURL: param.NewOpt(imageURL)}},
				{OfInputImage: &responses.ResponseInputImageParam{Detail: "auto", ImageURL: param.NewOpt(dataURL("image/png", png))}},
				{OfInputFile: &responses.ResponseInputFileParam{FileData: param.NewOpt(dataURL("application/pdf", pdf)), Filename: param.NewOpt("sky.pdf")}},
				{OfInputFile: &responses.ResponseInputFileParam{FileID: param.NewOpt("file-1")}},
			}, "user"),
			responses.ResponseInputItemParamOfMessage("I see a sky.", responses.EasyInputMessageRoleAssistant),
			responses.ResponseInputItemParamOfMessage("Be brief.", responses.EasyInputMessageRoleDeveloper),
			responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser),
		}},
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Tools: []responses.ToolUnionParam{
			{OfFunction: &responses.FunctionToolParam{Name: "weather", Description: param.NewOpt("the weather of a city"), Parameters: weather, Strict: param.NewOpt(true)}},
			{OfFunction: &responses.FunctionToolParam{Name: "now", Parameters: map[string]any{"type": "object", "properties": map[string]any{}}, Strict: param.NewOpt(false)}},
			responses.ToolParamOfWebSearch("web_search"),
		},
		ToolChoice:        responses.ResponseNewParamsToolChoiceUnion{OfFunctionTool: &responses.ToolChoiceFunctionParam{Name: "weather"}},
		ParallelToolCalls: param.NewOpt(false),
		Text: responses.ResponseTextConfigParam{Verbosity: "low", Format: responses.ResponseFormatTextConfigUnionParam{
			OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "answer", Description: param.NewOpt("whether it rains"), Schema: verdict, Strict: param.NewOpt(true)},
		}},
		MaxOutputTokens: param.NewOpt[int64](500), Temperature: param.NewOpt(0.5), TopP: param.NewOpt(0.9),
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffortLow, Summary: shared.ReasoningSummaryAuto},
		Metadata:  shared.Metadata{"of": "tests"}, User: param.NewOpt("tester"), PromptCacheKey: param.NewOpt("cache"),
		Truncation: "auto", ServiceTier: "flex", TopLogprobs: param.NewOpt[int64](3), MaxToolCalls: param.NewOpt[int64](4), SafetyIdentifier: param.NewOpt("safe"),
	}
	half, most, yes, no := 0.5, 0.9, true, false
	want := &llm.Request{
		Model: "gpt-5", System: llm.SystemText(system), ResponseMode: llm.NonStreaming,
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{
				llm.Text{Text: "Look."},
				llm.Media{MediaType: "image/*", URL: imageURL, Opaque: []byte(`{"detail":"low"}`)},
				llm.Media{MediaType: "image/png", Data: png, Opaque: []byte(`{"detail":"auto"}`)},
				llm.Media{MediaType: "application/pdf", Name: "sky.pdf", Data: pdf},
				llm.Media{MediaType: "application/octet-stream", Opaque: []byte(`{"file_id":"file-1"}`)},
			}},
			llm.Assistant(llm.Text{Text: "I see a sky."}),
			{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "Be brief."}}, Opaque: []byte(`{"role":"developer"}`)},
			llm.User(question),
		},
		Tools: []llm.Tool{
			{Name: "weather", Description: "the weather of a city", Parameters: marshal(t, weather), Strict: &yes},
			{Name: "now", Parameters: []byte(`{"type":"object","properties":{}}`), Strict: &no},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "weather"},
		Settings: llm.Settings{
			MaxTokens: 500, Temperature: &half, TopP: &most, ParallelToolCalls: &no, ReasoningEffort: "low", OutputSchema: marshal(t, verdict),
		},
	}
	extra := []string{
		"max_tool_calls", "metadata", "prompt_cache_key", "reasoning", "safety_identifier", "service_tier", "text", "tools", "top_logprobs",
		"truncation", "user",
	}
	full(t, want, extra, func(t *testing.T, l *lab) {
		response(t, newOpenAI(l.base(wire.OpenAI)), params, false)
	})
}
