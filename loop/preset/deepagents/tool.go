package deepagents

import (
	"context"
	"errors"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// AsTool returns an agent as a tool. A call passes a string, which is the input of a
// separate run with its own step limit. The text of its answer is the result (see
// [middleware.FinalText]). A failure of the run is a failure of the tool. The run has the
// variables of the parent run, except for the active agent. Its trace is below the call
// if opts has the same sink.
func AsTool(agent *Agent, opts *Options) (loop.Tool, error) {
	if agent == nil {
		return loop.Tool{}, errors.New("deepagents: AsTool: missing agent: set it")
	}
	type input struct {
		Input string `json:"input" jsonschema:"what it is to do"`
	}
	return loop.NewTool(agent.Name, agent.Description, func(ctx context.Context, in input) (string, error) {
		scope := new(middleware.Vars)
		if around, ok := middleware.VarsFromContext(ctx); ok {
			scope = around.Isolate(string(middleware.ActiveAgent))
		}
		res, err := Generate(ctx, agent, loop.Prompt(in.Input), scope, opts)
		if err != nil {
			return "", err
		}
		return middleware.FinalText(res.Loop)
	})
}
