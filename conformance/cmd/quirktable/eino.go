package main

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino-ext/components/model/claude"
	einogemini "github.com/cloudwego/eino-ext/components/model/gemini"
	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"
	einotool "github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/looptape/looptape/fake/wire"
)

func einoAgent(ctx context.Context, g game, url string) (string, error) {
	m, err := einoModel(ctx, g.protocol, url)
	if err != nil {
		return "", err
	}
	var own []einotool.BaseTool
	for _, t := range tools {
		own = append(own, einoTool(t))
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: m, ToolsConfig: compose.ToolsNodeConfig{Tools: own}, MaxStep: 2 * maxSteps,
		StreamToolCallChecker: anyCalls, // by default only the first chunk is looked at
	})
	if err != nil {
		return "", err
	}
	input := []*schema.Message{schema.UserMessage(question)}
	if !g.streamed {
		res, err := agent.Generate(ctx, input)
		if err != nil {
			return "", err
		}
		return res.Content, nil
	}
	events, err := agent.Stream(ctx, input)
	if err != nil {
		return "", err
	}
	res, err := schema.ConcatMessageStream(events)
	if err != nil {
		return "", err
	}
	return res.Content, nil
}

func einoModel(ctx context.Context, protocol, url string) (model.ToolCallingChatModel, error) {
	switch protocol {
	case "anthropic-messages":
		base := wire.BaseURL(url, "", wire.Anthropic)
		return claude.NewChatModel(ctx, &claude.Config{APIKey: key, BaseURL: &base, Model: "claude-opus-4-5", MaxTokens: 1024, HTTPClient: newHTTP()})
	case "gemini":
		client, err := newGenAI(ctx, url)
		if err != nil {
			return nil, err
		}
		return einogemini.NewChatModel(ctx, &einogemini.Config{Client: client, Model: "gemini-2.5-flash"})
	}
	return einoopenai.NewChatModel(ctx, &einoopenai.ChatModelConfig{APIKey: key, BaseURL: wire.BaseURL(url, "", wire.OpenAI), Model: "gpt-4.1", HTTPClient: newHTTP()})
}

// anyCalls reports whether there is a call in any chunk.
func anyCalls(_ context.Context, chunks *schema.StreamReader[*schema.Message]) (bool, error) {
	defer chunks.Close()
	for {
		chunk, err := chunks.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case len(chunk.ToolCalls) > 0:
			return true, nil
		}
	}
}

// einoTool is a tool as a tool.InvokableTool.
type einoTool tool

// Info implements tool.InvokableTool.
func (t einoTool) Info(context.Context) (*schema.ToolInfo, error) {
	params := map[string]*schema.ParameterInfo{}
	if t.property != "" {
		params[t.property] = &schema.ParameterInfo{Type: schema.String, Required: true}
	}
	return &schema.ToolInfo{Name: t.name, Desc: t.description, ParamsOneOf: schema.NewParamsOneOfByParams(params)}, nil
}

// InvokableRun implements tool.InvokableTool.
func (t einoTool) InvokableRun(_ context.Context, args string, _ ...einotool.Option) (string, error) {
	return runTool(t.name, []byte(args))
}
