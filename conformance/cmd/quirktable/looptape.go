package main

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// looptape is the client with the loop of this project.
var looptape = client{
	name: "looptape", description: "the loop of this project",
	protocols: []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini"},
	start:     func() (runFunc, func() error) { return runLooptape, func() error { return nil } },
}

// adapters are its clients of the providers. below is appended to the base URL.
var adapters = map[string]struct {
	provider  string
	protocol  protocol.Protocol
	authorize func(*http.Request) error
	below     string
	model     string
}{
	"openai-chat":        {wire.OpenAI, chat.Protocol{}, openai.Key(key), "", "gpt-4.1"},
	"openai-responses":   {wire.OpenAI, responses.Protocol{}, openai.Key(key), "", "gpt-4.1"},
	"anthropic-messages": {wire.Anthropic, anthropic.Messages{}, anthropic.Key(key), "", "claude-opus-4-5"},
	"gemini":             {wire.Gemini, gemini.GenerateContent{}, gemini.Key(key), "/v1beta", "gemini-3-pro-preview"},
}

// runLooptape runs a test case with the middleware of the scenario.
func runLooptape(ctx context.Context, c testCase, url string) (result, error) {
	cfg, err := scenario.Config(c.script)
	if err != nil {
		return result{}, err
	}
	a := adapters[c.protocol]
	cfg.Model, cfg.MaxSteps, cfg.StallTimeout = a.model, maxSteps, responseTimeout
	cfg.Retry = loop.Retry{Max: retries, Base: time.Millisecond}
	if !c.streaming {
		cfg.ResponseMode = llm.NonStreaming
	}
	for _, t := range tools {
		own, err := loopTool(t)
		if err != nil {
			return result{}, err
		}
		cfg.Tools = append(cfg.Tools, own)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	agent, err := loop.New(&protocol.Client{
		Protocol: a.protocol, BaseURL: wire.ServerInfo{URL: url}.BaseURL(a.provider, "") + a.below, Authorize: a.authorize, HTTP: &http.Client{Transport: transport},
	}, &cfg)
	if err != nil {
		return result{}, err
	}
	res, err := agent.Run(ctx, loop.Prompt(prompt))
	switch {
	case ctx.Err() != nil:
		return result{}, context.Cause(ctx)
	case err != nil:
		return result{failed: err.Error()}, nil
	}
	return result{text: lastText(res.Messages)}, nil
}

// lastText returns the text of the final response; empty if it has none.
func lastText(messages []llm.Message) string {
	if n := len(messages); n > 0 && messages[n-1].Role == llm.RoleAssistant {
		return messages[n-1].Text()
	}
	return ""
}

func loopTool(t tool) (loop.Tool, error) {
	schema, err := json.Marshal(t.schema())
	if err != nil {
		return loop.Tool{}, err
	}
	return loop.RawTool(t.name, t.description, schema, func(_ context.Context, call loop.Call) (loop.Output, error) {
		var arguments map[string]string
		if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
			return loop.Output{}, err
		}
		return loop.TextOutput(t.run(arguments[t.property])), nil
	})
}
