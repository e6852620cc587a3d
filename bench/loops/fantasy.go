package loops

import (
	"context"
	"encoding/json"
	"errors"

	"charm.land/fantasy"

	"github.com/looptape/looptape/bench/work"
)

// fantasyModel is the double of a fantasy.LanguageModel.
type fantasyModel struct {
	turns []*fantasy.Response
	next  int
}

var errUnused = errors.New("loops: this benchmark does not use that")

// Generate implements fantasy.LanguageModel.
func (m *fantasyModel) Generate(context.Context, fantasy.Call) (*fantasy.Response, error) {
	turn := m.turns[m.next]
	m.next++
	return turn, nil
}

// Stream implements fantasy.LanguageModel.
func (m *fantasyModel) Stream(context.Context, fantasy.Call) (fantasy.StreamResponse, error) {
	return nil, errUnused
}

// GenerateObject implements fantasy.LanguageModel.
func (m *fantasyModel) GenerateObject(context.Context, fantasy.ObjectCall) (*fantasy.ObjectResponse, error) {
	return nil, errUnused
}

// StreamObject implements fantasy.LanguageModel.
func (m *fantasyModel) StreamObject(context.Context, fantasy.ObjectCall) (fantasy.ObjectStreamResponse, error) {
	return nil, errUnused
}

// Provider implements fantasy.LanguageModel.
func (m *fantasyModel) Provider() string { return "bench" }

// Model implements fantasy.LanguageModel.
func (m *fantasyModel) Model() string { return "bench" }

// newFantasy uses fantasy.Agent.Generate, which runs tools one after another.
func newFantasy(w *work.Work, o Options) (Run, func() error, error) {
	usage := fantasy.Usage{InputTokens: work.Input, OutputTokens: work.Output, TotalTokens: work.Input + work.Output}
	model := &fantasyModel{}
	for _, calls := range w.Steps {
		turn := &fantasy.Response{FinishReason: fantasy.FinishReasonToolCalls, Usage: usage}
		for _, c := range calls {
			turn.Content = append(turn.Content, fantasy.ToolCallContent{ToolCallID: c.ID, ToolName: work.Tool, Input: c.Raw})
		}
		model.turns = append(model.turns, turn)
	}
	model.turns = append(model.turns, &fantasy.Response{
		Content: fantasy.ResponseContent{fantasy.TextContent{Text: work.Final}}, FinishReason: fantasy.FinishReasonStop, Usage: usage,
	})
	tool, err := newFantasyTool(o)
	if err != nil {
		return nil, nil, err
	}
	agent := fantasy.NewAgent(model, fantasy.WithTools(tool))
	return func(ctx context.Context) (string, error) {
		model.next = 0
		res, err := agent.Generate(ctx, fantasy.AgentCall{Prompt: work.Prompt})
		if err != nil {
			return "", err
		}
		return res.Response.Content.Text(), nil
	}, nil, nil
}

func newFantasyTool(o Options) (fantasy.AgentTool, error) {
	if o.Typed {
		return fantasy.NewAgentTool(work.Tool, work.About, func(_ context.Context, in work.Args, _ fantasy.ToolCall) (fantasy.ToolResponse, error) {
			o.called(in.Day)
			return fantasy.NewTextResponse(work.Answer), nil
		}), nil
	}
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal([]byte(work.Schema), &schema); err != nil {
		return nil, err
	}
	info := fantasy.ToolInfo{Name: work.Tool, Description: work.About, Parameters: schema.Properties, Required: schema.Required}
	return &fantasyRawTool{o: o, info: info}, nil
}

// fantasyRawTool is a fantasy.AgentTool that takes its arguments as they come.
// The loop itself reads them all the same, to look for required members.
type fantasyRawTool struct {
	o       Options
	info    fantasy.ToolInfo
	options fantasy.ProviderOptions
}

// Info implements fantasy.AgentTool.
func (t *fantasyRawTool) Info() fantasy.ToolInfo { return t.info }

// Run implements fantasy.AgentTool.
func (t *fantasyRawTool) Run(_ context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	t.o.rawCalled(call.Input)
	return fantasy.NewTextResponse(work.Answer), nil
}

// ProviderOptions implements fantasy.AgentTool.
func (t *fantasyRawTool) ProviderOptions() fantasy.ProviderOptions { return t.options }

// SetProviderOptions implements fantasy.AgentTool.
func (t *fantasyRawTool) SetProviderOptions(o fantasy.ProviderOptions) { t.options = o }
