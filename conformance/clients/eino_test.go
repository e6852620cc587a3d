package clients

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/claude"
	einogemini "github.com/cloudwego/eino-ext/components/model/gemini"
	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
)

// TestEino plays the scenario with eino's react agent, over the models of eino-ext.
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
	for name, stream := range map[string]bool{"streamed": true, "buffered": false} {
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
		// It makes a content of each result.
		t.Run("gemini-2.5/"+name, func(t *testing.T) {
			geminiScript.with(signs{unnamed: true}).flawed(t, gemini("gemini-2.5-flash").run, stream, "SG-01", "INV-01")
		})
		// It knows of no ids and no signatures of calls.
		t.Run("gemini-3/"+name, func(t *testing.T) {
			geminiScript.with(signs{single: true, call: geminiScript.signs.call}).flawed(t, gemini("gemini-3-pro-preview").run, stream, "SG-04", "INV-22")
		})
	}
}

// einoModel makes the agent's model.
type einoModel func(ctx context.Context, t *testing.T, base string) (model.ToolCallingChatModel, error)

func (e einoModel) run(t *testing.T, base string, stream bool, call func(string) (string, error)) (string, error) {
	m, err := e(t.Context(), t, base)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := react.NewAgent(t.Context(), &react.AgentConfig{
		ToolCallingModel: m,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{einoTool(call)}},
		// Calls need not be in the first chunk: text stands before them.
		StreamToolCallChecker: anyCalls,
	})
	if err != nil {
		t.Fatal(err)
	}
	input := []*schema.Message{schema.SystemMessage(system), schema.UserMessage(question)}
	if !stream {
		res, err := agent.Generate(t.Context(), input)
		if err != nil {
			return "", err
		}
		return res.Content, nil
	}
	events, err := agent.Stream(t.Context(), input)
	if err != nil {
		return "", err
	}
	res, err := schema.ConcatMessageStream(events)
	if err != nil {
		return "", err
	}
	return res.Content, nil
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

// einoTool is the tool as a tool.InvokableTool.
type einoTool func(args string) (string, error)

// Info implements tool.InvokableTool.
func (einoTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "weather", Desc: "the weather of a city", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"city": {Type: schema.String, Desc: "the name of a city", Required: true},
		"at":   {Type: schema.Number, Desc: "the hour", Required: true},
	})}, nil
}

// InvokableRun implements tool.InvokableTool.
func (e einoTool) InvokableRun(_ context.Context, args string, _ ...tool.Option) (string, error) {
	return e(args)
}
