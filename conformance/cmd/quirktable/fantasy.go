package main

import (
	"context"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/google"
	"charm.land/fantasy/providers/openai"

	"github.com/looptape/looptape/fake/wire"
)

func fantasyAgent(ctx context.Context, c testCase, url string) (string, error) {
	provider, name, err := fantasyProvider(c.protocol, url)
	if err != nil {
		return "", err
	}
	model, err := provider.LanguageModel(ctx, name)
	if err != nil {
		return "", err
	}
	var own []fantasy.AgentTool
	for _, t := range tools {
		own = append(own, &fantasyTool{tool: t})
	}
	agent := fantasy.NewAgent(model, fantasy.WithTools(own...), fantasy.WithMaxRetries(retries), fantasy.WithStopConditions(fantasy.StepCountIs(maxSteps)))
	var res *fantasy.AgentResult
	if c.streaming {
		res, err = agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: prompt})
	} else {
		res, err = agent.Generate(ctx, fantasy.AgentCall{Prompt: prompt})
	}
	if err != nil {
		return "", err
	}
	return res.Response.Content.Text(), nil
}

func fantasyProvider(protocol, url string) (p fantasy.Provider, model string, err error) {
	switch protocol {
	case "anthropic-messages":
		p, err = anthropic.New(anthropic.WithBaseURL(baseURL(url, wire.Anthropic)), anthropic.WithAPIKey(key), anthropic.WithHTTPClient(newHTTP()))
		return p, "claude-opus-4-5", err
	case "gemini":
		p, err = google.New(google.WithBaseURL(baseURL(url, wire.Gemini)), google.WithGeminiAPIKey(key), google.WithHTTPClient(newHTTP()))
		return p, "gemini-2.5-flash", err
	}
	options := []openai.Option{openai.WithBaseURL(baseURL(url, wire.OpenAI)), openai.WithAPIKey(key), openai.WithHTTPClient(newHTTP())}
	if protocol == "openai-responses" {
		options = append(options, openai.WithUseResponsesAPI())
	}
	p, err = openai.New(options...)
	return p, "gpt-4.1", err
}

// fantasyTool is a tool as a fantasy.AgentTool.
type fantasyTool struct {
	tool
	options fantasy.ProviderOptions
}

// Info implements fantasy.AgentTool.
func (t *fantasyTool) Info() fantasy.ToolInfo {
	schema := t.schema()
	return fantasy.ToolInfo{Name: t.name, Description: t.description, Parameters: schema["properties"].(map[string]any), Required: schema["required"].([]string)}
}

// Run implements fantasy.AgentTool.
func (t *fantasyTool) Run(_ context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	output, err := runTool(t.name, []byte(call.Input))
	if err != nil {
		return fantasy.NewTextErrorResponse(err.Error()), nil
	}
	return fantasy.NewTextResponse(output), nil
}

// ProviderOptions implements fantasy.AgentTool.
func (t *fantasyTool) ProviderOptions() fantasy.ProviderOptions { return t.options }

// SetProviderOptions implements fantasy.AgentTool.
func (t *fantasyTool) SetProviderOptions(o fantasy.ProviderOptions) { t.options = o }
