package loop

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// planned is a call of a step as the kernel has it: nothing of it is handed out.
type planned struct {
	PlannedCall
	step      int
	cut       bool // the answer was cut off within it
	held      bool // its caller answers it
	tool      *Tool
	checked   string  // the Args that were found fit to run; empty if they were not
	why       string  // the Cause that was found then,
	refusal   *Output // and the Answer
	ran       bool    // it was begun: its tool.start was recorded, if anybody looks
	told      bool    // what came of it was recorded
	running   bool
	abandoned bool
	lost      bool // that it was abandoned is to be recorded
	entered   atomic.Bool
	serving   *serving // the context of its tool, if the run is recorded
	outcome   trace.Outcome
	result    *llm.ToolResult // its place among the results of the step
	job       func()          // runs the call, on a goroutine of its own
}

// plan checks the calls of a turn, in order: is there such a tool, are the
// arguments whole, does the schema allow them. A call that fails gets its error
// result here and is not run.
func (r *run) plan(s *StepInfo, turn *llm.Response, calls []llm.ToolCall) []*planned {
	s.results = r.results.Take(len(calls))
	plans := r.room(len(calls))
	for i, c := range calls {
		p := plans[i]
		p.begin(c, i, r.step, &s.results[i])
		p.cut = turn.FinishReason == llm.FinishLength && i == len(calls)-1
		r.check(p)
	}
	return plans
}

// room returns room for the calls of a step. It is used again in the next one,
// unless a policy may hold on to what runs a call. (There is no next one after a
// tool was abandoned.)
func (r *run) room(n int) []*planned {
	if n > len(r.plans) || len(r.cfg.Middleware) > 0 {
		all := make([]planned, n)
		r.plans = make([]*planned, n)
		for i := range all {
			r.plans[i] = &all[i]
		}
	}
	return r.plans[:n:n]
}

// begin makes p the plan of a call, whatever it was before.
func (p *planned) begin(c llm.ToolCall, index, step int, result *llm.ToolResult) {
	p.PlannedCall = PlannedCall{Call: c, Index: index, Arguments: c.Arguments}
	p.step, p.tool, p.checked, p.outcome, p.result = step, nil, "", "", result
	p.held, p.ran, p.told, p.running, p.abandoned, p.lost = false, false, false, false, false, false
	p.entered.Store(false)
}

// askBatch shows the calls to the policies and takes over what they did to them.
func (r *run) askBatch(s *StepInfo, plans []*planned) (Decision, error) {
	if len(r.hooks.batch) == 0 {
		return Decision{}, nil
	}
	shown, own := make([]*PlannedCall, len(plans)), make([]PlannedCall, len(plans))
	for i, p := range plans {
		own[i] = p.PlannedCall
		shown[i] = &own[i]
	}
	for _, h := range r.hooks.batch {
		d, err := callHook(h.policy, func() (Decision, error) {
			if h.builtin {
				return h.f(r.ctx, s, shown)
			}
			return h.f(r.ctx, s, slices.Clone(shown))
		})
		s.Step = r.step
		for i, p := range plans { // what a call is, is not for a policy to say
			shown[i].Call, shown[i].Index = p.Call, i
		}
		if err != nil {
			return d, err
		}
		if d.Action == trace.Suspend {
			d.Reason = cmp.Or(d.Reason, trace.ReasonApproval)
		}
		if d.Action == trace.Stop || d.Action == trace.Suspend {
			r.decide(r.step, d, h.policy, h.builtin)
			return d, nil
		}
	}
	for i, p := range plans {
		p.PlannedCall = *shown[i]
		r.recheck(p)
	}
	return Decision{}, nil
}

// recheck makes sure that what policies did to a call can be run, or was an answer,
// and that the cause tells which.
func (r *run) recheck(p *planned) {
	cause := cmp.Or(p.Reason, p.why)
	switch {
	case p.Output != nil && p.Output == p.refusal && p.Output.IsError:
		p.Reason = cause
	case p.Output != nil && (cause == p.why || isRefusal(cause) && !p.Output.IsError):
		p.Reason = causeAnswered
	case p.Output != nil:
	case p.Reason == ReasonRepair:
		r.repaired(p)
	case p.checked == "" || p.Arguments != p.checked:
		p.Reason = causeEdit
		r.check(p)
	default:
		p.Reason = p.why
	}
}

