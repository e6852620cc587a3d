package loop

import (
	"cmp"
	"errors"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// prepare asks whether step n may begin, and begins it: the end of the context
// first, then a stop that was asked for, then the options and policies.
func (r *run) prepare(n int) (s *StepInfo, stop bool, err error) {
	if r.ended(trace.NoStep) {
		return nil, true, r.decideEnd(trace.NoStep)
	}
	if r.stopAsked(trace.NoStep) {
		return nil, true, nil
	}
	r.step = n
	s = r.frame()
	s.Step, s.Usage, s.Steps, s.run = n, r.usage, r.inHand(), r
	s.Request = r.reqs.One()
	*s.Request = r.request
	r.tries = r.tries[:0]
	r.preparing = true
	rewrites, stop, err := r.askBefore(s)
	r.preparing = false
	if stop || err != nil {
		return nil, true, err
	}
	if s.Step = n; s.Request == nil {
		return nil, true, r.fail(r.stepNow(), &MiddlewareError{"(before the step)", errors.New("left no StepInfo.Request; change its fields, or put another in its place")})
	}
	r.tooled = r.tooled || len(s.Request.Tools) > 0
	r.beginStep(n)
	for _, w := range rewrites {
		r.emit(n, w)
	}
	if r.forced {
		s.Request.Tools, s.Request.ToolChoice = nil, llm.ToolChoice{}
	}
	r.sent = len(r.history)
	s.Request.Messages = r.history[:r.sent:r.sent]
	return s, false, nil
}

// askBefore asks the options and policies about a step, until one ends the run.
func (r *run) askBefore(s *StepInfo) (rewrites []trace.HistoryRewrite, stop bool, err error) {
	for _, h := range r.hooks.before {
		d, err := callHook(h.policy, func() (Decision, error) { return h.f(r.ctx, s) })
		if err != nil {
			return nil, true, r.fail(r.stepNow(), err)
		}
		if d.Action == trace.Stop || d.Action == trace.ForceFinal && !r.forced {
			r.decide(r.stepNow(), d, h.policy, h.builtin)
		}
		if d.Action == trace.Stop {
			r.closeStep(r.stepNow())
			return nil, true, d.Err
		}
		r.forced = r.forced || d.Action == trace.ForceFinal
		if d.Messages != nil {
			if err := checkOwnHistory(h.policy, d.Messages); err != nil {
				return nil, true, r.fail(r.stepNow(), err)
			}
			r.rewrite(d.Messages)
			rewrites = append(rewrites, trace.HistoryRewrite{Reason: cmp.Or(d.Note, "middleware"), By: h.policy})
		}
	}
	if r.ended(r.stepNow()) { // a hook may have waited
		err := r.decideEnd(r.stepNow())
		r.closeStep(r.stepNow())
		return nil, true, err
	}
	return rewrites, false, nil
}

// stepNow is the step that was begun, if it has not ended: what policies ask a model
// before a step belongs to it.
func (r *run) stepNow() int {
	if r.inStep {
		return r.step
	}
	return trace.NoStep
}

// beginStep begins step n, unless a policy's model call has begun it.
func (r *run) beginStep(n int) {
	if r.inStep {
		return
	}
	r.inStep = true
	r.emit(n, trace.StepStart{})
	r.begun++
}

// frame is where a step's StepInfo stands. Policies of the caller's may keep it,
// so each step then has its own.
func (r *run) frame() *StepInfo {
	if len(r.cfg.Middleware) == 0 {
		return &r.info
	}
	return new(StepInfo)
}
