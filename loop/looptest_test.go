package loop_test

import (
	"context"
	"testing"
	"time"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/looptest"
)

// adapted returns this loop for the contract suite.
func adapted(cfg loop.Config) looptest.Loop {
	return looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		cfg := cfg
		for _, t := range in.Tools {
			cfg.Tools = append(cfg.Tools, loop.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters,
				Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
					text, err := t.Run(ctx, c.Arguments)
					return loop.TextOutput(text), err
				}})
		}
		cfg.ResponseMode = in.ResponseMode
		cfg.OnStep = func(s loop.Step) { in.Step(s.Messages) }
		agent, err := loop.New(in.Model, &cfg)
		if err != nil {
			return nil, err
		}
		res, err := agent.Run(ctx, loop.Input{Messages: in.Messages})
		out := &looptest.Result{Messages: res.Messages, Usage: &res.Usage}
		for _, c := range res.Pending {
			out.Pending = append(out.Pending, c.ID)
		}
		return out, err
	})
}

func TestLoopContract(t *testing.T) {
	for name, cfg := range map[string]loop.Config{
		"as it is":     {},
		"sequential":   {Concurrency: 1},
		"concurrent":   {Concurrency: loop.Unlimited},
		"one per call": {OneMessagePerResult: true},
		"grace":        {Grace: 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) { looptest.Check(t, adapted(cfg)) })
	}
}
