package loop

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Middleware changes what a loop does, through hooks. Each run makes its own hooks, so
// that they can keep state without locks.
//
// No middleware can break the guarantees of the package. Middleware that panics or
// fails ends the run with a [MiddlewareError]. A tool that middleware calls twice for
// one call runs once. Each decision is an event that names the middleware.
type Middleware struct {
	Name string
	New  func(RunInfo) Hooks
}

// RunInfo describes the run that hooks are made for.
type RunInfo struct {
	ID      string
	Input   Input
	Context context.Context // of the run, before the Start hooks
	Clock   Clock
	Rand    func() float64 // may be nil
}

// Hooks are the functions of a middleware for one run. Each may be nil. The loop calls
// them on the goroutine of the run, except the functions that WrapTool returns, which
// run where the tools run.
//
// A hook gets copies, which it may keep and change, except [StepInfo.History]. What it wants to
// change it returns.
//
// The loop asks its own options before middleware, and middleware in its order, until
// one does not continue. Wraps nest: the first middleware is outermost.
type Hooks struct {
	// Start may return another context for the run, such as one that ends sooner; nil
	// keeps it. The run ends with either context.
	Start func(ctx context.Context) (context.Context, error)
	// BeforeStep is called before each model call of the loop. It may change the
	// request, the model, the tools and the history, end the run, or force the final
	// answer.
	BeforeStep func(ctx context.Context, s *StepInfo) (StepChange, error)
	// WrapModel wraps the model call, retries included. The response that next returns is a
	// copy. The wrap returns that response, or another one to change it, such as a changed
	// copy; the trace then contains both. It may call
	// next again: after a retryable failure (Retry.On) that is a retry, otherwise a call
	// for trace.PurposeRepair. It may send other messages in this call; the history stays
	// as it is, and the trace contains a rewrite before and after. After the wrap has
	// returned, and during another call, next returns ErrModelCallNotAllowed.
	WrapModel func(next ModelFunc) ModelFunc
	// AfterModel is called when a response is complete, before its calls are run. It may
	// end the run, or continue after a response without calls (trace.Continue, with
	// Messages that follow the response).
	AfterModel func(ctx context.Context, s *StepInfo, response *llm.Response) (Decision, error)
	// BeforeTools gets the calls of a step, checked and in order, before any of them is
	// run. It may answer calls or change their arguments, and end or suspend the run, with
	// all of these calls pending, until Input.Resume continues with them. The loop does
	// not call it if the step waits for its caller (see ClientBreak): nothing is run then.
	BeforeTools func(ctx context.Context, s *StepInfo, calls []PlannedCall) ([]CallDecision, Decision, error)
	// WrapTool wraps each tool. Several goroutines may call the function that it returns.
	// After the run was canceled, next enters no tool and fails. The function may change the
	// Arguments of the call: next checks them, and the trace contains them.
	WrapTool func(next ToolFunc) ToolFunc
	// AfterStep is called after each step that ran tools, with its results.
	AfterStep func(ctx context.Context, s *StepInfo, step *Step) (Decision, error)
	// End gets the result and returns it, or another one that [Run.Wait] returns instead. An error
	// keeps the result. The trace contains how the run ended.
	End func(ctx context.Context, res Result) (Result, error)
	// Tools are added to those of the Config.
	Tools []Tool
	// Sink gets the events of the run, like Input.Sink.
	Sink trace.Sink
}

// StepInfo is a step as hooks see it. Each hook gets a copy.
type StepInfo struct {
	Step int // from 0; see [Resume] for -1
	// Request is the request of the step. Before the step it has no messages; see History.
	Request *llm.Request
	Model   llm.Model // makes the model call of the step; nil is the agent's
	Usage   llm.Usage // of the run so far
	// Results are the results of the calls of the step that precede those of a BeforeTools hook,
	// with Config.BeforeToolsEachCall; otherwise nil. The result of a client-side call is empty.
	Results []llm.ToolResult
	Steps   []*Step // the completed steps; copies of those in the Result

	run *run
}

// Emit adds an event of the middleware to the trace. data is JSON. It is for hooks, and for one
// goroutine at a time. While no hook is called, while tools run, as in WrapTool, and after the
// run, it returns [ErrEventNotAllowed]: emit the event in AfterStep.
func (s *StepInfo) Emit(name string, data []byte) error {
	return s.add(trace.Custom{Name: name, Data: data})
}

// Warn adds a warning to the trace. Its errors are those of Emit.
func (s *StepInfo) Warn(code, message string) error {
	return s.add(trace.Warning{Code: code, Message: message})
}

