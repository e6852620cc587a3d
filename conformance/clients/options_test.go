package clients

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicparam "github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// each sends a request for each option. The request must keep its meaning when the codec decodes and
// encodes it.
func each[P any](t *testing.T, params func() P, options map[string]func(*P), send func(*testing.T, *lab, P)) {
	for name, option := range options {
		t.Run(name, func(t *testing.T) {
			l := open(t, fake.Response{Text: "Fine."})
			p := params()
			option(&p)
			send(t, l, p)
			l.quiet(t, 1)
			l.asked(t)
		})
	}
}

// TestOpenAIChatOptions sends single options, and options that exclude each other.
func TestOpenAIChatOptions(t *testing.T) {
	type params = openai.ChatCompletionNewParams
	choose := func(mode string) func(*params) {
		return func(p *params) { p.ToolChoice.OfAuto = param.NewOpt(mode) }
	}
	each(t, chatParams, map[string]func(*params){
		"nothing":  func(*params) {},
		"auto":     choose("auto"),
		"none":     choose("none"),
		"required": choose("required"),
		"allowed tools": func(p *params) {
			p.ToolChoice = openai.ToolChoiceOptionAllowedTools(openai.ChatCompletionAllowedToolsParam{Mode: "auto", Tools: []map[string]any{{"type": "function", "function": map[string]any{"name": "weather"}}}})
		},
		"custom tool": func(p *params) {
			p.Tools = append(p.Tools, openai.ChatCompletionCustomTool(openai.ChatCompletionCustomToolCustomParam{Name: "sql"}))
			p.ToolChoice = openai.ToolChoiceOptionCustomToolChoice(openai.ChatCompletionNamedToolChoiceCustomCustomParam{Name: "sql"})
		},
		"stop": func(p *params) { p.Stop.OfString = param.NewOpt("END") },
		"text": func(p *params) { p.ResponseFormat.OfText = &shared.ResponseFormatTextParam{} },
		"json object": func(p *params) {
			p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		},
		"schema that is not strict": func(p *params) {
			p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "v", Schema: verdict}}
		},
		"max tokens": func(p *params) { p.MaxTokens = param.NewOpt[int64](9) },
		"audio": func(p *params) {
			p.Modalities = []string{"text", "audio"}
			p.Audio = openai.ChatCompletionAudioParam{Format: "wav", Voice: openai.ChatCompletionAudioParamVoiceUnion{OfString: param.NewOpt("alloy")}}
		},
		"prediction": func(p *params) {
			p.Prediction.Content.OfString = param.NewOpt("Fine.")
		},
		"web search": func(p *params) { p.WebSearchOptions.SearchContextSize = "low" },
		"names": func(p *params) {
			p.Messages = []openai.ChatCompletionMessageParamUnion{
				{OfSystem: &openai.ChatCompletionSystemMessageParam{Name: param.NewOpt("boss"), Content: openai.ChatCompletionSystemMessageParamContentUnion{OfString: param.NewOpt(system)}}},
				{OfUser: &openai.ChatCompletionUserMessageParam{Name: param.NewOpt("ann"), Content: openai.ChatCompletionUserMessageParamContentUnion{OfString: param.NewOpt(question)}}},
			}
		},
		"refusal": func(p *params) {
			p.Messages = append(p.Messages,
				openai.ChatCompletionMessageParamUnion{OfAssistant: &openai.ChatCompletionAssistantMessageParam{Refusal: param.NewOpt("No.")}}, openai.UserMessage("Please."))
		},
		"pieces": func(p *params) {
			p.Messages = []openai.ChatCompletionMessageParamUnion{
				openai.SystemMessage([]openai.ChatCompletionContentPartTextParam{{Text: system}, {Text: "Be kind."}}),
				openai.DeveloperMessage("Be fast."), openai.UserMessage(""), openai.UserMessage(question),
			}
		},
	}, func(t *testing.T, l *lab, p params) { completion(t, newOpenAI(l.base(wire.OpenAI)), p, false) })
}

// TestOpenAIResponsesOptions does the same for Responses.
func TestOpenAIResponsesOptions(t *testing.T) {
	type params = responses.ResponseNewParams
	choose := func(mode responses.ToolChoiceOptions) func(*params) {
		return func(p *params) { p.ToolChoice.OfToolChoiceMode = param.NewOpt(mode) }
	}
	each(t, func() params {
		return params{
			Model: "gpt-5", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt(question)},
			Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("weather", weather, true)},
		}
	}, map[string]func(*params){
		"nothing":  func(*params) {},
		"auto":     choose("auto"),
		"none":     choose("none"),
		"required": choose("required"),
		"hosted tool": func(p *params) {
			p.Tools = append(p.Tools, responses.ToolParamOfWebSearch("web_search"))
			p.ToolChoice.OfHostedTool = &responses.ToolChoiceTypesParam{Type: "web_search_preview"}
		},
		"kept":            func(p *params) { p.Store = param.NewOpt(true) },
		"in the back":     func(p *params) { p.Background = param.NewOpt(false) },
		"kept before":     func(p *params) { p.Conversation.OfString = param.NewOpt("conv_1") },
		"a stored prompt": func(p *params) { p.Prompt = responses.ResponsePromptParam{ID: "pmpt_1"} },
		"text":            func(p *params) { p.Text.Format.OfText = &shared.ResponseFormatTextParam{} },
		"json object":     func(p *params) { p.Text.Format.OfJSONObject = &shared.ResponseFormatJSONObjectParam{} },
		"include sources": func(p *params) { p.Include = []responses.ResponseIncludable{"web_search_call.action.sources"} },
		"tool of a server": func(p *params) {
			mcp := responses.ToolParamOfMcp("docs")
			mcp.OfMcp.ServerURL = param.NewOpt("https://mcp.example")
			p.Tools = append(p.Tools, mcp)
		},
		"custom tool": func(p *params) { p.Tools = append(p.Tools, responses.ToolParamOfCustom("sql")) },
	}, func(t *testing.T, l *lab, p params) { response(t, newOpenAI(l.base(wire.OpenAI)), p, false) })
}

