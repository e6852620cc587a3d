package loops

import (
	"context"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/looptape/looptape/bench/work"
)

// einoModel is the double of a model.ToolCallingChatModel.
type einoModel struct {
	turns []*schema.Message
	next  int
}

// Generate implements model.ToolCallingChatModel.
func (m *einoModel) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	turn := m.turns[m.next]
	m.next++
	return turn, nil
}

// Stream implements model.ToolCallingChatModel.
func (m *einoModel) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errUnused
}

// WithTools implements model.ToolCallingChatModel.
func (m *einoModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// newEino uses eino's react agent, buffered. Its tools run at the same time.
func newEino(w *work.Work, o Options) (Run, func() error, error) {
	m := &einoModel{}
	meta := &schema.ResponseMeta{FinishReason: "tool_calls", Usage: &schema.TokenUsage{
		PromptTokens: work.Input, CompletionTokens: work.Output, TotalTokens: work.Input + work.Output,
	}}
	for _, calls := range w.Steps {
		var list []schema.ToolCall
		for _, c := range calls {
			list = append(list, schema.ToolCall{ID: c.ID, Type: "function", Function: schema.FunctionCall{Name: work.Tool, Arguments: c.Raw}})
		}
		turn := schema.AssistantMessage("", list)
		turn.ResponseMeta = meta
		m.turns = append(m.turns, turn)
	}
	m.turns = append(m.turns, schema.AssistantMessage(work.Final, nil))
	t, err := newEinoTool(o)
	if err != nil {
		return nil, nil, err
	}
	agent, err := react.NewAgent(context.Background(), &react.AgentConfig{
		ToolCallingModel: m,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{t}},
		MaxStep:          2*len(w.Steps) + 2, // nodes of its graph: a model and its tools are two
	})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (string, error) {
		m.next = 0
		res, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage(work.Prompt)})
		if err != nil {
			return "", err
		}
		return res.Content, nil
	}, nil, nil
}

func newEinoTool(o Options) (tool.BaseTool, error) {
	if o.Typed {
		return utils.InferTool(work.Tool, work.About, func(_ context.Context, in work.Args) (string, error) {
			o.called(in.Day)
			return work.Answer, nil
		})
	}
	return &einoRawTool{o: o, info: &schema.ToolInfo{
		Name: work.Tool, Desc: work.About,
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"city": {Type: schema.String, Required: true},
			"day":  {Type: schema.Integer, Required: true},
		}),
	}}, nil
}

// einoRawTool is a tool.InvokableTool that takes its arguments as they come.
type einoRawTool struct {
	o    Options
	info *schema.ToolInfo
}

// Info implements tool.InvokableTool.
func (t *einoRawTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// InvokableRun implements tool.InvokableTool.
func (t *einoRawTool) InvokableRun(_ context.Context, args string, _ ...tool.Option) (string, error) {
	t.o.rawCalled(args)
	return work.Answer, nil
}
