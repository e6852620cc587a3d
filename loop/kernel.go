package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/conversation"
	"github.com/looptape/looptape/trace"
)

// run is one run in progress. It belongs to the goroutine that runs it. Tools on other
// goroutines use its context, its phase and their own call.
type run struct {
	agent *Agent
	cfg   *Config
	in    Input
	rec   *recorder
	hooks chain
	tools *toolSet // of the current step and the next ones

	life       lifecycle
	transcript transcript
	caller     caller
	exec       executor
	log        stepLog

	step      int  // the current step; see Resume for -1
	openStep  int  // the step that the trace shows as begun, or trace.NoStep
	begun     int  // steps that began
	finalStep int  // the step that answers without tools, or noStep
	continued int  // paused responses that were continued
	hadTools  bool // the run had tools, or a request offered some

	info StepInfo // of the current step; hooks get copies

	res Result
	err error
}

// noStep is the index of no step, and differs from trace.NoStep, the index of the calls
// of a resumed run.
const noStep = -2

func newRun(a *Agent, in Input, rec *recorder, started *Run) *run {
	r := &run{agent: a, cfg: &a.cfg, in: in, rec: rec, tools: a.tools, openStep: trace.NoStep, finalStep: noStep}
	r.life.stop = &started.stop
	r.log.values = &started.values
	r.caller.run, r.exec.run, r.exec.turns.signal = r, r, a.cfg.Clock.Signal
	return r
}

// execute is a whole run.
func (r *run) execute(ctx context.Context) {
	r.life.ctx, r.life.cancel = context.WithCancelCause(ctx)
	defer r.life.cancel(nil)
	defer r.exec.close()
	defer r.life.release()
	defer r.unwind() // again, if the consumer ends the goroutine in the first one
	defer r.unwind()
	err := r.start()
	if err == nil {
		err = r.steps()
	}
	r.end(err)
}

// start makes the hooks, declares the run in the trace, and checks the Input.
func (r *run) start() error {
	var err error
	r.hooks, err = r.cfg.hooks(RunInfo{ID: r.rec.name, Input: r.in, Context: r.life.ctx, Clock: r.cfg.Clock, Rand: r.cfg.Rand})
	r.rec.observe(r.hooks.sinks...)
	if err == nil && len(r.hooks.tools) > 0 {
		var set *toolSet
		if set, err = newToolSet(slices.Concat(r.cfg.Tools, r.hooks.tools)); err == nil {
			r.tools = set
		}
	}
	r.hadTools = len(r.tools.list) > 0
	r.declare()
	var repairable, fatal *conversation.Problem
	if err == nil {
		if repairable, fatal = conversation.Check(r.in.Messages, r.in.Resume != nil); fatal != nil {
			err = historyError(fatal)
		}
	}
	if err != nil {
		return r.fail(trace.NoStep, err)
	}
	r.transcript.begin(r.in.Messages)
	if repairable != nil || r.in.Resume != nil {
		r.repairHistory()
	}
	r.transcript.base = llm.Request{
		Model: r.cfg.Model, System: llm.SystemText(r.cfg.System), Tools: r.tools.defs, ToolChoice: r.cfg.ToolChoice,
		ResponseMode: r.cfg.ResponseMode, Settings: r.cfg.Settings,
	}
	if r.in.ToolChoice != nil {
		r.transcript.base.ToolChoice = *r.in.ToolChoice
	}
	r.caller.acc.NewID, r.caller.acc.OrderByEnd = r.transcript.ids.Reserve, r.cfg.OrderCallsByEnd
	if r.caller.wrapped, r.exec.tool, err = r.hooks.wrap(r.caller.next, r.exec.enter); err != nil {
		return r.fail(trace.NoStep, err)
	}
	return r.startHooks()
}

// declare records the beginning of the run with its options.
func (r *run) declare() {
	opts := r.agent.opts
	if r.in.ToolChoice != nil {
		opts = opts.With("tool_choice", r.in.ToolChoice.String())
	}
	r.emit(trace.NoStep, trace.RunStart{Parent: r.in.Parent, Clock: clockName(r.cfg.Clock), Options: opts, Tools: r.tools.info})
}

func (r *run) repairHistory() {
	for _, w := range r.transcript.repair() {
		r.emit(trace.NoStep, trace.Warning{Code: WarnHistory, Message: w})
	}
}

// steps runs the calls of a resumed run, and then the steps until one is the last.
func (r *run) steps() error {
	if r.in.Resume != nil {
		if stop, err := r.resume(); stop || err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		if stop, err := r.runStep(n); stop || err != nil {
			return err
		}
	}
}

