package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// returned is what the tool of a call returned, or the middleware around it.
type returned struct {
	process int
	call    string
	text    string
	isError bool
	err     error
	matched bool // the trace has it
}

// keepResults lets the exploration keep what tools return, in runs without middleware.
func (x *exploration) keepResults() {
	x.cfg.Tools = slices.Clone(x.cfg.Tools)
	for i := range x.cfg.Tools {
		t := &x.cfg.Tools[i]
		if run := t.Run; run != nil {
			t.Run = x.keep(run, false)
		}
	}
}

// keepResultsAround lets it keep what the outermost middleware returns, as middleware may change a result.
func (x *exploration) keepResultsAround(cfg *loop.Config) {
	if x.around = len(cfg.Middleware) > 0; !x.around {
		return
	}
	wrap := func(next loop.ToolFunc) loop.ToolFunc { return x.keep(next, true) }
	add := loop.Middleware{Name: "results", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{WrapTool: wrap} }}
	cfg.Middleware = slices.Insert(slices.Clone(cfg.Middleware), 0, add)
}

// keep returns a function that keeps what a tool returns in a run with middleware, or without.
func (x *exploration) keep(tool loop.ToolFunc, around bool) loop.ToolFunc {
	return func(ctx context.Context, c loop.Call) (loop.Output, error) {
		out, err := tool(ctx, c)
		if x.around == around {
			x.results = append(x.results, returned{process: len(x.processes), call: c.ID, text: textOf(out.Content), isError: out.IsError, err: err})
		}
		return out, err
	}
}

func textOf(content []llm.Part) string { return llm.ToolResult{Content: content}.Text() }

// checkResult reports a result in the trace that is not what the tool of its call returned. Calls may have one id. A timeout
// of the loop is within all middleware.
func (x *exploration) checkResult(process int, end *trace.ToolEnd, report reporter) {
	if end.Outcome == trace.OutcomeTimeout && x.cfg.ToolTimeout > 0 && !x.around {
		return
	}
	id, why := "", ""
	for i := range x.results {
		r := &x.results[i]
		if r.matched || r.process != process || r.call != end.ToolCallID {
			continue
		}
		wrong, how := x.wrong(r, end)
		if wrong == "" {
			r.matched = true
			return
		}
		if id == "" {
			id, why = wrong, how
		}
	}
	if id != "" {
		report(id, "the result of the call %q is %s", end.ToolCallID, why)
	}
}

// wrong returns the invariant that a result violates, and why, or "".
func (x *exploration) wrong(r *returned, end *trace.ToolEnd) (id, why string) {
	text := textOf(end.Result.Content)
	switch {
	case r.err == nil && end.Result.IsError && !r.isError:
		return "INV-23", fmt.Sprintf("the error %q; the tool returned %q", text, r.text)
	case r.err == nil && text != r.text:
		return "INV-01", fmt.Sprintf("%q; the tool returned %q", text, r.text)
	case (r.err != nil || r.isError) && !end.Result.IsError:
		return "INV-23", fmt.Sprintf("%q, and no error; the tool failed", text)
	case r.err != nil && x.cfg.ErrorText == nil && !strings.Contains(text, r.err.Error()):
		return "INV-23", fmt.Sprintf("the error %q; the tool failed with %q", text, r.err.Error())
	}
	return "", ""
}
