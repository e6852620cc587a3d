package loop

import (
	"context"
	"errors"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// over reports whether the run's context has ended. Tools on other goroutines may
// ask as well.
func (r *run) over() bool {
	r.pull()
	return r.ctx.Err() != nil
}

// ended reports whether the run's context has ended, and records it once.
func (r *run) ended(step int) bool {
	if !r.over() {
		return false
	}
	if !r.seen {
		r.seen = true
		r.emit(step, trace.Canceled{Reason: string(r.stopCause(context.Cause(r.ctx)))})
	}
	return true
}

// decideEnd records that the run stops, between two steps, because its context
// has ended.
func (r *run) decideEnd(step int) error {
	err := context.Cause(r.ctx)
	r.decide(step, Decision{Action: trace.Stop, Reason: r.stopCause(err)}, "", true)
	if r.cfg.DeadlineReturns && errors.Is(err, ErrDeadline) {
		return nil
	}
	return err
}

// decide records a decision, and why the run ends if it does.
func (r *run) decide(step int, d Decision, policy string, own bool) {
	if d.Reason == "" || !own && reserved(d) {
		d.Reason = trace.ReasonMiddleware
	}
	if r.rec.on() {
		ev := trace.Decision{Action: d.Action, Reason: d.Reason, Note: d.Note}
		if !own {
			ev.By = policy
		}
		r.emit(step, ev)
	}
	if d.Action == trace.Suspend {
		r.suspend(step)
	}
	r.res.StopReason, r.res.Note = d.Reason, d.Note // the last decision is the one that ends the run
}

// reserved reports whether a decision has a cause that is for the loop alone to see.
func reserved(d Decision) bool {
	switch d.Reason {
	case trace.ReasonToolCalls, trace.ReasonEndTurn, trace.ReasonMaxSteps, trace.ReasonStopCondition, trace.ReasonRunawayGuard, trace.ReasonClientTools,
		trace.ReasonForced, trace.ReasonStopped, trace.ReasonMalformedCall, trace.ReasonCancel, trace.ReasonDeadline, trace.ReasonError:
		return true
	case trace.ReasonContinuedResponse:
		return d.Action != trace.Continue
	case trace.ReasonBudget, trace.ReasonHandoff, trace.ReasonEndHook, trace.ReasonApproval, trace.ReasonMiddleware:
	}
	return false
}

func (r *run) closeStep(n int) {
	if r.inStep && n != trace.NoStep {
		r.inStep = false
		r.emit(n, trace.StepEnd{})
	}
}

// appendTurn puts the assistant's message into the history. An empty turn is
// not put there: no provider takes it back. Of a forced answer, calls are left
// out: nobody will answer them.
func (r *run) appendTurn(t *llm.Response) {
	r.turn = nil
	m := t.Message()
	if r.forced {
		m.Parts = withoutCalls(m.Parts)
	}
	if !saysNothing(m.Parts) {
		r.append(m)
	}
}

func withoutCalls(parts []llm.Part) []llm.Part {
	var out []llm.Part
	for _, p := range parts {
		if c, ok := p.(llm.ToolCall); !ok || c.ProviderExecuted {
			out = append(out, p)
		}
	}
	return out
}

// callsOf returns the calls that the loop has to answer, as Turn.Calls does.
func (r *run) callsOf(t *llm.Response) []llm.ToolCall {
	var out []llm.ToolCall
	for i, p := range t.Parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			if out == nil {
				out = r.calls.Take(len(t.Parts) - i)[:0]
			}
			out = append(out, c)
		}
	}
	return out
}

// roomFor returns list with room for one more, of which there is twice as much
// each time: append grows long lists by a quarter, and so makes a step of a long
// run cost more than one of a short run.
func roomFor[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(len(list), 16))
	}
	return list
}

func (r *run) append(m llm.Message) {
	r.history = append(roomFor(r.history), m)
	if r.split {
		r.fresh = append(r.fresh, m)
	}
}

// added are the messages that the run added to its input.
func (r *run) added() []llm.Message {
	if r.split {
		return r.fresh
	}
	if n := len(r.in.Messages); len(r.history) > n {
		return r.history[n:len(r.history):len(r.history)]
	}
	return nil
}

