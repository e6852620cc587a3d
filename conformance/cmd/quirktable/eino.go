package main

import (
	"context"

	"github.com/cloudwego/eino-ext/components/model/claude"
	einogemini "github.com/cloudwego/eino-ext/components/model/gemini"
	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/looptape/looptape/conformance/einoloop"
	"github.com/looptape/looptape/fake/wire"
)

func einoAgent(ctx context.Context, c testCase, url string) (string, error) {
	m, err := einoModel(ctx, c.protocol, url)
	if err != nil {
		return "", err
	}
	agent := einoloop.Loop{Model: m, MaxStep: 2 * maxSteps}
	for _, t := range tools {
		agent.Tools = append(agent.Tools, einoTool(t))
	}
	return agent.Ask(ctx, c.streaming, schema.UserMessage(prompt))
}

func einoTool(t tool) einoloop.Tool {
	params := map[string]*schema.ParameterInfo{}
	if t.property != "" {
		params[t.property] = &schema.ParameterInfo{Type: schema.String, Required: true}
	}
	return einoloop.Tool{
		ToolInfo: &schema.ToolInfo{Name: t.name, Desc: t.description, ParamsOneOf: schema.NewParamsOneOfByParams(params)},
		Run:      func(arguments string) (string, error) { return runTool(t.name, []byte(arguments)) },
	}
}

func einoModel(ctx context.Context, protocol, url string) (model.ToolCallingChatModel, error) {
	switch protocol {
	case "anthropic-messages":
		base := baseURL(url, wire.Anthropic)
		return claude.NewChatModel(ctx, &claude.Config{APIKey: key, BaseURL: &base, Model: "claude-opus-4-5", MaxTokens: 1024, HTTPClient: newHTTP()})
	case "gemini":
		client, err := newGenAI(ctx, url)
		if err != nil {
			return nil, err
		}
		return einogemini.NewChatModel(ctx, &einogemini.Config{Client: client, Model: "gemini-2.5-flash"})
	}
	return einoopenai.NewChatModel(ctx, &einoopenai.ChatModelConfig{APIKey: key, BaseURL: baseURL(url, wire.OpenAI), Model: "gpt-4.1", HTTPClient: newHTTP()})
}
