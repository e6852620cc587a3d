package loops

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/looptape/looptape/bench/work"
)

// einoModel is the double of a model.ToolCallingChatModel.
type einoModel struct{ script[*schema.Message] }

// Generate implements model.ToolCallingChatModel.
func (m *einoModel) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return m.take(), nil
}

// Stream implements model.ToolCallingChatModel.
func (m *einoModel) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	response := m.take()
	var chunks []*schema.Message
	for i, c := range response.ToolCalls {
		args := work.Halves(c.Function.Arguments)
		first, second := c, schema.ToolCall{Index: &i}
		first.Index, first.Function.Arguments, second.Function.Arguments = &i, args[0], args[1]
		chunks = append(chunks, schema.AssistantMessage("", []schema.ToolCall{first}), schema.AssistantMessage("", []schema.ToolCall{second}))
	}
	if response.Content != "" {
		text := work.Halves(response.Content)
		chunks = append(chunks, schema.AssistantMessage(text[0], nil), schema.AssistantMessage(text[1], nil))
	}
	chunks[len(chunks)-1].ResponseMeta = response.ResponseMeta
	return schema.StreamReaderFromArray(chunks), nil
}

// WithTools implements model.ToolCallingChatModel.
func (m *einoModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// newEino uses eino's react agent. Its tools run concurrently.
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
		response := schema.AssistantMessage("", list)
		response.ResponseMeta = meta
		m.add(response)
	}
	m.add(schema.AssistantMessage(work.Final, nil))
	t, err := newEinoTool(o)
	if err != nil {
		return nil, nil, err
	}
	agent, err := react.NewAgent(context.Background(), &react.AgentConfig{
		ToolCallingModel: m,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{t}},
		MaxStep:          2*len(w.Steps) + 2, // graph nodes: two for each step
	})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (string, error) {
		m.next = 0
		prompt := []*schema.Message{schema.UserMessage(work.Prompt)}
		if o.Stream {
			chunks, err := agent.Stream(ctx, prompt)
			if err != nil {
				return "", err
			}
			return einoText(chunks)
		}
		res, err := agent.Generate(ctx, prompt)
		if err != nil {
			return "", err
		}
		return res.Content, nil
	}, nil, nil
}

// einoText reads the stream of the final text.
func einoText(chunks *schema.StreamReader[*schema.Message]) (text string, err error) {
	defer chunks.Close()
	for {
		chunk, err := chunks.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return "", err
		}
		text += chunk.Content
	}
}

func newEinoTool(o Options) (tool.BaseTool, error) {
	if o.Typed {
		return utils.InferTool(work.Tool, work.About, func(_ context.Context, in work.Arguments) (string, error) {
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

// einoRawTool is a tool.InvokableTool that gets its arguments unchanged.
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
