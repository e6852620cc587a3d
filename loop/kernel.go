package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/looptape/looptape/internal/slab"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// run is one run in progress. All of it belongs to the goroutine that runs it;
// tools on other goroutines see the context and their own call.
type run struct {
	agent *Agent
	cfg   *Config
	in    Input
	rec   *recorder
	stop  *atomic.Bool // set to stop after the step
	// recorded says that somebody looked when the run began.
	recorded bool

	ctx    context.Context
	cancel context.CancelCauseFunc
	bonds  []bond
	hooks  chain
	tools  *toolSet
	defs   []llm.Tool
	tooled bool      // there were tools, or a request offered some
	call   ModelFunc // the model call within its wraps
	gate   gate      // for what is within
	exec   ToolFunc  // a tool within its wraps

	acc    llm.Accumulator
	answer answer
	take   func(llm.Event, error) bool

	// What the steps keep.
	kept    slab.Slab[Step]
	reqs    slab.Slab[llm.Request]
	parts   slab.Slab[llm.Part]
	calls   slab.Slab[llm.ToolCall]
	results slab.Slab[llm.ToolResult]
	marks   slab.Slab[mark]
	serves  slab.Slab[serving]

	ids     idSet
	history []llm.Message
	fresh   []llm.Message // what the run added, once a rewrite has parted it from history
	split   bool          // fresh is in use
	request llm.Request   // of each step, but for its messages
	sent    int           // how much of history there was when the step began
	shown   int           // how much of it the last request had
	unsent  []llm.Message // what came after that request, and then gave way to a rewrite
	step    int
	steps   []*Step
	lent    []*Step // the same as policies and conditions have them in hand
	usage   llm.Usage
	place   llm.Response   // the turn of the last model call, unless a wrap may keep one
	turn    *llm.Response  // the step's answer, until the history has it
	given   *llm.Response  // the same as policies have it in hand
	tries   []try          // of the step's model calls
	strayed *[]llm.Message // what the last request held, if it was not the history
	strayAt int            // the step of that request
	asked   *ModelCall     // the model call under way
	at      *StepInfo      // the step whose calls are open
	open    []*planned     // calls whose results are not in the history
	shut    atomic.Bool    // policies may not add events
	lost    bool           // a call was abandoned: a policy's code may still run around its tool
	forced  bool           // the next step is the forced last answer
	seen    bool           // the end of the context was recorded
	inStep  bool
	// preparing says that hooks are asked about a step that may not have begun.
	preparing bool
	contd     int // turns that were continued
	begun     int // steps that were begun
	res       Result
	err       error
	finished  bool

	wait, notify func()
	info         StepInfo // see frame
	plans, todo  []*planned
	batch        *batch
	crew         *crew // nil until calls run at once, and on any clock but the system's
}

// execute is a whole run.
func (r *run) execute(ctx context.Context) {
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	defer r.dismiss()
	defer r.release()
	defer r.unwind() // again, if the consumer does not come back from the other
	defer r.unwind()
	err := r.start()
	if err == nil {
		err = r.loop()
	}
	r.end(err)
}

// start makes the hooks, tells the trace what the loop promises, and checks what
// it was given.
func (r *run) start() error {
	var err error
	r.tools, r.defs = &r.agent.tools, r.agent.defs
	info := r.agent.info
	r.hooks, err = r.cfg.hooks(RunInfo{ID: r.rec.name, Input: r.in, Clock: r.cfg.Clock, Rand: r.cfg.Rand})
	if err == nil && len(r.hooks.tools) > 0 {
		var set toolSet
		if set, err = newToolSet(append(r.cfg.Tools[:len(r.cfg.Tools):len(r.cfg.Tools)], r.hooks.tools...)); err == nil {
			r.tools, r.defs, info = &set, set.definitions(), set.info()
		}
	}
	r.tooled = len(r.tools.list) > 0
	r.begin(info)
	var odd *HistoryError
	if err == nil {
		odd, err = checkHistory(r.in.Messages, r.in.Resume != nil)
	}
	if err != nil {
		return r.fail(trace.NoStep, err)
	}
	r.begins(odd)
	r.request = llm.Request{
		Model: r.cfg.Model, System: r.cfg.System, Tools: r.defs, ToolChoice: r.cfg.ToolChoice,
		ResponseMode: r.cfg.ResponseMode, Settings: r.cfg.Settings,
	}
	if r.in.ToolChoice != nil {
		r.request.ToolChoice = *r.in.ToolChoice
	}
	r.acc.NewID = r.ids.mint
	r.call, r.exec = r.callModel, r.runTool
	for i := len(r.hooks.wrapModel) - 1; i >= 0; i-- {
		r.call = r.hooks.wrapModel[i](r.call)
	}
	for i := len(r.hooks.wrapTool) - 1; i >= 0; i-- {
		r.exec = r.hooks.wrapTool[i](r.exec)
	}
	return r.startHooks()
}

