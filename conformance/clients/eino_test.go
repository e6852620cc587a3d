package clients

import (
	"context"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/claude"
	einogemini "github.com/cloudwego/eino-ext/components/model/gemini"
	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/looptape/looptape/conformance/einoloop"
)

// TestEino runs the scenario with eino's react agent and the models of eino-ext.
func TestEino(t *testing.T) {
	chat := func(ctx context.Context, t *testing.T, base string) (model.ToolCallingChatModel, error) {
		return einoopenai.NewChatModel(ctx, &einoopenai.ChatModelConfig{APIKey: key, BaseURL: base, Model: "gpt-4.1"})
	}
	messages := func(ctx context.Context, t *testing.T, base string) (model.ToolCallingChatModel, error) {
		return claude.NewChatModel(ctx, &claude.Config{
			APIKey: key, BaseURL: &base, Model: "claude-sonnet-4-5", MaxTokens: 4000, Thinking: &claude.Thinking{Enable: true, BudgetTokens: 2000},
		})
	}
	gemini := func(name string) einoModel {
		return func(ctx context.Context, t *testing.T, base string) (model.ToolCallingChatModel, error) {
			return einogemini.NewChatModel(ctx, &einogemini.Config{Client: newGemini(t, base), Model: name})
		}
	}
	single := signs{single: true, unnamed: true}
	for name, stream := range map[string]bool{"streaming": true, "non-streaming": false} {
		t.Run("openai-chat/"+name, func(t *testing.T) { chatScript.play(t, einoModel(chat).run, stream) })
		t.Run("anthropic-messages/"+name, func(t *testing.T) {
			if raceDetector && stream {
				t.Skip("the model of eino-ext v0.1.15 has a data race of its own: two goroutines set one error in Stream")
			}
			messagesScript.play(t, einoModel(messages).run, stream)
		})
		t.Run("gemini-2.5, one call at a time/"+name, func(t *testing.T) {
			geminiScript.with(single).play(t, gemini("gemini-2.5-flash").run, stream)
		})
		// It makes a message of each result.
		t.Run("gemini-2.5/"+name, func(t *testing.T) {
			geminiScript.with(signs{unnamed: true}).flawed(t, gemini("gemini-2.5-flash").run, stream, "SG-01", "INV-01")
		})
		// It has no ids and no signatures of calls.
		t.Run("gemini-3/"+name, func(t *testing.T) {
			geminiScript.with(signs{single: true, call: geminiScript.signs.call}).flawed(t, gemini("gemini-3-pro-preview").run, stream, "SG-04", "INV-22")
		})
	}
}

// einoModel creates the model of the agent.
type einoModel func(ctx context.Context, t *testing.T, base string) (model.ToolCallingChatModel, error)

func (e einoModel) run(t *testing.T, base string, stream bool, call func(string) (string, error)) (string, error) {
	m, err := e(t.Context(), t, base)
	if err != nil {
		t.Fatal(err)
	}
	agent := einoloop.Loop{Model: m, Tools: []einoloop.Tool{{ToolInfo: einoWeather(), Run: call}}}
	return agent.Ask(t.Context(), stream, schema.SystemMessage(system), schema.UserMessage(question))
}

func einoWeather() *schema.ToolInfo {
	return &schema.ToolInfo{Name: "weather", Desc: "the weather of a city", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"city": {Type: schema.String, Desc: "the name of a city", Required: true},
		"at":   {Type: schema.Number, Desc: "the hour", Required: true},
	})}
}