// TestAnthropicOptions does the same for Anthropic.
func TestAnthropicOptions(t *testing.T) {
	type params = anthropic.MessageNewParams
	each(t, anthropicParams, map[string]func(*params){
		"nothing": func(*params) {},
		"auto":    func(p *params) { p.ToolChoice.OfAuto = &anthropic.ToolChoiceAutoParam{} },
		"any": func(p *params) {
			p.ToolChoice.OfAny = &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: anthropicparam.NewOpt(true)}
		},
		"none":     func(p *params) { p.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{} },
		"tool":     func(p *params) { p.ToolChoice = anthropic.ToolChoiceParamOfTool("weather") },
		"adaptive": func(p *params) { p.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{} },
		"disabled": func(p *params) { p.Thinking.OfDisabled = &anthropic.ThinkingConfigDisabledParam{} },
		"effort":   func(p *params) { p.OutputConfig.Effort = "high" },
		"knobs": func(p *params) {
			p.Temperature, p.TopP = anthropicparam.NewOpt(0.5), anthropicparam.NewOpt(0.9)
		},
		"cache of all": func(p *params) { p.CacheControl = anthropic.CacheControlEphemeralParam{TTL: "5m"} },
		"two systems":  func(p *params) { p.System = []anthropic.TextBlockParam{{Text: system}, {Text: "Be kind."}} },
		"bash": func(p *params) {
			p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfBashTool20250124: &anthropic.ToolBash20250124Param{}})
		},
		"search result": func(p *params) {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewSearchResultBlock([]anthropic.TextBlockParam{{Text: "found"}}, "https://a.example", "A")))
		},
		"a file": func(p *params) {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(
				anthropic.NewImageBlock(anthropic.FileImageSourceParam{FileID: "file_1"}), anthropic.NewDocumentBlock(anthropic.URLPDFSourceParam{URL: "https://a.example/a.pdf"})))
		},
		"a search of the provider": func(p *params) {
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(
				anthropic.NewServerToolUseBlock("srvtoolu_1", map[string]any{"query": "rain"}, "web_search"),
				anthropic.NewWebSearchToolResultBlock([]anthropic.WebSearchResultBlockParam{{EncryptedContent: "c2VhbGVk", Title: "A", URL: "https://a.example"}}, "srvtoolu_1"),
				anthropic.NewTextBlock("It rains.")), anthropic.NewUserMessage(anthropic.NewTextBlock("Go on.")))
		},
	}, func(t *testing.T, l *lab, p params) { message(t, newAnthropic(l.base(wire.Anthropic)), p, false) })
}

// TestGeminiOptions does the same for Gemini.
func TestGeminiOptions(t *testing.T) {
	type params = genai.GenerateContentConfig
	choose := func(mode genai.FunctionCallingConfigMode) func(*params) {
		return func(p *params) {
			p.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode}}
		}
	}
	each(t, func() params { return *geminiConfig }, map[string]func(*params){
		"nothing":   func(*params) {},
		"auto":      choose(genai.FunctionCallingConfigModeAuto),
		"any":       choose(genai.FunctionCallingConfigModeAny),
		"none":      choose(genai.FunctionCallingConfigModeNone),
		"validated": choose(genai.FunctionCallingConfigModeValidated),
		"a place": func(p *params) {
			p.ToolConfig = &genai.ToolConfig{RetrievalConfig: &genai.RetrievalConfig{LatLng: &genai.LatLng{Latitude: genai.Ptr(46.9), Longitude: genai.Ptr(7.4)}}}
		},
		"budget":      func(p *params) { p.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](1024)} },
		"no thoughts": func(p *params) { p.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](0)} },
		"own schema": func(p *params) {
			p.ResponseMIMEType = "application/json"
			p.ResponseSchema = &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"rain": {Type: genai.TypeBoolean}}, PropertyOrdering: []string{"rain"}}
		},
		"enum": func(p *params) {
			p.ResponseMIMEType = "text/x.enum"
			p.ResponseSchema = &genai.Schema{Type: genai.TypeString, Enum: []string{"rain", "sun"}}
		},
		"json": func(p *params) { p.ResponseMIMEType = "application/json" },
		"images": func(p *params) {
			p.ResponseModalities, p.ImageConfig = []string{"TEXT", "IMAGE"}, &genai.ImageConfig{AspectRatio: "1:1"}
		},
		"speech": func(p *params) {
			p.ResponseModalities = []string{"AUDIO"}
			p.SpeechConfig = &genai.SpeechConfig{VoiceConfig: &genai.VoiceConfig{PrebuiltVoiceConfig: &genai.PrebuiltVoiceConfig{VoiceName: "Kore"}}}
		},
		"logprobs": func(p *params) { p.ResponseLogprobs, p.Logprobs = true, genai.Ptr[int32](2) },
		"code": func(p *params) {
			p.Tools = []*genai.Tool{{CodeExecution: &genai.ToolCodeExecution{}}, {URLContext: &genai.URLContext{}}}
		},
	}, func(t *testing.T, l *lab, p params) {
		if _, err := newGemini(t, l.base(wire.Gemini)).Models.GenerateContent(t.Context(), "gemini-3-pro-preview", genai.Text(question), &p); err != nil {
			t.Fatal(err)
		}
	})
}