// runStep is the kernel: one step of a run. An error that it returns has its decision in
// the trace.
func (r *run) runStep(n int) (stop bool, err error) {
	s, stop, err := r.prepare(n)
	if stop || err != nil {
		return true, err
	}
	response, err := r.caller.call(s)
	if err != nil {
		return true, r.fail(n, err)
	}
	calls := r.callsOf(response)
	if !r.cfg.AppendAfterHooks {
		r.appendResponse(response)
	}
	next, by, err := r.afterModel(s, response)
	if r.cfg.AppendAfterHooks {
		r.appendResponse(response)
	}
	var plans []*plannedCall
	if err == nil && next.Action != trace.Stop {
		next, plans, err = r.decideNext(s, response, calls, next, by)
	}
	if err == nil {
		if d := r.runCalls(s, plans); d.Action != "" {
			next = d
		}
		stop, err = r.settle(s, response, calls, plans, next)
	}
	if err != nil {
		return true, r.fail(n, err)
	}
	r.closeStep()
	if !stop {
		return false, nil
	}
	return true, r.err
}

// prepare asks whether step n may begin, and begins it: the end of the context first,
// then Run.Stop, then the options and the middleware.
func (r *run) prepare(n int) (s *StepInfo, stop bool, err error) {
	if r.ended(trace.NoStep) {
		return nil, true, r.decideEnd(trace.NoStep)
	}
	if r.stopRequested() {
		return nil, true, nil
	}
	r.step = n
	r.life.enter(phasePreparing)
	s = &r.info
	*s = StepInfo{Step: n, Request: r.transcript.request(), Usage: r.caller.usage, Steps: r.log.view(), run: r}
	r.caller.attempts = r.caller.attempts[:0]
	rewrites, stop, err := r.beforeStep(s)
	if stop || err != nil {
		return nil, true, err
	}
	r.hadTools = r.hadTools || len(s.Request.Tools) > 0
	r.beginStep()
	for _, w := range rewrites {
		r.emit(n, w)
	}
	if r.final() {
		s.Request.Tools, s.Request.ToolChoice = nil, llm.ToolChoice{}
	}
	s.Request.Messages = r.transcript.messages()
	return s, false, nil
}

// beginStep begins the current step, unless a model call of middleware has begun it. The calls of a resumed run
// are not a step.
func (r *run) beginStep() {
	if r.openStep == trace.NoStep && r.step != trace.NoStep {
		r.openStep = r.step
		r.emit(r.step, trace.StepStart{})
		r.begun++
	}
}

func (r *run) closeStep() {
	if n := r.openStep; n != trace.NoStep {
		r.openStep = trace.NoStep
		r.emit(n, trace.StepEnd{})
	}
	r.life.enter(phaseIdle)
}

func (r *run) appendResponse(response *llm.Response) {
	r.caller.accepted = nil
	r.transcript.appendResponse(response, r.final())
}

// callsOf returns the calls that the loop has to answer, as [llm.Response.Calls] does.
func (r *run) callsOf(response *llm.Response) []llm.ToolCall {
	var out []llm.ToolCall
	for i, p := range response.Parts {
		if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
			if out == nil {
				out = r.log.calls.Take(len(response.Parts) - i)[:0]
			}
			out = append(out, c)
		}
	}
	return slices.Clip(out)
}

// decideNext decides what follows a response: by its calls, never by its finish reason.
// With Continue and calls, plans are the checked calls. by names the middleware that
// continues after a response without calls.
func (r *run) decideNext(s *StepInfo, response *llm.Response, calls []llm.ToolCall, next Decision, by string) (d Decision, plans []*plannedCall, err error) {
	switch {
	case r.final():
		d = Decision{Action: trace.End, Reason: trace.ReasonForced}
	case len(calls) == 0:
		return r.decideWithoutCalls(response, next, by), nil, nil
	case r.cfg.BreakWithoutTools && len(r.tools.list) == 0 && len(s.Request.Tools) == 0:
		d = Decision{Action: trace.Stop, Reason: trace.ReasonClientTools}
	default:
		return r.decideCalls(s, response, calls)
	}
	r.decide(r.step, d, "", true)
	return d, nil, nil
}

