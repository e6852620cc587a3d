package loop

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/looptape/looptape/trace"
)

// callContext is a context with a call. It hides the calls of the contexts around it.
type callContext struct {
	context.Context
	call Call
	ok   bool // it has a call
}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

type callKey struct{}

// CallFromContext returns the call that a function of [NewTool] serves. ok is false in any
// other context, also in those of a run that such a function starts.
func CallFromContext(ctx context.Context) (call Call, ok bool) {
	c, ok := ctx.Value(callKey{}).(*callContext)
	if !ok || !c.ok {
		return Call{}, false
	}
	return c.call, true
}

// withoutCall returns the context for a run that is started with ctx.
func withoutCall(ctx context.Context) context.Context {
	if _, ok := CallFromContext(ctx); ok {
		return &callContext{Context: ctx}
	}
	return ctx
}

// toolContext is the context of a tool in a recorded run. A run that is started with it
// serves the tool's call.
type toolContext struct {
	context.Context
	call trace.Parent
	runs atomic.Int64 // unnamed runs that serve the call
}

// Value implements [context.Context].
func (c *toolContext) Value(key any) any {
	if key == (toolKey{}) {
		return c
	}
	return c.Context.Value(key)
}

type toolKey struct{}

// name gives a run its parent and its name, if the Input does not.
func (a *Agent) name(ctx context.Context, in Input) Input {
	tool, serves := ctx.Value(toolKey{}).(*toolContext)
	if serves && in.Parent == nil {
		call := tool.call
		in.Parent = &call
	}
	switch {
	case in.ID != "":
	case in.Parent == nil:
		in.ID = "r" + strconv.FormatInt(a.runs.Add(1), 10)
	default:
		in.ID = in.Parent.Run + "/" + in.Parent.ToolCallID
		if serves && *in.Parent == tool.call {
			if n := tool.runs.Add(1); n > 1 {
				in.ID += "." + strconv.FormatInt(n, 10)
			}
		}
	}
	return in
}
