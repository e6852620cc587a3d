package middleware

import (
	"context"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// Action is an action of a run. Kind determines which fields are set.
type Action struct {
	Kind  string         // loop_start, model_call, tool_call or loop_end
	Model loop.ModelCall // model_call; the function may change it before it calls next
	// Response is the response of the model after next has returned. The function may set
	// another one.
	Response *llm.Response
	Tool     loop.Call // tool_call; a copy
	// Output is the output of the tool after next has returned. The function may replace it.
	Output loop.Output
	Result loop.Result // loop_end
}

// Wrap wraps one function around all actions of a run. f calls next to perform the action, and
// returns its error or another one. Its changes to the action before and after next take
// effect, within the limits of [loop.Hooks]. The first such middleware is outermost around
// models and tools, and is called first at the start and the end of a run, where next does
// nothing. For tools, f must be safe for concurrent use. Wrap keeps no state between runs.
func Wrap(name string, f func(ctx context.Context, a *Action, next func(context.Context) error) error) loop.Middleware {
	nothing := func(context.Context) error { return nil }
	return loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			Start: func(ctx context.Context) (context.Context, error) {
				return ctx, f(ctx, &Action{Kind: "loop_start"}, nothing)
			},
			WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
				return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
					a := &Action{Kind: "model_call", Model: call}
					err := f(ctx, a, func(ctx context.Context) (err error) {
						a.Response, err = next(ctx, a.Model)
						return err
					})
					return a.Response, err
				}
			},
			WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
				return func(ctx context.Context, call loop.Call) (loop.Output, error) {
					a := &Action{Kind: "tool_call", Tool: call}
					err := f(ctx, a, func(ctx context.Context) (err error) {
						a.Output, err = next(ctx, call)
						return err
					})
					return a.Output, err
				}
			},
			End: func(ctx context.Context, res loop.Result) (loop.Result, error) {
				a := &Action{Kind: "loop_end", Result: res}
				err := f(ctx, a, nothing)
				return a.Result, err
			},
		}
	}}
}
