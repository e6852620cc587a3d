package loop

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/arguments"
	"github.com/looptape/looptape/trace"
)

// callState is the state of a tool call of a step.
type callState int32

const (
	callPlanned    callState = iota // to be run
	callAnswered                    // has its Output, and is not run
	callClientSide                  // the caller of the run answers it
	callRunning                     // begun
	callAbandoned                   // still running after the grace period
	callDone                        // its result is recorded
)

// plannedCall is a call of a step as the kernel has it. Hooks get copies of its
// PlannedCall.
type plannedCall struct {
	PlannedCall
	step      int
	truncated bool // the response ended within it
	tool      *Tool
	checked   string  // the Arguments that were accepted; empty if they were not
	reason    string  // the Reason of that check
	refusal   *Output // and its Output

	state   atomic.Int32
	entered atomic.Bool // the tool was entered, or must not be entered any more
	context *toolContext
	outcome trace.Outcome   // empty unless the call was begun and has returned
	result  *llm.ToolResult // in the results of the step
	job     func()          // runs the call on another goroutine
}

func (p *plannedCall) is(s callState) bool { return callState(p.state.Load()) == s }

func (p *plannedCall) set(s callState) { p.state.Store(int32(s)) }

// plan checks the calls of a response, in order. A call that cannot be run gets its
// error result here.
func (x *executor) plan(response *llm.Response, calls []llm.ToolCall) []*plannedCall {
	x.results = x.resultMemory.Take(len(calls))
	plans := x.memory(len(calls))
	for i, c := range calls {
		p := plans[i]
		p.PlannedCall = PlannedCall{Call: c, Index: i, Arguments: c.Arguments}
		p.step, p.tool, p.checked, p.context, p.outcome, p.result = x.run.step, nil, "", nil, "", &x.results[i]
		p.truncated = response.FinishReason == llm.FinishLength && i == len(calls)-1
		p.set(callPlanned)
		p.entered.Store(false)
		x.check(p)
	}
	return plans
}

// memory returns the plans of a step. The next step uses them again, unless middleware
// may keep what runs a call. (No step follows an abandoned call.)
func (x *executor) memory(n int) []*plannedCall {
	if n > len(x.plans) || len(x.run.cfg.Middleware) > 0 {
		all := make([]plannedCall, n)
		x.plans = make([]*plannedCall, n)
		for i := range all {
			x.plans[i] = &all[i]
		}
	}
	return x.plans[:n:n]
}

// recheck makes sure that a call that middleware changed can be run, or has an answer,
// and that its reason says which.
func (x *executor) recheck(p *plannedCall) {
	reason := cmp.Or(p.Reason, p.reason)
	switch {
	case p.Output != nil && p.Output == p.refusal && p.Output.IsError:
		p.Reason = reason
	case p.Output != nil && (reason == p.reason || isRefusal(reason) && !p.Output.IsError):
		p.Reason = reasonAnswered
	case p.Output != nil:
	case p.Reason == ReasonRepair:
		x.checkRepair(p)
	case p.checked == "" || p.Arguments != p.checked:
		p.Reason = reasonEdit
		x.check(p)
	default:
		p.Reason = p.reason
	}
}

// checkRepair checks repaired arguments. If they are no better, the call is refused for
// the arguments that the model sent.
func (x *executor) checkRepair(p *plannedCall) {
	reason, refusal := p.reason, p.refusal
	x.check(p)
	switch {
	case p.Output == nil:
		p.Reason = ReasonRepair
	case refusal != nil:
		p.Reason, p.Output = reason, refusal
	}
}

// isRefusal reports whether a call with this reason could not be run, so that its result
// is an error.
func isRefusal(reason string) bool {
	return reason == trace.SkipUnknownTool || reason == trace.SkipMalformedArguments || reason == trace.SkipInvalidArguments || reason == trace.SkipTruncated
}

// check finds out whether a call can be run, and answers a call that cannot.
func (x *executor) check(p *plannedCall) {
	if x.accepts(p) {
		p.checked = p.Arguments
	}
	p.reason, p.refusal = p.Reason, p.Output
}