// repaired takes over mended arguments if they can be run with; else the call is
// refused for what was wrong with those that the model sent, which knows no others.
func (r *run) repaired(p *planned) {
	why, refusal := p.why, p.refusal
	r.check(p)
	switch {
	case p.Output == nil:
		p.Reason = ReasonRepair
	case refusal != nil:
		p.Reason, p.Output = why, refusal
	}
}

// isRefusal reports whether a call was not run because it could not be, so that its
// result is an error.
func isRefusal(cause string) bool {
	return cause == trace.SkipUnknownTool || cause == trace.SkipMalformedArguments || cause == trace.SkipInvalidArguments || cause == trace.SkipTruncated
}

// check finds out whether a call can be run, and answers one that cannot.
func (r *run) check(p *planned) {
	if r.fit(p) {
		p.checked = p.Arguments
	}
	p.why, p.refusal = p.Reason, p.Output
}

// fit reports whether a call can be run, with its defaults filled in. One that
// cannot gets its answer.
func (r *run) fit(p *planned) bool {
	p.tool = r.tools.lookup(p.Call.Name)
	switch {
	case p.tool == nil && p.Call.Name == UnnamedTool:
		r.reject(p, trace.SkipUnknownTool, errors.New("the call names no tool; "+r.tools.names()))
		return false
	case p.tool == nil:
		r.reject(p, trace.SkipUnknownTool, fmt.Errorf("there is no tool %q; %s", p.Call.Name, r.tools.names()))
		return false
	case p.cut && p.Arguments == p.Call.Arguments:
		r.reject(p, trace.SkipTruncated, errors.New("the answer was cut off at its length limit within this call, which was not run; make it again, shorter"))
		return false
	}
	if strings.TrimSpace(p.Arguments) == "" {
		p.Arguments, p.Reason = "{}", causeEmpty
	}
	if p.tool.shape != nil && p.tool.shape.accepts(p.Arguments) {
		return true
	}
	if err := checkObject(p.Arguments); err != nil {
		switch {
		case r.cfg.BadArguments == BadArgumentsEmpty:
			p.Arguments, p.Reason = "{}", causeEmpty
		case err.cut:
			r.reject(p, trace.SkipTruncated, fmt.Errorf("the call was cut off before its arguments were complete, and was not run; make it again (%w)", err))
			return false
		default:
			r.reject(p, trace.SkipMalformedArguments, fmt.Errorf("%w; the call was not run", err))
			return false
		}
	}
	args, changed, err := p.tool.prepare(p.Arguments)
	if err != nil && r.cfg.BadArguments == BadArgumentsPass {
		return true
	}
	if err != nil {
		r.reject(p, trace.SkipInvalidArguments, err)
		return false
	}
	if changed {
		p.Arguments, p.Reason = args, causeDefaults
	}
	return true
}

// ReasonRepair is the PlannedCall.Reason with which a policy says that it has mended the
// Args, and has taken away the Answer with which they were refused.
const ReasonRepair = "repair"

// The causes of arguments that are not those the model sent.
const (
	causeEmpty    = "empty_object"
	causeDefaults = "defaults"
	causeEdit     = "edit"
)

// causeAnswered is the cause of a call that a policy answered and gave no cause.
const causeAnswered = "answered"

func (r *run) reject(p *planned, cause string, err error) {
	out := failed(r.errorText(p.Call.Name, err))
	p.Output, p.Reason = &out, cause
}

// errorText words an error for the model. Whatever goes wrong in that is not to
// end the run.
func (r *run) errorText(tool string, err error) (text string) {
	defer func() {
		if recover() != nil {
			text = "the tool failed, and its error cannot be put into words"
		}
	}()
	if r.cfg.ErrorText != nil {
		return r.cfg.ErrorText(tool, err)
	}
	return errText(err)
}

// mark tells the guard what became of the call.
func (p *planned) mark() mark {
	var m mark
	if p.ran {
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
