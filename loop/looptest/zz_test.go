package looptest_test

import (
	"context"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/looptest"
)

func ours(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	var tools []loop.Tool
	for _, t := range in.Tools {
		tools = append(tools, loop.Tool{Name: t.Name, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			text, err := t.Run(ctx, c.Arguments)
			return loop.TextOutput(text), err
		}})
	}
	a, err := loop.New(in.Model, &loop.Config{Tools: tools, Concurrency: -1, MaxSteps: 10})
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

// naive is a sequential loop with the usual faults.
func naive(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	msgs := in.Messages
	n := len(msgs)
	for {
		resp, err := llm.Collect(in.Model.Stream(ctx, &llm.Request{Messages: msgs}))
		if err != nil {
			return &looptest.Result{Messages: msgs[n:]}, err
		}
		msgs = append(msgs, resp.Message())
		if resp.FinishReason == llm.FinishStop {
			return &looptest.Result{Messages: msgs[n:]}, nil
		}
		var res []llm.Part
		for _, c := range resp.Calls() {
			for _, t := range in.Tools {
				if t.Name == c.Name {
					text, err := t.Run(ctx, c.Arguments)
					if err != nil {
						return nil, err
					}
					res = append(res, llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: text}}})
				}
			}
		}
		msgs = append(msgs, llm.Message{Role: llm.RoleTool, Parts: res})
	}
}

func TestZOurs(t *testing.T)  { looptest.Explore(t, looptest.LoopFunc(ours), &looptest.ExploreOptions{Panics: true}) }
func TestZNaive(t *testing.T) { looptest.Explore(t, looptest.LoopFunc(naive), nil) }