// begin tells the trace what the run promises.
func (r *run) begin(tools []trace.ToolInfo) {
	opts := r.agent.opts
	if r.in.ToolChoice != nil {
		opts = opts.With("tool_choice", r.in.ToolChoice.String())
	}
	r.emit(trace.NoStep, trace.RunStart{Parent: r.in.Parent, Clock: clockName(r.cfg.Clock), Options: opts, Tools: tools})
}

// loop is the kernel: prepare the step, call the model, decide by its calls, run
// them, append the results, decide whether to go on.
func (r *run) loop() error {
	if stop, err := r.resume(); stop || err != nil {
		return err
	}
	for n := 0; ; n++ {
		s, stop, err := r.prepare(n)
		if stop || err != nil {
			return err
		}
		turn, err := r.ask(s)
		if err != nil {
			return r.fail(n, err)
		}
		calls := r.callsOf(turn)
		if r.cfg.AppendResponse == AppendBefore {
			r.appendTurn(turn)
		}
		next, by, err := r.askAfter(s, turn, calls)
		if r.cfg.AppendResponse == AppendAfter {
			r.appendTurn(turn)
		}
		var plans []*planned
		if err == nil && next.Action != trace.Stop {
			next, plans, err = r.judge(s, turn, calls, next, by)
		}
		if err == nil {
			r.runCalls(s, plans)
			stop, err = r.settle(s, turn, calls, plans, next)
		}
		if err != nil {
			return r.fail(n, err)
		}
		r.closeStep(n)
		if stop {
			return r.err
		}
	}
}

// askAfter asks the policies about a turn. The decision is a stop, or that of the
// first that has more to say behind a turn without calls.
func (r *run) askAfter(s *StepInfo, turn *llm.Response, calls []llm.ToolCall) (more Decision, by string, err error) {
	for _, h := range r.hooks.afterModel {
		d, err := callHook(h.policy, func() (Decision, error) { return h.f(r.ctx, s, r.copyFor(turn, h.builtin)) })
		switch {
		case err != nil:
			return d, "", err
		case d.Action == trace.Stop:
			r.decide(r.step, d, h.policy, h.builtin)
			return d, "", nil
		case d.Action == trace.Continue && len(calls) == 0 && more.Action == "":
			more, by = d, h.policy
		}
	}
	return more, by, nil
}

// judge decides what follows from a turn: from its calls, never from its finish
// reason. With ContinueOnUnknown and calls, plans are the calls, checked. A policy may have more
// to say behind a turn without calls.
func (r *run) judge(s *StepInfo, turn *llm.Response, calls []llm.ToolCall, more Decision, by string) (d Decision, plans []*planned, err error) {
	decided := func(d Decision) (Decision, []*planned, error) {
		r.decide(r.step, d, "", true)
		return d, nil, nil
	}
	switch {
	case r.forced:
		return decided(Decision{Action: trace.End, Reason: trace.ReasonForced})
	case len(calls) == 0:
		return r.natural(turn, more, by)
	case r.cfg.NoTools == NoToolsBreak && len(r.tools.list) == 0 && len(s.Request.Tools) == 0:
		return decided(Decision{Action: trace.Stop, Reason: trace.ReasonClientTools})
	}
	return r.launch(s, turn, calls)
}

// launch decides whether the calls of a turn are run. With ContinueOnUnknown, plans are the calls,
// checked.
func (r *run) launch(s *StepInfo, turn *llm.Response, calls []llm.ToolCall) (d Decision, plans []*planned, err error) {
	plans = r.plan(s, turn, calls)
	wait := func() (Decision, []*planned, error) {
		d := Decision{Action: trace.Stop, Reason: trace.ReasonClientTools}
		r.decide(r.step, d, "", true)
		return d, nil, nil
	}
	if r.cfg.ClientCalls == ClientBreak && r.hold(plans) > 0 { // so nobody is asked about the others
		return wait()
	}
	if d, err := r.askBatch(s, plans); err != nil || d.Action == trace.Stop || d.Action == trace.Suspend {
		return d, nil, err
	}
	if held := r.hold(plans); held == len(plans) || held > 0 && r.cfg.ClientCalls == ClientBreak {
		return wait()
	}
	d = Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls}
	if r.rec.on() {
		r.emit(r.step, trace.Decision{Action: d.Action, Reason: d.Reason, ToolCalls: len(calls)})
	}
	return d, plans, nil
}

// hold finds the calls that the caller answers.
func (r *run) hold(plans []*planned) (held int) {
	for _, p := range plans {
		p.held = p.Output == nil && p.tool.Run == nil || p.Reason == trace.SkipUnknownTool && r.cfg.UnknownTool == UnknownBreak
		if p.held {
			held++
		}
	}
	return held
}

