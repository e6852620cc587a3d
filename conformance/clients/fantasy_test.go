package clients

import (
	"context"
	"testing"

	"charm.land/fantasy"
	fantasyanthropic "charm.land/fantasy/providers/anthropic"
	fantasygoogle "charm.land/fantasy/providers/google"
	fantasyopenai "charm.land/fantasy/providers/openai"
)

// TestFantasy runs the scenario with the loop of charm.land/fantasy and its own providers.
func TestFantasy(t *testing.T) {
	chat := fantasyLoop{"gpt-4.1", func(base string) (fantasy.Provider, error) {
		return fantasyopenai.New(fantasyopenai.WithBaseURL(base), fantasyopenai.WithAPIKey(key))
	}, nil}
	messages := fantasyLoop{"claude-sonnet-4-5", func(base string) (fantasy.Provider, error) {
		return fantasyanthropic.New(fantasyanthropic.WithBaseURL(base), fantasyanthropic.WithAPIKey(key))
	}, fantasyanthropic.NewProviderOptions(&fantasyanthropic.ProviderOptions{Thinking: &fantasyanthropic.ThinkingProviderOption{BudgetTokens: 2000}})}
	responses := fantasyLoop{"gpt-5", func(base string) (fantasy.Provider, error) {
		return fantasyopenai.New(fantasyopenai.WithBaseURL(base), fantasyopenai.WithAPIKey(key), fantasyopenai.WithUseResponsesAPI())
	}, fantasyopenai.NewResponsesProviderOptions(&fantasyopenai.ResponsesProviderOptions{
		Include: []fantasyopenai.IncludeType{fantasyopenai.IncludeReasoningEncryptedContent},
	})}
	google := func(model string) fantasyLoop {
		return fantasyLoop{model, func(base string) (fantasy.Provider, error) {
			return fantasygoogle.New(fantasygoogle.WithBaseURL(base), fantasygoogle.WithGeminiAPIKey(key))
		}, nil}
	}
	unsigned := geminiScript.with(signs{unnamed: true})
	for name, stream := range map[string]bool{"streaming": true, "non-streaming": false} {
		t.Run("openai-chat/"+name, func(t *testing.T) { chatScript.play(t, chat.run, stream) })
		t.Run("anthropic-messages/"+name, func(t *testing.T) { messagesScript.play(t, messages.run, stream) })
		t.Run("gemini-2.5/"+name, func(t *testing.T) { unsigned.play(t, google("gemini-2.5-flash").run, stream) })
		// It has no signatures on calls.
		t.Run("gemini-3/"+name, func(t *testing.T) {
			geminiScript.flawed(t, google("gemini-3-pro-preview").run, stream, "SG-04", "INV-22")
		})
	}
	// It sends arguments back as a JSON string within JSON and, after a stream, no reasoning.
	t.Run("openai-responses/streaming", func(t *testing.T) { responsesScript.flawed(t, responses.run, true, "", "INV-22") })
	t.Run("openai-responses/non-streaming", func(t *testing.T) { responsesScript.flawed(t, responses.run, false, "", "INV-05") })
}

// fantasyLoop is the loop with one provider.
type fantasyLoop struct {
	model    string
	provider func(base string) (fantasy.Provider, error)
	options  fantasy.ProviderOptions
}

func (f fantasyLoop) run(t *testing.T, base string, stream bool, tool func(string) (string, error)) (string, error) {
	provider, err := f.provider(base)
	if err != nil {
		t.Fatal(err)
	}
	model, err := provider.LanguageModel(t.Context(), f.model)
	if err != nil {
		t.Fatal(err)
	}
	agent := fantasy.NewAgent(model, fantasy.WithSystemPrompt(system), fantasy.WithTools(&fantasyTool{run: tool}))
	var res *fantasy.AgentResult
	if stream {
		res, err = agent.Stream(t.Context(), fantasy.AgentStreamCall{Prompt: question, ProviderOptions: f.options})
	} else {
		res, err = agent.Generate(t.Context(), fantasy.AgentCall{Prompt: question, ProviderOptions: f.options})
	}
	if err != nil {
		return "", err
	}
	return res.Response.Content.Text(), nil
}

// fantasyTool is the tool as a fantasy.AgentTool.
type fantasyTool struct {
	run     func(args string) (string, error)
	options fantasy.ProviderOptions
}

// Info implements fantasy.AgentTool.
func (f *fantasyTool) Info() fantasy.ToolInfo {
	return fantasy.ToolInfo{Name: "weather", Description: "the weather of a city", Parameters: weather["properties"].(map[string]any), Required: []string{"city", "at"}}
}

// Run implements fantasy.AgentTool.
func (f *fantasyTool) Run(_ context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	said, err := f.run(call.Input)
	return fantasy.NewTextResponse(said), err
}

// ProviderOptions implements fantasy.AgentTool.
func (f *fantasyTool) ProviderOptions() fantasy.ProviderOptions { return f.options }

// SetProviderOptions implements fantasy.AgentTool.
func (f *fantasyTool) SetProviderOptions(o fantasy.ProviderOptions) { f.options = o }
