package league

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"charm.land/fantasy"
	fantasyopenai "charm.land/fantasy/providers/openai"
	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	adkgemini "google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	adktool "google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/looptest"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
)

// Below the base URL of a run: the APIs of OpenAI and Gemini.
const (
	openAIPath = "/openai/v1"
	geminiPath = "/gemini"
	chatModel  = "gpt-4.1"
)

// maxSteps is the step limit of the presets.
const maxSteps = 10

// presetLoop is the loop of this module with the options of a preset and its own client of Chat Completions.
func presetLoop(name string) looptest.HTTPLoop {
	return func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
		cfg := loop.Config{MaxSteps: maxSteps}
		for _, t := range in.Tools {
			cfg.Tools = append(cfg.Tools, loop.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
				text, err := t.Run(ctx, c.Arguments)
				return loop.TextOutput(text), err
			}})
		}
		cfg, err := preset.Apply(name, cfg)
		if err != nil {
			return "", err
		}
		cfg.Model = chatModel
		a, err := loop.New(&protocol.Client{Protocol: chat.Protocol{}, BaseURL: baseURL + openAIPath, Authorize: openai.Key("key"), HTTP: client}, &cfg)
		if err != nil {
			return "", err
		}
		res, err := a.Run(ctx, loop.Input{Messages: in.Messages})
		return res.Text, err
	}
}

// fantasyLoop is the agent of fantasy with its own client of Chat Completions.
func fantasyLoop(streaming, parallel bool) looptest.HTTPLoop {
	return func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
		provider, err := fantasyopenai.New(fantasyopenai.WithBaseURL(baseURL+openAIPath), fantasyopenai.WithAPIKey("key"), fantasyopenai.WithHTTPClient(client))
		if err != nil {
			return "", err
		}
		model, err := provider.LanguageModel(ctx, chatModel)
		if err != nil {
			return "", err
		}
		var tools []fantasy.AgentTool
		for _, t := range in.Tools {
			tools = append(tools, &fantasyTool{tool: t, parallel: parallel})
		}
		a := fantasy.NewAgent(model, fantasy.WithTools(tools...))
		var res *fantasy.AgentResult
		if prompt := in.Messages[0].Text(); streaming {
			res, err = a.Stream(ctx, fantasy.AgentStreamCall{Prompt: prompt})
		} else {
			res, err = a.Generate(ctx, fantasy.AgentCall{Prompt: prompt})
		}
		if err != nil {
			return "", err
		}
		return res.Response.Content.Text(), nil
	}
}

// fantasyTool is a tool as a [fantasy.AgentTool]. A failure is an error response, which does not end the run.
type fantasyTool struct {
	tool     looptest.Tool
	parallel bool
	options  fantasy.ProviderOptions
}

// Info implements [fantasy.AgentTool].
func (t *fantasyTool) Info() fantasy.ToolInfo {
	return fantasy.ToolInfo{Name: t.tool.Name, Description: t.tool.Description, Parameters: map[string]any{}, Parallel: t.parallel}
}

// Run implements [fantasy.AgentTool].
func (t *fantasyTool) Run(ctx context.Context, c fantasy.ToolCall) (fantasy.ToolResponse, error) {
	text, err := t.tool.Run(ctx, c.Input)
	if err != nil {
		return fantasy.NewTextErrorResponse(err.Error()), nil
	}
	return fantasy.NewTextResponse(text), nil
}

// ProviderOptions implements [fantasy.AgentTool].
func (t *fantasyTool) ProviderOptions() fantasy.ProviderOptions { return t.options }

// SetProviderOptions implements [fantasy.AgentTool].
func (t *fantasyTool) SetProviderOptions(o fantasy.ProviderOptions) { t.options = o }

// runDecoded runs a tool with decoded arguments.
func runDecoded(ctx context.Context, t looptest.Tool, args map[string]any) (string, error) {
	if args == nil {
		args = map[string]any{}
	}
	data, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	return t.Run(ctx, string(data))
}

// einoLoop is the ReAct agent of eino with the client of Chat Completions of eino-ext. An error of a tool and an
// unknown tool are results.
func einoLoop(streaming bool) looptest.HTTPLoop {
	return func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
		model, err := einoopenai.NewChatModel(ctx, &einoopenai.ChatModelConfig{APIKey: "key", BaseURL: baseURL + openAIPath, Model: chatModel, HTTPClient: client})
		if err != nil {
			return "", err
		}
		cfg := compose.ToolsNodeConfig{UnknownToolsHandler: func(_ context.Context, name, _ string) (string, error) {
			return "unknown tool " + name, nil
		}}
		for _, t := range in.Tools {
			info := &schema.ToolInfo{Name: t.Name, Desc: t.Description, ParamsOneOf: schema.NewParamsOneOfByParams(nil)}
			one := utils.NewTool(info, func(ctx context.Context, args map[string]any) (string, error) { return runDecoded(ctx, t, args) })
			cfg.Tools = append(cfg.Tools, tool.BaseTool(utils.WrapToolWithErrorHandler(one, func(_ context.Context, err error) string { return err.Error() })))
		}
		a, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: model, ToolsConfig: cfg, MaxStep: 40, StreamToolCallChecker: anyCalls})
		if err != nil {
			return "", err
		}
		prompt := []*schema.Message{schema.UserMessage(in.Messages[0].Text())}
		var last *schema.Message
		if !streaming {
			last, err = a.Generate(ctx, prompt)
		} else if chunks, failed := a.Stream(ctx, prompt); failed != nil {
			err = failed
		} else {
			last, err = schema.ConcatMessageStream(chunks)
		}
		if err != nil {
			return "", err
		}
		return last.Content, nil
	}
}

// anyCalls reports whether any chunk has a call. By default the first chunk with content decides, which the documentation
// of react.AgentConfig excludes for models that send a text before calls.
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

// adkLoop is the LLM agent of ADK with its own client of Gemini, in a session in memory.
func adkLoop(streaming bool) looptest.HTTPLoop {
	return func(ctx context.Context, client *http.Client, baseURL string, in *looptest.Input) (string, error) {
		model, err := adkgemini.NewModel(ctx, "gemini-2.5-flash", &genai.ClientConfig{
			APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: baseURL + geminiPath},
		})
		if err != nil {
			return "", err
		}
		var tools []adktool.Tool
		for _, t := range in.Tools {
			one, err := functiontool.New(functiontool.Config{Name: t.Name, Description: t.Name}, func(ctx agent.Context, args map[string]any) (map[string]any, error) {
				text, err := runDecoded(ctx, t, args)
				return map[string]any{"result": text}, err
			})
			if err != nil {
				return "", err
			}
			tools = append(tools, one)
		}
		a, err := llmagent.New(llmagent.Config{Name: "league", Model: model, Tools: tools})
		if err != nil {
			return "", err
		}
		r, err := runner.New(runner.Config{AppName: "league", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
		if err != nil {
			return "", err
		}
		config := agent.RunConfig{}
		if streaming {
			config.StreamingMode = agent.StreamingModeSSE
		}
		text := ""
		for ev, err := range r.Run(ctx, "user", "session", genai.NewContentFromText(in.Messages[0].Text(), genai.RoleUser), config) {
			switch {
			case err != nil:
				return "", err
			case ev.ErrorCode != "" && !ev.Partial: // ADK reports errors of a response so
				return "", fmt.Errorf("%s: %s", ev.ErrorCode, ev.ErrorMessage)
			}
			if ev.IsFinalResponse() && ev.Content != nil {
				text = ""
				for _, p := range ev.Content.Parts {
					text += p.Text
				}
			}
		}
		return text, nil
	}
}