// natural is what follows a turn without calls: the end, unless the provider
// paused the turn or a policy has more to say, and the cap admits it.
func (r *run) natural(turn *llm.Response, more Decision, by string) (Decision, []*planned, error) {
	d := Decision{Action: trace.End, Reason: trace.ReasonEndTurn}
	own := true
	switch {
	case more.Action == trace.Continue:
		d, own = more, false
		if d.Reason == "" {
			d.Reason = trace.ReasonEndHook
		}
	case turn.FinishReason == llm.FinishPause && r.contd < r.cfg.Continuations:
		r.contd++
		d = Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse}
	case turn.FinishReason == llm.FinishPause:
		d = Decision{Action: trace.Stop, Reason: trace.ReasonContinuedResponse, Note: fmt.Sprintf("continued %d times", r.contd)}
	}
	if d.Action == trace.Continue && r.step+1 >= r.cfg.MaxSteps {
		messages := d.Messages
		d, own = capDecision(r.cfg.MaxSteps, r.cfg.OnStepLimit), true
		if d.Action == trace.ForceFinal {
			d.Messages = messages
		}
	}
	r.decide(r.step, d, by, own)
	return d, nil, nil
}

// settle ends a step: results into the history, the step's record, and, if calls
// were answered, the guard, the cap, the stop conditions and the policies.
func (r *run) settle(s *StepInfo, turn *llm.Response, calls []llm.ToolCall, plans []*planned, next Decision) (stop bool, err error) {
	results := r.appendResults(s, plans)
	for _, m := range next.Messages {
		r.append(m)
	}
	s.Step = r.step // whatever policies did to it
	step := r.complete(s, turn, calls, results, plans)
	if err := r.onStep(step); err != nil {
		return true, err
	}
	if plans == nil {
		r.forced, r.err = next.Action == trace.ForceFinal, next.Err
		return !r.forced && next.Action != trace.Continue, nil
	}
	if slices.ContainsFunc(plans, func(p *planned) bool { return p.held }) {
		r.decide(r.step, Decision{Action: trace.Stop, Reason: trace.ReasonClientTools}, "", true)
		return true, nil
	}
	if r.ended(r.step) {
		r.err = r.decideEnd(r.step)
		return true, nil
	}
	s.Usage, s.Steps = r.usage, r.inHand()
	step = s.Steps[len(s.Steps)-1]
	for _, h := range r.hooks.after {
		d, err := callHook(h.policy, func() (Decision, error) { return h.f(r.ctx, s, step) })
		if err != nil {
			return true, err
		}
		if d.Action == trace.Stop || d.Action == trace.ForceFinal {
			r.decide(r.step, d, h.policy, h.builtin)
			r.forced, r.err = d.Action == trace.ForceFinal, d.Err
			return !r.forced, nil
		}
	}
	return false, nil
}

// fail ends the run with an error: its decision, and the step's end if one is
// open.
func (r *run) fail(step int, err error) error {
	d := Decision{Action: trace.Stop, Reason: r.stopCause(err)}
	r.decide(step, d, "", true)
	r.closeStep(step)
	return err
}

// end is the one place where a run ends.
func (r *run) end(err error) {
	res := &r.res
	res.Usage, res.Messages = r.usage, r.added()
	if r.tooled || r.cfg.NoTools == NoToolsError {
		res.Steps = r.steps
	}
	if n := len(r.steps); n > 0 {
		res.Text, res.FinishReason = r.steps[n-1].Text, r.steps[n-1].FinishReason
	}
	res.Pending = pendingOf(r.history)
	if res.StopReason == "" {
		res.StopReason = r.stopCause(err)
	}
	end := trace.RunEnd{
		StopReason: res.StopReason, FinishReason: res.FinishReason, Steps: r.begun, ModelCalls: res.ModelCalls, Usage: res.Usage,
		UsageBy: maps.Clone(res.UsageBy), AppendedMessages: r.history[r.shown:],
	}
	if r.unsent != nil {
		end.AppendedMessages = slices.Concat(r.unsent, end.AppendedMessages)
	}
	for _, c := range res.Pending {
		end.Pending = append(end.Pending, c.ID)
	}
	hooks := r.hooks.end
	r.hooks.end = nil // each is called once, whatever it does
	for _, h := range hooks {
		_, herr := callHook(h.policy, func() (Decision, error) { return Decision{}, h.f(r.ctx, res) })
		err = errors.Join(err, herr)
	}
	if err == nil {
		err = r.rec.err
	}
	r.err, r.finished = err, true
	if err != nil {
		e := describe(err)
		if e.Type == "error" && res.StopReason == trace.ReasonCancel {
			e.Type = "cancelled"
		}
		end.Error = &e
	}
	r.shut.Store(true)
	r.rec.write(trace.Event{Step: trace.NoStep, Body: end}, err)
}
