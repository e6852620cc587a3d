package league

import (
	"context"
	"encoding/json"
	"errors"
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
)

// maxSteps is the step limit of the presets.
const maxSteps = 10

func client(in *looptest.Input) *http.Client { return &http.Client{Transport: transport{in.Model}} }

// presetLoop is the loop of this module with the options of a preset.
func presetLoop(name string) looptest.LoopFunc {
	return func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		cfg := loop.Config{MaxSteps: maxSteps}
		for _, t := range in.Tools {
			cfg.Tools = append(cfg.Tools, loop.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
				text, err := t.Run(ctx, c.Arguments)
				return loop.TextOutput(text), err
			}})
		}
		cfg, err := preset.Apply(name, cfg)
		if err != nil {
			return nil, err
		}
		a, err := loop.New(in.Model, &cfg)
		if err != nil {
			return nil, err
		}
		res, err := a.Run(ctx, loop.Input{Messages: in.Messages})
		out := &looptest.Result{Messages: res.Messages, Usage: &res.Usage}
		for _, c := range res.Pending {
			out.Pending = append(out.Pending, c.ID)
		}
		return out, err
	}
}

// fantasyLoop is the agent of fantasy with its own client of Chat Completions.
func fantasyLoop(streaming, parallel bool) looptest.LoopFunc {
	return func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		provider, err := fantasyopenai.New(fantasyopenai.WithBaseURL(openAIURL), fantasyopenai.WithAPIKey("key"), fantasyopenai.WithHTTPClient(client(in)))
		if err != nil {
			return nil, err
		}
		model, err := provider.LanguageModel(ctx, "gpt-4.1")
		if err != nil {
			return nil, err
		}
		var tools []fantasy.AgentTool
		for _, t := range in.Tools {
			tools = append(tools, &fantasyTool{tool: t, parallel: parallel})
		}
		a := fantasy.NewAgent(model, fantasy.WithTools(tools...))
		prompt := in.Messages[0].Text()
		if streaming {
			_, err = a.Stream(ctx, fantasy.AgentStreamCall{Prompt: prompt})
		} else {
			_, err = a.Generate(ctx, fantasy.AgentCall{Prompt: prompt})
		}
		return nil, err
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

// encoded runs a tool with decoded arguments.
func encoded(ctx context.Context, t looptest.Tool, args map[string]any) (string, error) {
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
func einoLoop(streaming bool) looptest.LoopFunc {
	return func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		model, err := einoopenai.NewChatModel(ctx, &einoopenai.ChatModelConfig{APIKey: "key", BaseURL: openAIURL, Model: "gpt-4.1", HTTPClient: client(in)})
		if err != nil {
			return nil, err
		}
		cfg := compose.ToolsNodeConfig{UnknownToolsHandler: func(_ context.Context, name, _ string) (string, error) {
			return "unknown tool " + name, nil
		}}
		for _, t := range in.Tools {
			info := &schema.ToolInfo{Name: t.Name, Desc: t.Description, ParamsOneOf: schema.NewParamsOneOfByParams(nil)}
			one := utils.NewTool(info, func(ctx context.Context, args map[string]any) (string, error) { return encoded(ctx, t, args) })
			cfg.Tools = append(cfg.Tools, tool.BaseTool(utils.WrapToolWithErrorHandler(one, func(_ context.Context, err error) string { return err.Error() })))
		}
		a, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: model, ToolsConfig: cfg, MaxStep: 40, StreamToolCallChecker: anyCalls})
		if err != nil {
			return nil, err
		}
		prompt := []*schema.Message{schema.UserMessage(in.Messages[0].Text())}
		if !streaming {
			_, err = a.Generate(ctx, prompt)
			return nil, err
		}
		chunks, err := a.Stream(ctx, prompt)
		if err != nil {
			return nil, err
		}
		_, err = schema.ConcatMessageStream(chunks)
		return nil, err
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
func adkLoop(streaming bool) looptest.LoopFunc {
	return func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		model, err := adkgemini.NewModel(ctx, "gemini-2.5-flash", &genai.ClientConfig{
			APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: client(in), HTTPOptions: genai.HTTPOptions{BaseURL: geminiURL},
		})
		if err != nil {
			return nil, err
		}
		var tools []adktool.Tool
		for _, t := range in.Tools {
			one, err := functiontool.New(functiontool.Config{Name: t.Name, Description: t.Name}, func(ctx agent.Context, args map[string]any) (map[string]any, error) {
				text, err := encoded(ctx, t, args)
				return map[string]any{"result": text}, err
			})
			if err != nil {
				return nil, err
			}
			tools = append(tools, one)
		}
		a, err := llmagent.New(llmagent.Config{Name: "league", Model: model, Tools: tools})
		if err != nil {
			return nil, err
		}
		r, err := runner.New(runner.Config{AppName: "league", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
		if err != nil {
			return nil, err
		}
		config := agent.RunConfig{}
		if streaming {
			config.StreamingMode = agent.StreamingModeSSE
		}
		for _, err := range r.Run(ctx, "user", "session", genai.NewContentFromText(in.Messages[0].Text(), genai.RoleUser), config) {
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}
