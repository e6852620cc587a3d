package clients

import (
	"testing"

	"google.golang.org/genai"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// TestGeminiFull sends everything that the SDK supports.
func TestGeminiFull(t *testing.T) {
	contents := []*genai.Content{
		{Role: "user", Parts: []*genai.Part{
			{Text: "Look."},
			genai.NewPartFromURI(imageURL, "image/png"),
			genai.NewPartFromBytes(png, "image/png"),
			{InlineData: &genai.Blob{Data: pdf, MIMEType: "application/pdf"}},
			{InlineData: &genai.Blob{Data: png, MIMEType: "video/mp4"}, VideoMetadata: &genai.VideoMetadata{FPS: genai.Ptr(1.0)}},
		}},
		{Role: "model", Parts: []*genai.Part{
			{Text: "I should look.", Thought: true},
			{Text: "I look.", ThoughtSignature: []byte("of text")},
			{FunctionCall: &genai.FunctionCall{ID: "call_1", Name: "weather", Args: map[string]any{"city": "Bern"}}, ThoughtSignature: []byte("of call")},
			{FunctionCall: &genai.FunctionCall{ID: "call_2", Name: "weather", Args: map[string]any{"city": "Rome"}}},
			{FunctionCall: &genai.FunctionCall{ID: "call_3", Name: "weather", Args: map[string]any{"city": "Thun"}}},
		}},
		{Role: "user", Parts: []*genai.Part{
			{FunctionResponse: &genai.FunctionResponse{ID: "call_1", Name: "weather", Response: map[string]any{"result": "rain"}}},
			{FunctionResponse: &genai.FunctionResponse{ID: "call_2", Name: "weather", Response: map[string]any{"error": "no such city"}}},
			{FunctionResponse: &genai.FunctionResponse{ID: "call_3", Name: "weather", Response: map[string]any{"rain": true, "mm": 2}}},
		}},
		{Role: "model", Parts: []*genai.Part{{Text: "Rain in Bern."}}},
		{Role: "user", Parts: []*genai.Part{{Text: "Go on."}}},
	}
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(system, ""),
		Temperature:       genai.Ptr[float32](0.5), TopP: genai.Ptr[float32](0.75), TopK: genai.Ptr[float32](40), Seed: genai.Ptr[int32](7),
		MaxOutputTokens: 500, StopSequences: []string{"END", "STOP"}, CandidateCount: 1,
		ResponseMIMEType: "application/json", ResponseJsonSchema: verdict,
		ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelLow},
		SafetySettings: []*genai.SafetySetting{{Category: genai.HarmCategoryHarassment, Threshold: genai.HarmBlockThresholdBlockNone}},
		Tools: []*genai.Tool{
			{FunctionDeclarations: []*genai.FunctionDeclaration{
				{Name: "weather", Description: "the weather of a city", ParametersJsonSchema: weather},
				{Name: "near", Parameters: &genai.Schema{Type: genai.TypeObject, Required: []string{"place"}, Properties: map[string]*genai.Schema{
					"place": {Type: genai.TypeString, Nullable: genai.Ptr(true), Description: "a place"},
					"kinds": {Type: genai.TypeArray, Items: &genai.Schema{Type: genai.TypeString, Enum: []string{"hill", "lake"}}, MaxItems: genai.Ptr[int64](3)},
				}}},
				{Name: "now"},
			}},
			{GoogleSearch: &genai.GoogleSearch{}},
		},
		ToolConfig:      &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{"weather"}}},
		CachedContent:   "cachedContents/1",
		PresencePenalty: genai.Ptr[float32](0.25), FrequencyPenalty: genai.Ptr[float32](0.25), MediaResolution: genai.MediaResolutionLow,
	}
	half, most, seed := 0.5, 0.75, int64(7)
	want := &llm.Request{
		Model: "gemini-3-pro-preview", System: llm.SystemText(system), ResponseMode: llm.NonStreaming,
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{
				llm.Text{Text: "Look."},
				llm.Media{MediaType: "image/png", URL: imageURL},
				llm.Media{MediaType: "image/png", Data: png},
				llm.Media{MediaType: "application/pdf", Data: pdf},
				llm.Media{MediaType: "video/mp4", Data: png, Opaque: []byte(`{"videoMetadata":{"fps":1}}`)},
			}},
			llm.Assistant(
				llm.Reasoning{Text: "I should look."},
				llm.Text{Text: "I look.", Opaque: []byte(`{"thoughtSignature":"b2YgdGV4dA=="}`)},
				llm.ToolCall{ID: "call_1", Name: "weather", Arguments: `{"city":"Bern"}`, Opaque: []byte(`{"thoughtSignature":"b2YgY2FsbA=="}`)},
				llm.ToolCall{ID: "call_2", Name: "weather", Arguments: `{"city":"Rome"}`},
				llm.ToolCall{ID: "call_3", Name: "weather", Arguments: `{"city":"Thun"}`},
			),
			llm.ToolResults(
				llm.ToolResult{ID: "call_1", Name: "weather", Content: []llm.Part{llm.Text{Text: "rain"}}},
				llm.ToolResult{ID: "call_2", Name: "weather", IsError: true, Content: []llm.Part{llm.Text{Text: "no such city"}}},
				llm.ToolResult{ID: "call_3", Name: "weather", Content: []llm.Part{llm.Text{Text: `{"mm":2,"rain":true}`}}, Opaque: []byte(`{"gemini":{"functionResponse":{"response":{"mm":2,"rain":true}}}}`)},
			),
			llm.Assistant(llm.Text{Text: "Rain in Bern."}),
			llm.User("Go on."),
		},
		Tools: []llm.Tool{
			{Name: "weather", Description: "the weather of a city", Parameters: marshal(t, weather)},
			{Name: "near", Parameters: []byte(`{"type":"object","required":["place"],"properties":{
				"place":{"type":["string","null"],"description":"a place"},
				"kinds":{"type":"array","items":{"type":"string","enum":["hill","lake"]},"maxItems":3}}}`)},
			{Name: "now"},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "weather"},
		Settings: llm.Settings{
			MaxTokens: 500, Temperature: &half, TopP: &most, Seed: &seed, StopSequences: []string{"END", "STOP"}, ReasoningEffort: "LOW", OutputSchema: marshal(t, verdict),
		},
	}
	extra := []string{"cachedContent", "generationConfig", "safetySettings", "tools"}
	full(t, want, extra, func(t *testing.T, l *lab) {
		if _, err := newGemini(t, l.base(wire.Gemini)).Models.GenerateContent(t.Context(), "gemini-3-pro-preview", contents, config); err != nil {
			t.Fatal(err)
		}
	})
}
