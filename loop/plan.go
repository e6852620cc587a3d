package loop

import (
	"errors"
	"fmt"
	"slices"
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

	state   atomic.Int32
	entered atomic.Bool            // the tool was entered, or must not be entered any more
	edited  atomic.Pointer[string] // the arguments of the tool, if WrapTool changed them
	turn    turn
	context *toolContext
	outcome trace.Outcome   // empty unless the call was begun and has returned
	result  *llm.ToolResult // in the results of the step
	content []llm.Part      // memory for one part of it
	value   any             // the Output.Value of the result; nil for an error
	job     func()          // runs the call on another goroutine
}

func (p *plannedCall) is(s callState) bool { return callState(p.state.Load()) == s }

func (p *plannedCall) set(s callState) { p.state.Store(int32(s)) }

// plan checks the calls of a response, in order. A call that cannot be run gets its
// error result here.
func (x *executor) plan(response *llm.Response, calls []llm.ToolCall) []*plannedCall {
	x.results = x.resultMemory.Take(len(calls))
	contents := x.contentMemory.Take(len(calls))
	plans := x.memory(len(calls))
	for i, c := range calls {
		p := plans[i]
		p.PlannedCall = PlannedCall{Call: c, Index: i, Arguments: c.Arguments}
		p.step, p.tool, p.context, p.outcome, p.result, p.value = x.run.step, nil, nil, "", &x.results[i], nil
		p.content = contents[i : i+1 : i+1]
		p.truncated = response.FinishReason == llm.FinishLength && i == len(calls)-1
		p.set(callPlanned)
		p.entered.Store(false)
		p.edited.Store(nil)
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

// apply puts what a hook decided about a call into effect.
func (x *executor) apply(p *plannedCall, d CallDecision) {
	switch {
	case d.Output != nil:
		out := *d.Output
		out.Content = slices.Clone(out.Content)
		p.Output, p.Reason = &out, d.Reason
		if d.Reason == "" || isRefusal(d.Reason) && !out.IsError {
			p.Reason = reasonAnswered
		}
	case d.Arguments != "" && (p.Output != nil || d.Arguments != p.Arguments):
		before := p.PlannedCall
		p.Arguments, p.Output, p.Reason = d.Arguments, nil, reasonEdit
		x.check(p)
		switch {
		case d.Reason != ReasonRepair:
		case p.Output == nil:
			p.Reason = ReasonRepair
		case before.Output != nil: // no better: the refusal is about what the model sent
			p.PlannedCall = before
		}
	case p.Output != nil && d.Reason != "":
		p.Reason = d.Reason
	}
}

// isRefusal reports whether a call with this reason could not be run, so that its result
// is an error.
func isRefusal(reason string) bool {
	return reason == trace.SkipUnknownTool || reason == trace.SkipMalformedArguments || reason == trace.SkipInvalidArguments || reason == trace.SkipTruncated
}

// check finds out whether a call can be run, and fills in its defaults. A call that
// cannot gets its error result.
func (x *executor) check(p *plannedCall) {
	tools, cfg := x.run.tools, x.run.cfg
	p.tool = tools.lookup(p.Call.Name)
	switch {
	case p.tool == nil && p.Call.Name == UnnamedTool:
		x.refuse(p, trace.SkipUnknownTool, errors.New("the call names no tool; "+tools.names()))
		return
	case p.tool == nil:
		x.refuse(p, trace.SkipUnknownTool, fmt.Errorf("there is no tool %q; %s", p.Call.Name, tools.names()))
		return
	case p.truncated && p.Arguments == p.Call.Arguments:
		x.refuse(p, trace.SkipTruncated, errors.New("the answer was cut off at its length limit within this call, which was not run; make it again, shorter"))
		return
	}
	if strings.TrimSpace(p.Arguments) == "" {
		p.Arguments, p.Reason = "{}", reasonEmpty
	}
	if p.tool.schema.Accepts(p.Arguments) {
		return
	}
	if err := arguments.CheckObject(p.Arguments); err != nil {
		switch {
		case cfg.BadArguments == BadArgumentsEmpty:
			p.Arguments, p.Reason = "{}", reasonEmpty
		case err.Truncated:
			x.refuse(p, trace.SkipTruncated, fmt.Errorf("the call was cut off before its arguments were complete, and was not run; make it again (%w)", err))
			return
		default:
			x.refuse(p, trace.SkipMalformedArguments, fmt.Errorf("%w; the call was not run", err))
			return
		}
	}
	args, changed, err := p.tool.schema.Prepare(p.Arguments)
	switch {
	case err != nil && cfg.BadArguments == BadArgumentsPass:
	case err != nil:
		x.refuse(p, trace.SkipInvalidArguments, err)
	case changed:
		p.Arguments, p.Reason = args, reasonDefaults
	}
}

// Reasons of arguments that differ from those of the model, and of an answer of middleware
// without a reason of its own.
const (
	reasonEmpty    = "empty_object"
	reasonDefaults = "defaults"
	reasonEdit     = "edit"
	reasonAnswered = "answered"
)

// refuse answers a call with an error.
func (x *executor) refuse(p *plannedCall, reason string, err error) {
	out := x.errorOutput(p.Call.Name, err)
	p.Output, p.Reason = &out, reason
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
		case p.Output == nil && p.tool.Run == nil || p.Reason == trace.SkipUnknownTool && x.run.cfg.BreakOnUnknownTool:
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
	if p.outcome != "" && p.outcome != trace.OutcomeNotRun {
		m |= markRan
	}
	switch p.Reason {
	case trace.SkipDenied, trace.SkipDuplicate, trace.SkipCanceled:
	default:
		if p.outcome != trace.OutcomeCanceled && p.outcome != trace.OutcomeNotRun {
			m |= markCounts
		}
	}
	return m
}
