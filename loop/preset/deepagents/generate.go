package deepagents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// Result is what a run has come to.
type Result struct {
	Text string // of the last step
	// Output is the answer as JSON that the root's Output allows; nil without one.
	Output json.RawMessage
	Steps  []loop.Step // one a model call, in order
	// ToolCalls and ToolResults are those of the last step.
	ToolCalls   []llm.ToolCall
	ToolResults []llm.ToolResult
	Usage       llm.Usage
	Finish      llm.FinishReason // of the last step
	// Messages are what came of the run, as the OutputMode says; its input is not among
	// them.
	Messages []llm.Message
	// State are the variables that the run was given, as it has left them.
	State middleware.Scope
	// Loop is the result in the loop's own terms.
	Loop *loop.Result
}

// AbortError says that a run was cancelled, by its context or by leaving its stream.
// No other failure of a run is one.
type AbortError struct{ Err error }

// Name is the error's name in the document.
func (e *AbortError) Name() string { return "AbortError" }

func (e *AbortError) Error() string { return "AbortError: " + e.Err.Error() }

// Unwrap returns the cause of the cancel.
func (e *AbortError) Unwrap() error { return e.Err }

// Generate runs an agent to its end, and those that it hands over to. vars are read
// and written during the run and come back as its State; nil is none to begin with.
// opts may be nil.
//
// The error is an *AbortError where the run was cancelled, a *middleware.OutputError
// where the answer has not the shape of Output. The Result is nil only if the run
// could not be started.
func Generate(ctx context.Context, agent *Agent, in loop.Input, vars *middleware.Vars, opts *Options) (*Result, error) {
	return generate(ctx, agent, in, orEmpty(vars), opts)
}

func generate(ctx context.Context, agent *Agent, in loop.Input, scope middleware.Scope, opts *Options) (*Result, error) {
	r := newRun(agent, scope, opts)
	started, err := r.start(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return r.result(started.Wait())
}

func newRun(agent *Agent, scope middleware.Scope, opts *Options) *run {
	r := &run{root: agent, scope: scope}
	if opts != nil {
		r.opts = *opts
	}
	return r
}

func orEmpty(vars *middleware.Vars) *middleware.Vars {
	if vars == nil {
		return new(middleware.Vars)
	}
	return vars
}

// result makes the document's result of the loop's.
func (r *run) result(res *loop.Result, err error) (*Result, error) {
	out := &Result{
		Text: res.Text, Steps: r.steps, Usage: res.Usage, Finish: res.FinishReason, Messages: res.Messages, State: r.scope, Loop: res,
	}
	if n := len(r.steps); n > 0 {
		last := r.steps[n-1]
		out.ToolCalls, out.ToolResults = last.Calls, last.Results
	}
	if r.opts.OutputMode == LastMessage {
		out.Messages = lastAnswer(res.Messages)
	}
	if err == nil && r.root.Output != nil && res.StopReason == trace.ReasonEndTurn {
		out.Output, err = r.root.Output.Read(out.Text)
	}
	if err != nil && (res.StopReason == trace.ReasonCancel || r.cancelled(err)) {
		err = &AbortError{err}
	}
	return out, err
}

// cancelled reports whether an error is that of the caller's cancel, which may give a
// reason of its own.
func (r *run) cancelled(err error) bool {
	return errors.Is(r.ctx.Err(), context.Canceled) && errors.Is(err, context.Cause(r.ctx))
}

// lastAnswer is the last message of an assistant: at a cap, results stand behind it.
func lastAnswer(messages []llm.Message) []llm.Message {
	for i, m := range slices.Backward(messages) {
		if m.Role == llm.RoleAssistant {
			return messages[i : i+1 : i+1]
		}
	}
	return nil
}
