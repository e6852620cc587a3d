// Package einoloop runs the react agent of github.com/cloudwego/eino, one prompt at a time. The caller
// selects the model and checks the result.
package einoloop

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
)

// Loop is an agent.
type Loop struct {
	Model   model.ToolCallingChatModel
	Tools   []Tool
	MaxStep int // of eino's graph, two per model call; 0 means eino's default
}

// Tool is a tool that gets unchanged arguments.
type Tool struct {
	*schema.ToolInfo
	Run func(args string) (string, error)
}

var _ tool.InvokableTool = Tool{}

// Info implements tool.InvokableTool.
func (t Tool) Info(context.Context) (*schema.ToolInfo, error) { return t.ToolInfo, nil }

// InvokableRun implements tool.InvokableTool.
func (t Tool) InvokableRun(_ context.Context, args string, _ ...tool.Option) (string, error) {
	return t.Run(args)
}

// Ask returns the final answer of the agent. streamed selects the response mode of its model calls.
func (l Loop) Ask(ctx context.Context, streamed bool, input ...*schema.Message) (string, error) {
	tools := compose.ToolsNodeConfig{}
	for _, t := range l.Tools {
		tools.Tools = append(tools.Tools, t)
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: l.Model, ToolsConfig: tools, MaxStep: l.MaxStep,
		StreamToolCallChecker: anyCalls, // by default the first chunk with text decides
	})
	if err != nil {
		return "", err
	}
	said, err := answer(ctx, agent, streamed, input)
	if err != nil {
		return "", err
	}
	return said.Content, nil
}

func answer(ctx context.Context, agent *react.Agent, streamed bool, input []*schema.Message) (*schema.Message, error) {
	if !streamed {
		return agent.Generate(ctx, input)
	}
	chunks, err := agent.Stream(ctx, input)
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessageStream(chunks)
}

// anyCalls reports whether any chunk has a call.
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