// decideWithoutCalls decides what follows a response without calls: the end, unless the
// provider paused the response or middleware continues, and the step limit allows it.
func (r *run) decideWithoutCalls(response *llm.Response, next Decision, by string) Decision {
	d, own := Decision{Action: trace.End, Reason: trace.ReasonEndTurn}, true
	switch {
	case next.Action == trace.Continue:
		d, own = next, false
		if d.Reason == "" {
			d.Reason = trace.ReasonEndHook
		}
	case response.FinishReason == llm.FinishPause && r.continued < r.cfg.Continuations:
		r.continued++
		d = Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse}
	case response.FinishReason == llm.FinishPause:
		d = Decision{Action: trace.Stop, Reason: trace.ReasonContinuedResponse, Note: fmt.Sprintf("continued %d times", r.continued)}
	}
	if d.Action == trace.Continue && r.step+1 >= r.cfg.MaxSteps {
		messages := d.Messages
		d, own = stepLimitDecision(r.cfg.MaxSteps, r.cfg.OnStepLimit), true
		if d.Action == trace.ForceFinal {
			d.Messages = messages
		}
	}
	r.decide(r.step, d, by, own)
	return d
}

// decideCalls decides whether the calls of a response are run. With Continue, plans are the
// checked calls.
func (r *run) decideCalls(s *StepInfo, response *llm.Response, calls []llm.ToolCall) (d Decision, plans []*plannedCall, err error) {
	plans = r.exec.plan(response, calls)
	clientSide := r.exec.classify(plans)
	if clientSide == 0 || r.cfg.ClientCalls != ClientBreak { // otherwise nothing is run, and no hook is asked
		if d, err = r.beforeFirstTools(s, plans); err != nil || d.Action == trace.Stop || d.Action == trace.Suspend {
			return d, nil, err
		}
		clientSide = r.exec.classify(plans)
	}
	if clientSide == len(plans) || clientSide > 0 && r.cfg.ClientCalls == ClientBreak {
		d = Decision{Action: trace.Stop, Reason: trace.ReasonClientTools}
		r.decide(r.step, d, "", true)
		return d, nil, nil
	}
	d = Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls}
	if r.rec.on() {
		r.emit(r.step, trace.Decision{Action: d.Action, Reason: d.Reason, ToolCalls: len(calls)})
	}
	return d, plans, nil
}

// decide records a decision, and why the run ends if it does.
func (r *run) decide(step int, d Decision, middleware string, own bool) {
	if d.Reason == "" || !own && isReserved(d) {
		d.Reason = trace.ReasonMiddleware
	}
	if r.rec.on() {
		ev := trace.Decision{Action: d.Action, Reason: d.Reason, Note: d.Note}
		if !own {
			ev.By = middleware
		}
		r.emit(step, ev)
		if d.Action == trace.Suspend {
			r.emit(step, r.transcript.suspended())
		}
	}
	r.res.StopReason, r.res.Note = d.Reason, d.Note // the last decision is the one that ends the run
}

