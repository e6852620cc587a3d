package loop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Policy changes what a loop does, through hooks. Each run makes its own hooks,
// so that they can keep state without locks.
//
// No policy can break what the package promises. One that panics or fails ends
// the run with a MiddlewareError; a tool that a policy runs twice is run once; a
// decision becomes an event that names the policy.
type Middleware struct {
	Name string
	New  func(RunInfo) Hooks
}

// RunInfo is what a policy knows of the run it serves.
type RunInfo struct {
	ID    string
	Input Input
	Clock Clock
	Rand  func() float64 // may be nil
}

// Hooks are a policy's functions for one run; each may be nil. They are called
// on the run's own goroutine, but for WrapTool's inner functions, which run
// where the tools run.
//
// Decisions of the loop's own options are asked before those of policies, and
// the policies in their order, until one is not to go on. Wraps nest: the first
// policy is outermost.
type Hooks struct {
	// Start may give the run another context, such as one that ends sooner. The run
	// ends with either.
	Start func(ctx context.Context) (context.Context, error)
	// BeforeStep is asked before each model call of the loop. It may change
	// s.Request for this step, give it other messages (Decision.Messages), end
	// the run, or force a last answer.
	BeforeStep func(ctx context.Context, s *StepInfo) (Decision, error)
	// WrapModel goes around the model call, retries included. The turn that next
	// returns is the wrap's: it may put other parts there, or return another turn,
	// and the trace then shows it as well. It may call next more than once: after a
	// failure that may pass (Retry.On) that is a retry, otherwise a call for
	// trace.PurposeRepair. It may send other messages for this one call; the
	// history stays as it is, and the trace shows a rewrite on both sides. Called
	// when the wrap has returned, or while another call is under way, next fails
	// with ErrModelCallNotAllowed.
	WrapModel func(next ModelFunc) ModelFunc
	// AfterModel is asked when a turn is complete, before its calls are run. It
	// may end the run; a turn without calls may be continued (ContinueOnUnknown with
	// ReasonContinuedResponse, and Messages that go behind the turn).
	AfterModel func(ctx context.Context, s *StepInfo, turn *llm.Response) (Decision, error)
	// Batch sees the calls of a step, checked and in order, before any of them
	// is run. It may answer calls itself (PlannedCall.Output), end the run, or suspend it,
	// with all of these calls pending, until Input.Resume goes on with them. It is not
	// asked where the step waits for its caller (see ClientBreak): nothing is run then.
	BeforeTools func(ctx context.Context, s *StepInfo, calls []*PlannedCall) (Decision, error)
	// WrapTool goes around each tool that is run. The inner function may be
	// called by several goroutines at once. Once the run was cancelled, next enters
	// no tool, and fails.
	WrapTool func(next ToolFunc) ToolFunc
	// AfterStep is asked after each step that ran tools, its results in place.
	AfterStep func(ctx context.Context, s *StepInfo, step *Step) (Decision, error)
	// End sees the result; it may still fill in what it likes. The trace shows how
	// the run ended, whatever it does.
	End func(ctx context.Context, res *Result) error
	// Tools are offered besides the Config's.
	Tools []Tool
}

// StepInfo is a step as hooks see it.
type StepInfo struct {
	Step int // counted from 0; see Resume for -1
	// Request is what will be sent. BeforeStep may change its fields; its
	// messages are replaced through Decision.Messages only, and what its slices
	// hold is never changed in place.
	Request *llm.Request
	// Model makes this step's call; nil is the agent's. BeforeStep may set it.
	Model llm.Model
	Usage llm.Usage // spent so far
	Steps []*Step   // those that are complete; copies of those in the Result

	run  *run
	call ModelCall
}

// Emit adds an event of the policy's own to the trace; data is JSON. It is for
// hooks, and for what goes around the model call. While tools run, as in WrapTool,
// and once the run is over, it adds nothing and returns ErrEventNotAllowed: a policy keeps
// what it has to tell until AfterStep.
func (s *StepInfo) Emit(name string, data []byte) error {
	return s.add(trace.Custom{Name: name, Data: data})
}

// Warn adds a warning to the trace, when Emit adds an event.
func (s *StepInfo) Warn(code, message string) error {
	return s.add(trace.Warning{Code: code, Message: message})
}