// rewrite gives the run another history.
func (r *run) rewrite(messages []llm.Message) {
	if !r.split {
		r.fresh, r.split = append([]llm.Message(nil), r.added()...), true
	}
	r.unsent = append(r.unsent, r.history[r.shown:]...)
	r.history = append([]llm.Message(nil), messages...)
	r.shown = len(r.history)
	r.ids.takeAll(messages)
}

// appendResults puts the results of a step into the history, in call order.
func (r *run) appendResults(s *StepInfo, plans []*planned) []llm.ToolResult {
	r.open = nil
	if plans == nil {
		return nil
	}
	r.res.ToolSteps++
	results := s.results
	parts := r.parts.Take(len(results))[:0]
	for i, res := range results {
		if res.IsError = res.IsError && !r.cfg.OmitErrorFlag; !plans[i].held {
			parts = append(parts, res)
		}
	}
	if r.cfg.ToolMessage == OnePerStep && len(parts) > 0 {
		r.append(llm.Message{Role: llm.RoleTool, Parts: parts})
		return results
	}
	for i := range parts {
		r.append(llm.Message{Role: llm.RoleTool, Parts: parts[i : i+1 : i+1]})
	}
	return results
}

// complete makes the record of a step.
func (r *run) complete(s *StepInfo, t *llm.Response, calls []llm.ToolCall, results []llm.ToolResult, plans []*planned) *Step {
	step := r.kept.One()
	*step = Step{Index: s.Step, Type: StepInitial, Text: t.Text(), Results: results, FinishReason: t.FinishReason, Usage: t.Usage}
	if !r.forced {
		step.Calls = calls
	}
	if s.Step > 0 {
		step.Type = StepToolResult
	}
	step.Reasoning, step.HasReasoning = t.Reasoning()
	if r.sent < len(r.history) {
		step.Messages = r.history[r.sent:len(r.history):len(r.history)]
	}
	if plans != nil {
		step.marks = r.marks.Take(len(plans))
		for i, p := range plans {
			step.marks[i] = p.mark()
			step.failed = step.failed || p.result.IsError && step.marks[i]&markCounts != 0
		}
	}
	r.steps = append(roomFor(r.steps), step)
	if r.exposed() {
		r.lent = append(roomFor(r.lent), step.copy())
	}
	return step
}

// exposed reports whether somebody else's code sees the steps.
func (r *run) exposed() bool { return len(r.cfg.Middleware)+len(r.cfg.StopWhen) > 0 }

// inHand are the steps so far for policies and stop conditions: copies, which they
// cannot do harm with. There is one a step, so that a step costs no more for those
// before it.
func (r *run) inHand() []*Step {
	list := r.steps
	if r.exposed() {
		list = r.lent
	}
	return list[:len(list):len(list)]
}

// copy returns a step that shares nothing with s that could be changed, but what
// its messages and results hold.
func (s *Step) copy() *Step {
	out := *s
	out.Calls, out.Results, out.Messages = slices.Clone(s.Calls), slices.Clone(s.Results), slices.Clone(s.Messages)
	return &out
}

func (r *run) onStep(step *Step) (err error) {
	if r.cfg.OnStep == nil {
		return nil
	}
	defer func() {
		if err != nil {
			err = &MiddlewareError{"OnStep", err}
		}
	}()
	defer contain("OnStep", "", &err)
	r.cfg.OnStep(*step)
	return nil
}

func (r *run) startHooks() error {
	for _, h := range r.hooks.start {
		_, err := callHook(h.policy, func() (Decision, error) {
			ctx, err := h.f(r.ctx)
			switch {
			case ctx == nil || err != nil:
			case h.builtin:
				r.ctx = ctx
			default:
				r.bind(ctx)
			}
			return Decision{}, err
		})
		if err != nil {
			return r.fail(trace.NoStep, err)
		}
	}
	return nil
}

// callHook calls a policy's hook; what goes wrong in it is the policy's error.
func callHook(policy string, f func() (Decision, error)) (d Decision, err error) {
	func() {
		defer contain("the policy ", policy, &err)
		d, err = f()
	}()
	if err != nil {
		return Decision{}, &MiddlewareError{policy, err}
	}
	return d, nil
}