func (s *StepInfo) add(body trace.Body) error {
	if !s.run.life.begin(opEvent) {
		return ErrEventNotAllowed
	}
	defer s.run.life.recording.end()
	s.run.emit(s.run.step, body)
	return nil
}

// History returns the messages of the run so far. They are not copies: the caller must not change
// them.
func (s *StepInfo) History() []llm.Message {
	h := s.run.transcript.history
	return h[:len(h):len(h)]
}

// Tools returns the tools of the run.
func (s *StepInfo) Tools() []Tool { return slices.Clone(s.run.tools.list) }

// CallModel makes a model call of the middleware, such as a summary of the history or a
// repair of arguments. The trace contains it under call.Purpose, its usage counts, and it is
// retried as Config.Retry says. Its messages may differ from the history. It returns an
// error if call has no Purpose or no Request.
//
// BeforeStep, AfterModel, BeforeTools and AfterStep may call it on their own goroutine. In
// BeforeStep the step begins with it. The calls of a resumed run belong to no step. Anywhere else it returns [ErrModelCallNotAllowed];
// WrapModel has next for that.
func (s *StepInfo) CallModel(ctx context.Context, call ModelCall) (*llm.Response, error) {
	switch {
	case call.Purpose == trace.PurposeAnswer:
		return nil, errors.New("loop: StepInfo.CallModel: no Purpose: set one, such as trace.PurposeSummary")
	case call.Request == nil:
		return nil, errors.New("loop: StepInfo.CallModel: no Request: set one")
	}
	return s.run.caller.callWithRetries(ctx, opCallModel, call)
}

// Decision is what a hook decides about the run. Its zero value continues.
type Decision struct {
	// Action is empty or trace.Continue, trace.Stop, trace.ForceFinal (BeforeStep and
	// AfterStep), or trace.Suspend (BeforeTools).
	Action trace.Action
	// Reason may be a reason of the trace package that is not reserved for the loop, or a
	// word of the middleware. Empty and reserved reasons become trace.ReasonMiddleware,
	// and for trace.Suspend an empty one becomes trace.ReasonApproval.
	Reason trace.Reason
	Note   string
	// Messages replace the history (BeforeStep), or follow the response (AfterModel). The
	// trace contains a rewrite, with Note as its reason.
	Messages []llm.Message
	// Err makes a stop a failure.
	Err error
}

// StepChange is what a BeforeStep hook changes. Its zero value changes nothing.
type StepChange struct {
	Decision
	// Request replaces StepInfo.Request in this step; nil keeps it. Start from a copy of
	// StepInfo.Request. Its Messages are ignored: Decision.Messages replace the history.
	Request *llm.Request
	// Model makes the model call of this step; nil keeps the model.
	Model llm.Model
	// Tools replace the tools of the run from this step on; nil keeps them. The request
	// has their definitions, unless Request.Tools is set as well. Calls of other tools are
	// calls of unknown tools. Invalid tools end the run.
	Tools []Tool
}

// PlannedCall is a call that is about to be run, or answered without running it.
type PlannedCall struct {
	Call      llm.ToolCall
	Index     int    // in the calls of the step
	Arguments string // what the tool gets
	// Output, if not nil, is the result, and the tool is not run. The loop sets it for a
	// call that cannot be run. Reason says why.
	Output *Output
	Reason string
}

// CallDecision is what a BeforeTools hook decides about a call.
type CallDecision struct {
	Index int // PlannedCall.Index
	// Output answers the call; the tool is not run. Without a Reason the reason is
	// "answered".
	Output *Output
	// Arguments, if not empty and without an Output, replace those of the call. The loop
	// checks them, and runs the call if the tool accepts them, also if the call was
	// answered before.
	Arguments string
	// Reason is recorded in the trace: of an Output, of the existing answer if nothing
	// else is set, or [ReasonRepair].
	Reason string
}

// ModelCall is a model call on its way through the wraps. A wrap passes a changed copy to
// change it.
type ModelCall struct {
	Request *llm.Request // read-only: a wrap that changes the request sets another one
	Model   llm.Model    // makes the call; nil is the agent's
	Purpose trace.Purpose
	Step    int
	// Wait is the least time to wait before this call if it is a retry. The trace has it.
	Wait time.Duration
}

// ModelFunc makes a model call. With an error it returns the partial response, or nil.
type ModelFunc func(ctx context.Context, call ModelCall) (*llm.Response, error)