func (s *StepInfo) add(body trace.Body) error {
	if !s.run.life.allows(opEvent) {
		return ErrEventNotAllowed
	}
	s.run.emit(s.run.step, body)
	return nil
}

// Decision is a hook's answer. Its zero value is to go on.
type Decision struct {
	// Action is empty or trace.Continue to go on, trace.Stop or trace.ForceFinal, or
	// trace.Suspend (Batch), whose cause is trace.ReasonApproval unless it says another.
	Action trace.Action
	// Cause may be a budget, an approval, a hand-off, an end hook, a continued turn
	// (with ContinueOnUnknown), or a word of the policy's own. Empty means trace.ReasonMiddleware, and
	// so does what only the loop can see: calls, none, cap, guard, cancel …
	Reason trace.Reason
	Note   string
	// Messages replace the history of the run (BeforeStep), or follow the turn
	// that is continued (AfterModel). The trace shows a rewrite, with Note as
	// its cause.
	Messages []llm.Message
	// Err makes a stop a failure.
	Err error
}

// ModelCall is one model call on its way through the wraps.
type ModelCall struct {
	// Request is what is sent. A wrap may put another in its place, but must
	// not change what it points to.
	Request *llm.Request
	// Model makes the call; nil is the agent's. A wrap may put another in its place.
	Model   llm.Model
	Purpose trace.Purpose
	Step    int
	// Attempt counts the tries so far.
	Attempt int
	// Partial says that the last try passed on a part of an answer.
	Partial bool

	run       *run
	retryable bool          // the last attempt failed, and may be retried
	wait      time.Duration // before the next attempt, if that is a retry
}

// ModelFunc makes a model call.
type ModelFunc func(ctx context.Context, call *ModelCall) (*llm.Response, error)

// Planned is a call that is about to be run, or to be answered without. Hooks have
// a copy in hand, which counts as the last of them leaves it; what is done to it
// later changes nothing.
type PlannedCall struct {
	Call  llm.ToolCall
	Index int
	// Args are what the tool will get.
	Arguments string
	// Answer, if not nil, is the call's result; the tool is not run. Cause says
	// why, in a word: that of the loop's own refusal, which is there already, or the
	// policy's. Left as it was beside another answer, it becomes "answered". Without
	// an Answer it means nothing, but for ReasonRepair.
	Output *Output
	Reason string
}

// History returns the messages as they are before this step; they are not to be
// changed.
func (s *StepInfo) History() []llm.Message {
	h := s.run.transcript.history
	return h[:len(h):len(h)]
}

// Ask makes a model call of a policy's own, such as a summary of the history or the
// repair of arguments: it is recorded under call.Purpose, which must not be that of
// the answer, its usage counts, and it is tried again as Config.Retry says. What it
// says goes to the policy alone. The request's messages need not be the history's.
//
// It is for BeforeStep, whose step then begins with it, AfterModel, Batch and
// AfterStep, on their own goroutine. Anywhere else it fails with ErrModelCallNotAllowed; a wrap
// around the model call has next for that.
func (s *StepInfo) CallModel(ctx context.Context, call ModelCall) (*llm.Response, error) {
	switch {
	case call.Purpose == trace.PurposeAnswer:
		return nil, fmt.Errorf("loop: StepInfo.Ask needs a Purpose, such as trace.PurposeSummary; the answer itself is asked for by the loop")
	case call.Request == nil:
		return nil, fmt.Errorf("loop: StepInfo.Ask needs a Request")
	}
	return s.run.caller.side(ctx, call)
}

// Tools are the tools that this step offers and that its calls are looked up in.
func (s *StepInfo) Tools() []Tool { return slices.Clone(s.run.tools.list) }

// Offer makes others the tools of the run, from this step on: calls of those that
// were there before are calls of no tool then. It is for BeforeStep; the errors are
// those of New, and ErrToolsFixed anywhere else.
func (s *StepInfo) SetTools(tools []Tool) error {
	r := s.run
	if !r.life.allows(opSetTools) {
		return ErrToolsFixed
	}
	set, err := newToolSet(tools)
	if err != nil {
		return fmt.Errorf("loop: StepInfo.Offer: %w", err)
	}
	r.tools = set
	r.transcript.base.Tools, s.Request.Tools = set.defs, set.defs
	return nil
}
