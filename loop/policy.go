package loop

import (
	"cmp"
	"context"
	"strings"
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

	run     *run
	call    ModelCall
	results []llm.ToolResult // of the step's calls
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
	if s.run.shut.Load() {
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

	run   *run
	again bool          // the last try failed, and may be tried again
	wait  time.Duration // before the next try, if that is a retry
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

// named is a hook with the policy it belongs to.
type named[F any] struct {
	policy  string
	builtin bool
	f       F
}

// chain is the hooks of a run, in the order in which they are asked.
type chain struct {
	start      []named[func(context.Context) (context.Context, error)]
	before     []named[func(context.Context, *StepInfo) (Decision, error)]
	afterModel []named[func(context.Context, *StepInfo, *llm.Response) (Decision, error)]
	batch      []named[func(context.Context, *StepInfo, []*PlannedCall) (Decision, error)]
	after      []named[func(context.Context, *StepInfo, *Step) (Decision, error)]
	end        []named[func(context.Context, *Result) error]
	wrapModel  []func(ModelFunc) ModelFunc
	wrappers   []string // the caller's policies among them
	wrapTool   []func(ToolFunc) ToolFunc
	tools      []Tool
}

func (c *chain) add(policy string, builtin bool, h Hooks) {
	c.start = hook(c.start, policy, builtin, h.Start, h.Start != nil)
	c.before = hook(c.before, policy, builtin, h.BeforeStep, h.BeforeStep != nil)
	c.afterModel = hook(c.afterModel, policy, builtin, h.AfterModel, h.AfterModel != nil)
	c.batch = hook(c.batch, policy, builtin, h.BeforeTools, h.BeforeTools != nil)
	c.after = hook(c.after, policy, builtin, h.AfterStep, h.AfterStep != nil)
	c.end = hook(c.end, policy, builtin, h.End, h.End != nil)
	c.tools = append(c.tools, h.Tools...)
}

func hook[F any](list []named[F], policy string, builtin bool, f F, set bool) []named[F] {
	if !set {
		return list
	}
	return append(list, named[F]{policy, builtin, f})
}

// hooks makes the hooks of a run: for decisions the loop's own options first,
// for wraps the caller's policies outermost.
func (c *Config) hooks(info RunInfo) (ch chain, err error) {
	own := make([]Hooks, 0, 8)
	for _, p := range c.options() {
		h := p.New(info)
		ch.add(p.Name, true, h)
		own = append(own, h)
	}
	for _, p := range c.Middleware {
		h, err := newHooks(p, info)
		if err != nil {
			return chain{}, err
		}
		ch.add(p.Name, false, h)
		ch.wraps(h)
		if h.WrapModel != nil {
			ch.wrappers = append(ch.wrappers, p.Name)
		}
	}
	for _, h := range own {
		ch.wraps(h)
	}
	return ch, nil
}

func (c *chain) wraps(h Hooks) {
	if h.WrapModel != nil {
		c.wrapModel = append(c.wrapModel, h.WrapModel)
	}
	if h.WrapTool != nil {
		c.wrapTool = append(c.wrapTool, h.WrapTool)
	}
}

// wrapper names the policies around the model call; which of several did
// something cannot be told.
func (c *chain) wrapper() string { return cmp.Or(strings.Join(c.wrappers, ", "), "(model wrap)") }

func newHooks(p Middleware, info RunInfo) (h Hooks, err error) {
	defer contain("the policy ", p.Name, &err)
	return p.New(info), nil
}

// options are the policies that the Config's own fields stand for, in the order
// of the canonical step: what is looked at before a step (deadline, budget, cap
// at the top), what goes around calls, what is looked at after a step (guard,
// cap at the bottom, stop conditions).
func (c *Config) options() []Middleware {
	var list []Middleware
	add := func(on bool, p Middleware) {
		if on {
			list = append(list, p)
		}
	}
	add(c.Deadline > 0, deadlinePolicy(c.Deadline))
	add(c.TokenBudget > 0, budgetPolicy(c.TokenBudget))
	add(c.StepLimitCheck == CheckBeforeStep, capTopPolicy(c.MaxSteps, c.OnStepLimit))
	add(c.Retry.Max > 0, c.Retry.policy())
	add(c.DuplicateStep == DuplicateSkip, duplicatePolicy(c.MaxDuplicateSteps))
	add(c.ToolTimeout > 0, timeoutPolicy(c.ToolTimeout))
	add(c.MaxConsecutiveToolErrors > 0, guardPolicy(c.MaxConsecutiveToolErrors, c.ResetByAbsence))
	add(c.StepLimitCheck == CheckAfterStep, capBottomPolicy(c.MaxSteps, c.OnStepLimit))
	add(len(c.StopWhen) > 0, stopPolicy(c.StopWhen))
	return list
}

// History returns the messages as they are before this step; they are not to be
// changed.
func (s *StepInfo) History() []llm.Message {
	return s.run.history[:len(s.run.history):len(s.run.history)]
}
