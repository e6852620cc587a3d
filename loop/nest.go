package loop

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/looptape/looptape/trace"
)

// callContext is a context that carries a call.
type callContext struct {
	context.Context
	call Call
}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

type callKey struct{}

// CallFromContext returns the call that a function made a tool by NewTool serves; ok is
// false in any other context, that of a run which such a function starts among
// them.
func CallFromContext(ctx context.Context) (call Call, ok bool) {
	c, ok := ctx.Value(callKey{}).(*callContext)
	if !ok {
		return Call{}, false
	}
	return c.call, true
}

// noCall is a context of a run, which is no call's.
type noCall struct{ context.Context }

// Value implements context.Context.
func (c noCall) Value(key any) any {
	if key == (callKey{}) {
		return nil
	}
	return c.Context.Value(key)
}

// withoutCall is the context for a run that is started with ctx.
func withoutCall(ctx context.Context) context.Context {
	if _, within := CallFromContext(ctx); within {
		return noCall{ctx}
	}
	return ctx
}

// serving is the context of a tool in a run that is recorded: a run that is
// started with it is there for the tool's call.
type serving struct {
	context.Context
	call trace.Parent
	runs atomic.Int64 // runs for the call that were begun without a name
}

// Value implements context.Context.
func (c *serving) Value(key any) any {
	if key == (servingKey{}) {
		return c
	}
	return c.Context.Value(key)
}

type servingKey struct{}

// name gives a run its parent and its name, if its Input leaves them to the loop.
func (a *Agent) name(ctx context.Context, in Input) Input {
	s, serves := ctx.Value(servingKey{}).(*serving)
	if serves && in.Parent == nil {
		call := s.call
		in.Parent = &call
	}
	switch {
	case in.ID != "":
	case in.Parent == nil:
		in.ID = "r" + strconv.FormatInt(a.runs.Add(1), 10)
	default:
		in.ID = in.Parent.Run + "/" + in.Parent.ToolCallID
		if serves && *in.Parent == s.call {
			if n := s.runs.Add(1); n > 1 {
				in.ID += "." + strconv.FormatInt(n, 10)
			}
		}
	}
	return in
}