// isReserved reports whether only the loop makes decisions for this reason.
func isReserved(d Decision) bool {
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

// beforeFirstTools passes calls through the BeforeTools hooks before any of them runs: all of them,
// or with Config.BeforeToolsEachCall the first one. The loop's own options always get all of them.
func (r *run) beforeFirstTools(s *StepInfo, plans []*plannedCall) (Decision, error) {
	first := plans
	if r.beforeToolsEachCall() {
		first = plans[:1]
	}
	d, by, err := r.beforeTools(s, plans, true)
	if by == nil && err == nil {
		d, by, err = r.beforeTools(s, first, false)
	}
	if by != nil {
		r.decide(r.step, d, by.middleware, by.builtin)
	}
	return d, err
}

func (r *run) beforeToolsEachCall() bool {
	return r.cfg.BeforeToolsEachCall && r.cfg.concurrency() == 1
}

// runCalls runs the calls of a step and appends their results. With Config.BeforeToolsEachCall it
// passes each call but the first through the BeforeTools hooks when the call before it has
// ended. The decision is not empty if a hook ended the run there.
func (r *run) runCalls(s *StepInfo, plans []*plannedCall) (d Decision) {
	if plans == nil {
		return d
	}
	r.exec.open = plans
	if !r.beforeToolsEachCall() {
		r.exec.runAll(plans)
		r.appendResults(plans)
		return d
	}
	var by *namedHooks
	var err error
	for i := range plans {
		next := plans[i : i+1]
		if i > 0 && !r.ended(r.step) {
			r.life.enter(phaseDeciding)
			s.Results = slices.Clone(r.exec.results[:i])
			if d, by, err = r.beforeTools(s, next, false); by != nil || err != nil {
				r.exec.leave(plans[i:], d.Action)
				break
			}
			r.exec.classify(next)
		}
		r.exec.runAll(next)
	}
	s.Results = nil
	r.appendResults(plans)
	switch {
	case err != nil:
		d = Decision{Action: trace.Stop, Reason: r.stopReason(err), Err: err}
		r.decide(r.step, d, "", true)
	case by != nil:
		r.decide(r.step, d, by.middleware, by.builtin)
	}
	return d
}

func (r *run) appendResults(plans []*plannedCall) {
	r.exec.open = nil
	r.res.ToolSteps++
	r.transcript.appendResults(plans, r.cfg)
	if r.step == trace.NoStep {
		r.repairHistory() // a later call of a resumed run may have its result
	}
}

// settle completes a step. If calls were answered, it asks the end of the context, the
// options and the middleware whether the run continues.
func (r *run) settle(s *StepInfo, response *llm.Response, calls []llm.ToolCall, plans []*plannedCall, next Decision) (stop bool, err error) {
	for _, m := range next.Messages {
		r.transcript.append(m)
	}
	step := r.complete(response, calls, plans)
	if err := r.onStep(step); err != nil {
		return true, err
	}
	switch {
	case plans == nil || next.Action == trace.Stop || next.Action == trace.Suspend:
		return r.apply(next), nil
	case r.stopForClient(plans):
		return true, nil
	case r.ended(r.step):
		r.err = r.decideEnd(r.step)
		return true, nil
	}
	return r.afterStep(s)
}

// apply puts a decision into effect, and reports whether the run stops.
func (r *run) apply(d Decision) (stop bool) {
	if d.Action == trace.ForceFinal {
		r.finalStep = r.step + 1
	}
	r.err = d.Err
	return d.Action != trace.ForceFinal && d.Action != trace.Continue
}

// stopForClient stops a run with client-side calls whose other calls were run.
func (r *run) stopForClient(plans []*plannedCall) bool {
	if !slices.ContainsFunc(plans, func(p *plannedCall) bool { return p.is(callClientSide) }) {
		return false
	}
	r.decide(r.step, Decision{Action: trace.Stop, Reason: trace.ReasonClientTools}, "", true)
	return true
}

// complete adds the current step to the log.
func (r *run) complete(response *llm.Response, calls []llm.ToolCall, plans []*plannedCall) *Step {
	s := Step{Index: r.step, Type: "initial", Text: response.Text(), FinishReason: response.FinishReason, Usage: response.Usage}
	if plans != nil {
		s.Results = r.exec.results
	}
	if !r.final() {
		s.Calls = calls
	}
	if s.Index > 0 {
		s.Type = "tool-result"
	}
	s.Reasoning, s.HasReasoning = response.Reasoning()
	if t := &r.transcript; t.sent < len(t.history) {
		s.Messages = t.history[t.sent:len(t.history):len(t.history)]
	}
	return r.log.add(s, plans, len(r.cfg.Middleware)+len(r.cfg.StopWhen) > 0)
}

// resume runs the calls that a resumed run begins with.
func (r *run) resume() (stop bool, err error) {
	r.emit(trace.NoStep, trace.Resumed{Of: r.in.Resume.Of})
	if r.ended(trace.NoStep) {
		return true, r.decideEnd(trace.NoStep)
	}
	r.step = trace.NoStep
	r.life.enter(phaseDeciding)
	s := &r.info
	*s = StepInfo{Step: trace.NoStep, Request: &r.transcript.base, run: r}
	next, plans, err := r.decideCalls(s, &llm.Response{}, conversation.Pending(r.transcript.history))
	if err != nil {
		return true, r.fail(trace.NoStep, err)
	}
	if plans == nil {
		return true, next.Err
	}
	if d := r.runCalls(s, plans); d.Action != "" {
		return true, d.Err
	}
	if r.stopForClient(plans) {
		return true, nil
	}
	r.life.enter(phaseIdle)
	return false, r.continueResumed()
}

// continueResumed appends the messages after the results of a resumed run.
func (r *run) continueResumed() error {
	t := &r.transcript
	for _, m := range r.in.Resume.Then {
		t.append(m)
	}
	t.ids.AddAll(r.in.Resume.Then)
	repairable, fatal := conversation.Check(t.history, false)
	if fatal != nil {
		return r.fail(trace.NoStep, historyError(fatal))
	}
	if repairable != nil {
		r.repairHistory()
	}
	return nil
}
