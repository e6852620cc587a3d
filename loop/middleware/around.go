package middleware

import (
	"context"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// ActionKind is what an Action is.
type ActionKind string

// The actions of a run.
const (
	ActionStart ActionKind = "loop_start"
	ActionModel ActionKind = "model_call"
	ActionTool  ActionKind = "tool_call"
	ActionEnd   ActionKind = "loop_end"
)

// Action is something that a run does. Which fields are set depends on Kind.
type Action struct {
	Kind  ActionKind
	Model *loop.ModelCall // model_call
	// Turn is the model's answer, once next has returned; what is there when the
	// function returns is the answer.
	Response *llm.Response
	Tool     loop.Call // tool_call; a copy
	// Output is what the tool has given back, once next has returned; what is there
	// when the function returns is the output.
	Output loop.Output
	Result *loop.Result // loop_end
}

// Around puts one function around all that a run does: it is called for each action,
// does it by calling next, and gives next's error back, or one of its own. What it
// does to the action before next, and to what came of it after, is what counts; next
// has the limits of the hooks (see loop.Hooks). Of several such policies the first is
// outermost around models and tools, and the first to be told of the start and the
// end, where next does nothing. For tools it may be called by several goroutines at
// once. It has no state of its own from one run to the next.
func Wrap(name string, f func(ctx context.Context, a *Action, next func(context.Context) error) error) loop.Middleware {
	nothing := func(context.Context) error { return nil }
	return loop.Middleware{Name: name, New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			Start: func(ctx context.Context) (context.Context, error) {
				return ctx, f(ctx, &Action{Kind: ActionStart}, nothing)
			},
			WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
				return func(ctx context.Context, call *loop.ModelCall) (*llm.Response, error) {
					a := &Action{Kind: ActionModel, Model: call}
					err := f(ctx, a, func(ctx context.Context) (err error) {
						a.Response, err = next(ctx, call)
						return err
					})
					return a.Response, err
				}
			},
			WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
				return func(ctx context.Context, call loop.Call) (loop.Output, error) {
					a := &Action{Kind: ActionTool, Tool: call}
					err := f(ctx, a, func(ctx context.Context) (err error) {
						a.Output, err = next(ctx, call)
						return err
					})
					return a.Output, err
				}
			},
			End: func(ctx context.Context, res *loop.Result) error {
				return f(ctx, &Action{Kind: ActionEnd, Result: res}, nothing)
			},
		}
	}}
}
