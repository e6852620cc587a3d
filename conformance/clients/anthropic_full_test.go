package clients

import (
	"encoding/base64"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// TestAnthropicFull sends everything that the SDK supports.
func TestAnthropicFull(t *testing.T) {
	cached := anthropic.CacheControlEphemeralParam{TTL: "1h"}
	tool := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{
		Properties: weather["properties"], Required: []string{"city", "at"}, ExtraFields: map[string]any{"additionalProperties": false},
	}, "weather")
	tool.OfTool.Description, tool.OfTool.Strict, tool.OfTool.CacheControl = param.NewOpt("the weather of a city"), param.NewOpt(true), cached
	document := anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(pdf)})
	document.OfDocument.Title = param.NewOpt("the sky")
	document.OfDocument.Context, document.OfDocument.CacheControl = param.NewOpt("of today"), cached
	document.OfDocument.Citations = anthropic.CitationsConfigParam{Enabled: param.NewOpt(true)}
	seen := anthropic.NewToolResultBlock("toolu_1", "", false)
	seen.OfToolResult.Content = []anthropic.ToolResultBlockParamContentUnion{
		{OfText: &anthropic.TextBlockParam{Text: "a sky"}},
		{OfImage: &anthropic.ImageBlockParam{Source: anthropic.ImageBlockParamSourceUnion{OfBase64: &anthropic.Base64ImageSourceParam{MediaType: "image/png", Data: base64.StdEncoding.EncodeToString(png)}}}},
	}
	seen.OfToolResult.CacheControl = cached
	params := anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 4000,
		System: []anthropic.TextBlockParam{{Text: system, CacheControl: cached}},
		Messages: []anthropic.MessageParam{
			anthropic.NewUserMessage(
				anthropic.NewTextBlock("Look."),
				anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: imageURL}),
				anthropic.NewImageBlockBase64("image/png", base64.StdEncoding.EncodeToString(png)),
				document,
				anthropic.NewDocumentBlock(anthropic.PlainTextSourceParam{Data: "a plain text"}),
			),
			anthropic.NewAssistantMessage(
				anthropic.NewThinkingBlock("c2lnbmVk", "I should look."),
				anthropic.NewRedactedThinkingBlock("aGlkZGVu"),
				anthropic.NewTextBlock("I look."),
				anthropic.NewToolUseBlock("toolu_1", map[string]any{"city": "Bern"}, "weather"),
				anthropic.NewToolUseBlock("toolu_2", map[string]any{"city": "Rome"}, "weather"),
			),
			anthropic.NewUserMessage(seen, anthropic.NewToolResultBlock("toolu_2", "no camera", true), anthropic.NewTextBlock("Go on.")),
		},
		Tools: []anthropic.ToolUnionParam{
			tool,
			{OfWebSearchTool20250305: &anthropic.WebSearchTool20250305Param{MaxUses: param.NewOpt[int64](2)}},
		},
		ToolChoice:    anthropic.ToolChoiceUnionParam{OfAuto: &anthropic.ToolChoiceAutoParam{DisableParallelToolUse: param.NewOpt(true)}},
		OutputConfig:  anthropic.OutputConfigParam{Effort: "low", Format: anthropic.JSONOutputFormatParam{Schema: verdict}},
		Thinking:      anthropic.ThinkingConfigParamOfEnabled(2000),
		StopSequences: []string{"END", "STOP"}, TopK: param.NewOpt[int64](40),
		Metadata: anthropic.MetadataParam{UserID: param.NewOpt("tester")}, ServiceTier: "auto",
	}
	yes, no := true, false
	mark := `"cache_control":{"ttl":"1h","type":"ephemeral"}`
	want := &llm.Request{
		Model: "claude-sonnet-4-5", System: llm.SystemText(system), ResponseMode: llm.NonStreaming,
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{
				llm.Text{Text: "Look."},
				llm.Media{MediaType: "image/*", URL: imageURL},
				llm.Media{MediaType: "image/png", Data: png},
				llm.Media{MediaType: "application/pdf", Name: "the sky", Data: pdf, Opaque: []byte(`{` + mark + `,"citations":{"enabled":true},"context":"of today"}`)},
				llm.Media{MediaType: "text/plain", Data: []byte("a plain text")},
			}},
			llm.Assistant(
				llm.Reasoning{Text: "I should look.", Opaque: []byte(`{"signature":"c2lnbmVk"}`)},
				llm.Reasoning{Opaque: []byte(`{"data":"aGlkZGVu","type":"redacted_thinking"}`)},
				llm.Text{Text: "I look."},
				llm.ToolCall{ID: "toolu_1", Name: "weather", Arguments: `{"city":"Bern"}`},
				llm.ToolCall{ID: "toolu_2", Name: "weather", Arguments: `{"city":"Rome"}`},
			),
			llm.ToolResults(llm.ToolResult{ID: "toolu_1", Name: "weather", Opaque: []byte(`{` + mark + `}`), Content: []llm.Part{
				llm.Text{Text: "a sky"}, llm.Media{MediaType: "image/png", Data: png},
			}}, llm.ToolResult{ID: "toolu_2", Name: "weather", IsError: true, Content: []llm.Part{llm.Text{Text: "no camera"}}}),
			llm.User("Go on."),
		},
		Tools: []llm.Tool{
			{Name: "weather", Description: "the weather of a city", Parameters: marshal(t, weather), Strict: &yes},
		},
		Settings: llm.Settings{
			MaxTokens: 4000, StopSequences: []string{"END", "STOP"}, ParallelToolCalls: &no, ReasoningEffort: "low", OutputSchema: marshal(t, verdict),
		},
	}
	extra := []string{"metadata", "service_tier", "system", "thinking", "tools", "top_k"}
	full(t, want, extra, func(t *testing.T, l *lab) {
		message(t, newAnthropic(l.base(wire.Anthropic)), params, false)
	})
}