// accepts reports whether a call can be run, and fills in its defaults.
func (x *executor) accepts(p *plannedCall) bool {
	tools, cfg := x.run.tools, x.run.cfg
	p.tool = tools.lookup(p.Call.Name)
	switch {
	case p.tool == nil && p.Call.Name == UnnamedTool:
		return x.refuse(p, trace.SkipUnknownTool, errors.New("the call names no tool; "+tools.names()))
	case p.tool == nil:
		return x.refuse(p, trace.SkipUnknownTool, fmt.Errorf("there is no tool %q; %s", p.Call.Name, tools.names()))
	case p.truncated && p.Arguments == p.Call.Arguments:
		return x.refuse(p, trace.SkipTruncated, errors.New("the answer was cut off at its length limit within this call, which was not run; make it again, shorter"))
	}
	if strings.TrimSpace(p.Arguments) == "" {
		p.Arguments, p.Reason = "{}", reasonEmpty
	}
	if p.tool.schema.Accepts(p.Arguments) {
		return true
	}
	if err := arguments.CheckObject(p.Arguments); err != nil {
		switch {
		case cfg.BadArguments == BadArgumentsEmpty:
			p.Arguments, p.Reason = "{}", reasonEmpty
		case err.Truncated:
			return x.refuse(p, trace.SkipTruncated, fmt.Errorf("the call was cut off before its arguments were complete, and was not run; make it again (%w)", err))
		default:
			return x.refuse(p, trace.SkipMalformedArguments, fmt.Errorf("%w; the call was not run", err))
		}
	}
	args, changed, err := p.tool.schema.Prepare(p.Arguments)
	switch {
	case err != nil && cfg.BadArguments == BadArgumentsPass:
	case err != nil:
		return x.refuse(p, trace.SkipInvalidArguments, err)
	case changed:
		p.Arguments, p.Reason = args, reasonDefaults
	}
	return true
}

// ReasonRepair is the PlannedCall.Reason of a hook that has repaired the Arguments, and
// has removed the Output with which the loop refused them.
const ReasonRepair = "repair"

// Reasons of arguments that differ from those of the model, and of an answer of middleware
// without a reason of its own.
const (
	reasonEmpty    = "empty_object"
	reasonDefaults = "defaults"
	reasonEdit     = "edit"
	reasonAnswered = "answered"
)

// refuse answers a call with an error. It returns false.
func (x *executor) refuse(p *plannedCall, reason string, err error) bool {
	out := x.errorOutput(p.Call.Name, err)
	p.Output, p.Reason = &out, reason
	return false
}

// errorOutput is the result of a failure. Config.ErrorText and the error may panic.
func (x *executor) errorOutput(tool string, err error) (out Output) {
	text := func(s string) Output { return Output{Content: []llm.Part{llm.Text{Text: s}}, IsError: true} }
	defer func() {
		if recover() != nil {
			out = text("the tool failed, and its error cannot be put into words")
		}
	}()
	if f := x.run.cfg.ErrorText; f != nil {
		return text(f(tool, err))
	}
	return text(errText(err))
}

// classify sets the states of checked calls, and counts the client-side ones.
func (x *executor) classify(plans []*plannedCall) (clientSide int) {
	for _, p := range plans {
		switch {
		case p.Output == nil && p.tool.Run == nil || p.Reason == trace.SkipUnknownTool && x.run.cfg.UnknownTool == UnknownBreak:
			p.set(callClientSide)
			clientSide++
		case p.Output != nil:
			p.set(callAnswered)
		default:
			p.set(callPlanned)
		}
	}
	return clientSide
}

// mark returns what became of the call, for the runaway guard.
func (p *plannedCall) mark() (m mark) {
	if p.outcome != "" {
		m |= markRan
	}
	switch p.Reason {
	case trace.SkipDenied, trace.SkipDuplicate, trace.SkipCanceled:
	default:
		if p.outcome != trace.OutcomeCanceled {
			m |= markCounts
		}
	}
	return m
}
