package loop

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// plan checks the calls of a turn, in order: is there such a tool, are the
// arguments whole, does the schema allow them. A call that fails gets its error
// result here and is not run.
func (r *run) plan(s *StepInfo, turn *llm.Turn, calls []llm.ToolCall) []*Planned {
	s.results = r.results.Take(len(calls))
	plans := r.room(len(calls))
	for i, c := range calls {
		p := plans[i]
		p.begin(c, i, r.step, &s.results[i])
		r.check(p, turn.Finish == llm.FinishLength && i == len(calls)-1)
	}
	return plans
}

// room returns room for the calls of a step. It is used again in the next one,
// unless a policy may hold on to it. (There is no next one after a tool was
// abandoned.)
func (r *run) room(n int) []*Planned {
	if n > len(r.plans) || len(r.cfg.Policies) > 0 {
		all := make([]Planned, n)
		r.plans = make([]*Planned, n)
		for i := range all {
			r.plans[i] = &all[i]
		}
	}
	return r.plans[:n:n]
}

// begin makes p the plan of a call, whatever it was before.
func (p *Planned) begin(c llm.ToolCall, index, step int, result *llm.ToolResult) {
	p.Call, p.Index, p.Args, p.Answer, p.Cause = c, index, c.Args, nil, ""
	p.step, p.tool, p.checked, p.outcome, p.result = step, nil, "", "", result
	p.ran, p.told, p.running, p.abandoned, p.lost = false, false, false, false, false
	p.entered.Store(false)
}

// recheck makes sure that what policies did to a call can be run.
func (r *run) recheck(p *Planned) {
	switch {
	case p.Answer != nil:
		p.Cause = cmp.Or(p.Cause, causeAnswered)
	case p.tool == nil || p.Args != p.checked:
		p.Cause = causeEdit
		r.check(p, false)
	}
}

func (r *run) check(p *Planned, cut bool) {
	defer func() { p.checked = p.Args }()
	p.tool = r.tools.lookup(p.Call.Name)
	switch {
	case p.tool == nil && p.Call.Name == UnnamedTool:
		r.reject(p, causeUnknown, errors.New("the call names no tool; "+r.tools.names()))
		return
	case p.tool == nil:
		r.reject(p, causeUnknown, fmt.Errorf("there is no tool %q; %s", p.Call.Name, r.tools.names()))
		return
	case cut:
		r.reject(p, causeCut, errors.New("the answer was cut off at its length limit within this call, which was not run; make it again, shorter"))
		return
	}
	if strings.TrimSpace(p.Args) == "" {
		p.Args, p.Cause = "{}", causeEmpty
	}
	if p.tool.shape != nil && p.tool.shape.accepts(p.Args) {
		return
	}
	if err := checkObject(p.Args); err != nil {
		switch {
		case r.cfg.EmptyForBadArgs:
			p.Args, p.Cause = "{}", causeEmpty
		case err.cut:
			r.reject(p, causeCut, fmt.Errorf("the call was cut off before its arguments were complete, and was not run; make it again (%w)", err))
			return
		default:
			r.reject(p, causeMalformed, fmt.Errorf("%w; the call was not run", err))
			return
		}
	}
	args, changed, err := p.tool.prepare(p.Args)
	if err != nil {
		r.reject(p, causeInvalid, err)
		return
	}
	if changed {
		p.Args, p.Cause = args, causeDefaults
	}
}

// The causes of arguments that are not those the model sent.
const (
	causeEmpty    = "empty_object"
	causeDefaults = "defaults"
	causeEdit     = "edit"
)

// causeAnswered is the cause of a call that a policy answered and gave no cause.
const causeAnswered = "answered"

func (r *run) reject(p *Planned, cause string, err error) {
	p.fail(cause, r.errorText(p.Call.Name, err))
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
func (p *Planned) mark() mark {
	var m mark
	if p.ran {
		m |= markRan
	}
	switch p.Cause {
	case causeDenied, causeDuplicate, causeCancelled:
	default:
		if p.outcome != trace.OutcomeCancelled {
			m |= markCounts
		}
	}
	return m
}
