package deepagents

import (
	"context"
	"fmt"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// AsTool makes an agent a tool, which is called with a text, the input of a run of
// its own with its own limit of steps. The text of its answer is the result (see
// middleware.FinalText), and its failure the tool's. The run has the variables of the run around it, but for who is
// active, and is recorded below the call where opts name the same sink.
func AsTool(agent *Agent, opts *Options) (loop.Tool, error) {
	if agent == nil {
		return loop.Tool{}, fmt.Errorf("deepagents: AsTool: there is no agent")
	}
	type input struct {
		Input string `json:"input" jsonschema:"what it is to do"`
	}
	return loop.NewTool(agent.Name, agent.Description, func(ctx context.Context, in input) (string, error) {
		var scope middleware.Scope = new(middleware.Vars)
		if around, ok := middleware.VarsFromContext(ctx); ok {
			scope = middleware.Isolate(around, string(middleware.ActiveAgent))
		}
		res, err := generate(ctx, agent, loop.Prompt(in.Input), scope, opts)
		if err != nil {
			return "", err
		}
		return middleware.FinalText(res.Loop)
	})
}
