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

// Result is the result of a run.
type Result struct {
	Text string // of the last step
	// Output is the answer as JSON that follows the root's Output; nil if Output is not
	// set.
	Output json.RawMessage
	Steps  []loop.Step // one per model call, in order
	// ToolCalls and ToolResults are those of the last step.
	ToolCalls   []llm.ToolCall
	ToolResults []llm.ToolResult
	Usage       llm.Usage
	Finish      llm.FinishReason // of the last step
	// Messages are the messages that the run added, limited by Options.LastMessage. They
	// do not include its input.
	Messages []llm.Message
	// State contains the variables of the run at its end.
	State *middleware.Vars
	// Loop is the result of package loop.
	Loop *loop.Result
}

// AbortError means that a run was canceled, either by its context or because the caller
// stopped reading its stream. No other failure of a run is an AbortError.
type AbortError struct{ Err error }

// Name returns the name of the error in the reference loop.
func (e *AbortError) Name() string { return "AbortError" }

func (e *AbortError) Error() string { return "AbortError: " + e.Err.Error() }

// Unwrap returns the cause of the cancel.
func (e *AbortError) Unwrap() error { return e.Err }

// Generate runs an agent and the agents that it hands over to until the run ends. The run
// reads and writes vars and returns them as its State; nil means no variables. opts may
// be nil.
//
// It returns an [*AbortError] if the run is canceled. It returns a
// [*middleware.OutputError] if the answer does not follow the schema of Output. The
// Result is nil only if the run could not be started.
func Generate(ctx context.Context, agent *Agent, in loop.Input, vars *middleware.Vars, opts *Options) (*Result, error) {
	r, err := start(ctx, agent, in, vars, opts, nil)
	if err != nil {
		return nil, err
	}
	return r.result(r.loop.Wait())
}

func (r *run) result(res *loop.Result, err error) (*Result, error) {
	out := &Result{
		Text: res.Text, Steps: r.steps, Usage: res.Usage, Finish: res.FinishReason, Messages: res.Messages, State: r.scope, Loop: res,
	}
	if n := len(r.steps); n > 0 {
		last := r.steps[n-1]
		out.ToolCalls, out.ToolResults = last.Calls, last.Results
	}
	if r.opts.LastMessage {
		out.Messages = lastResponse(res.Messages)
	}
	if err == nil && r.root.Output != nil && res.StopReason == trace.ReasonEndTurn {
		out.Output, err = r.root.Output.Read(out.Text, nil)
	}
	// The context of the caller may have its own cause.
	canceled := errors.Is(r.ctx.Err(), context.Canceled) && errors.Is(err, context.Cause(r.ctx))
	if err != nil && (canceled || res.StopReason == trace.ReasonCancel) {
		err = &AbortError{err}
	}
	return out, err
}

// lastResponse returns the last message of an assistant, which results may follow.
func lastResponse(messages []llm.Message) []llm.Message {
	for i, m := range slices.Backward(messages) {
		if m.Role == llm.RoleAssistant {
			return messages[i : i+1 : i+1]
		}
	}
	return nil
}
