package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/looptape/looptape/internal/slab"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/arguments"
	"github.com/looptape/looptape/loop/internal/conversation"
	"github.com/looptape/looptape/loop/internal/workers"
	"github.com/looptape/looptape/trace"
)

// executor runs the calls of a step and gives each its result, in call order.
type executor struct {
	run     *run
	tool    ToolFunc         // runs a tool within the WrapTool hooks
	plans   []*plannedCall   // memory of the calls
	queue   []*plannedCall   // calls to run
	open    []*plannedCall   // calls whose results are not in the history
	results []llm.ToolResult // of the step
	turns   turns            // of the calls that run
	group   *group           // nil until calls run concurrently
	pool    *workers.Pool    // nil until then, and with any clock but SystemClock

	jobs    []func()       // memory of the calls that the pool gets
	running sync.WaitGroup // those that have not ended

	resultMemory  slab.Slab[llm.ToolResult]
	contentMemory slab.Slab[llm.Part]
	contextMemory slab.Slab[toolContext]
}

// runAll runs calls of a step up to the concurrency limit, in their order. It returns
// when each has its result and none is running, except abandoned ones.
func (x *executor) runAll(plans []*plannedCall) {
	r := x.run
	r.life.enter(phaseRunningTools)
	defer func() {
		if !x.abandoned() { // otherwise WrapTool hooks may still run
			r.life.enter(phaseSettled)
		}
	}()
	x.turns.begin(plans)
	x.queue = x.queue[:0]
	for _, p := range plans {
		if p.is(callAnswered) {
			x.finish(p)
		} else if p.is(callPlanned) {
			x.queue = append(x.queue, p)
		}
	}
	limit := r.cfg.concurrency()
	if limit < 0 || limit > len(x.queue) {
		limit = len(x.queue)
	}
	if limit <= 1 && r.cfg.Grace == 0 {
		for _, p := range x.queue {
			if r.ended(r.step) {
				x.cancel(p)
			} else if x.begin(p) {
				p.outcome, *p.result, p.value = x.execute(p)
				x.finish(p)
			}
		}
		return
	}
	if x.group == nil {
		x.group = x.newGroup()
	}
	if x.pool != nil && !r.rec.observed && r.cfg.Grace == 0 {
		x.runUnobserved()
		return
	}
	x.group.run(x.queue, limit)
}

// begin records that a call begins, and with which arguments. It reports whether the
// call may begin: the consumer of the events may end the run at either event.
func (x *executor) begin(p *plannedCall) bool {
	r := x.run
	if p.Arguments != p.Call.Arguments {
		reason := p.Reason
		if reason == "" {
			reason = reasonEdit
		}
		r.emit(r.step, trace.ToolArguments{ToolCallID: p.Call.ID, Arguments: p.Arguments, Reason: reason})
		if r.ended(r.step) {
			x.cancel(p)
			return false
		}
	}
	p.set(callRunning)
	if r.rec.observed {
		p.context = x.contextMemory.One()
		p.context.call = trace.Parent{Run: r.in.ID, ToolCallID: p.Call.ID}
	}
	if !r.rec.on() {
		return true
	}
	r.emit(r.step, trace.ToolStart{ToolCallID: p.Call.ID, Name: p.Call.Name, Arguments: p.Arguments})
	if !r.ended(r.step) {
		return true
	}
	p.outcome, *p.result = trace.OutcomeCanceled, p.resultOf(x.errorOutput(p.Call.Name, errNotEntered))
	x.finish(p)
	return false
}

// errNotEntered is the result of a call that began when the run was canceled.
var errNotEntered = errors.New("not run: the run was cancelled before the tool was entered")

// cancel answers a call that did not begin before the run was canceled.
func (x *executor) cancel(p *plannedCall) {
	x.refuse(p, trace.SkipCanceled, errors.New("not run: the run was cancelled"))
	p.set(callAnswered)
	x.finish(p)
}

// leave ends calls that a hook has kept from running: they are pending if the run is
// suspended, otherwise each gets an error result.
func (x *executor) leave(plans []*plannedCall, action trace.Action) {
	for _, p := range plans {
		if action == trace.Suspend {
			p.set(callClientSide)
		} else if !p.is(callClientSide) {
			x.cancel(p)
		}
	}
}

// finish ends a call and records its result. Each call that is not client-side ends here,
// once.
func (x *executor) finish(p *plannedCall) {
	r, was := x.run, callState(p.state.Load())
	p.set(callDone)
	switch was {
	case callAnswered:
		*p.result, p.value = p.resultOf(*p.Output), p.Output.value()
		x.keep(p)
		r.emit(r.step, trace.ToolSkip{ToolCallID: p.Call.ID, Name: p.Call.Name, Reason: p.Reason, Result: *p.result})
		return
	case callAbandoned:
		defer x.emitEnd(p) // also if the consumer panics at the event before it
		r.emit(r.step, trace.Abandoned{ToolCallID: p.Call.ID})
		return
	case callPlanned, callClientSide, callRunning, callDone:
	}
	x.emitEnd(p)
}

func (x *executor) emitEnd(p *plannedCall) {
	x.keep(p)
	if r := x.run; r.rec.on() {
		if args := p.edited.Load(); args != nil {
			r.emit(r.step, trace.ToolArguments{ToolCallID: p.Call.ID, Arguments: *args, Reason: reasonEdit})
		}
		r.emit(r.step, trace.ToolEnd{ToolCallID: p.Call.ID, Outcome: p.outcome, Result: *p.result})
	}
}

// keep keeps the value of a result for consumers of the events.
func (x *executor) keep(p *plannedCall) {
	if r := x.run; p.value != nil && r.rec.observed {
		*r.log.values = append(*r.log.values, toolValue{p.Call.ID, p.value})
	}
}

// value returns the Value of an output that is no error.
func (out *Output) value() any {
	if out.IsError {
		return nil
	}
	return out.Value
}

func (p *plannedCall) resultOf(out Output) llm.ToolResult { return p.resultIn(nil, out) }

// resultIn returns the result, whose content is in memory if its length is right. The tool may use its own content again.
func (p *plannedCall) resultIn(memory []llm.Part, out Output) llm.ToolResult {
	content := memory
	if len(out.Content) != len(memory) || slices.ContainsFunc(out.Content, conversation.IsNil) {
		content = slices.Clip(slices.DeleteFunc(slices.Clone(out.Content), conversation.IsNil))
	} else {
		copy(content, out.Content)
	}
	if len(content) == 0 {
		content = []llm.Part{llm.Text{}}
	}
	return llm.ToolResult{ID: p.Call.ID, Name: p.Call.Name, Content: content, IsError: out.IsError}
}

// execute runs one call within all WrapTool hooks. It may be on another goroutine, and
// outlive the run there if the call is abandoned: it reads only the call and what never
// changes.
func (x *executor) execute(p *plannedCall) (outcome trace.Outcome, result llm.ToolResult, value any) {
	defer x.turns.pass(p)
	defer func() { // the methods of an error may panic
		if recover() != nil {
			outcome, result, value = trace.OutcomePanic, p.resultOf(x.errorOutput(p.Call.Name, errors.New("the tool failed, and its error panics"))), nil
		}
	}()
	ctx := x.run.life.ctx
	call := Call{ID: p.Call.ID, Name: p.Call.Name, Arguments: p.Arguments, Step: p.step, Index: p.Index, planned: p}
	if p.context != nil {
		call.Trace = p.context.call
	}
	out, err := x.contained(ctx, call)
	ran := p.entered.Swap(true) // a hook may have kept its inner function
	if err != nil {
		out = x.errorOutput(p.Call.Name, err)
	}
	_, panicked := errors.AsType[*PanicError](err)
	switch {
	case err == nil && !ran:
		outcome = trace.OutcomeNotRun
	case err == nil && !out.IsError:
		outcome = trace.OutcomeOK
	case err == nil:
		outcome = trace.OutcomeError
	case panicked:
		outcome = trace.OutcomePanic
	case errors.Is(err, ErrToolTimeout):
		outcome = trace.OutcomeTimeout
	case errors.Is(err, errNotEntered), ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		outcome = trace.OutcomeCanceled
	default:
		outcome = trace.OutcomeError
	}
	return outcome, p.resultIn(p.content, out), out.value() // the result of an abandoned call is in other memory
}

func (x *executor) contained(ctx context.Context, call Call) (out Output, err error) {
	defer contain("the tool ", call.Name, &err)
	return x.tool(ctx, call)
}

// enter is the inner function of the WrapTool hooks. Whatever they did to the call, its
// tool is entered once, with the arguments of the trace, and not after the call has its
// result or the run was canceled. Arguments that they changed are checked first.
func (x *executor) enter(ctx context.Context, call Call) (Output, error) {
	p := call.planned
	if p == nil {
		return Output{}, fmt.Errorf("middleware made up a call of the tool %q", call.Name)
	}
	call.ID, call.Name = p.Call.ID, p.Call.Name
	if x.run.life.ctx.Err() != nil {
		return Output{}, errNotEntered
	}
	if p.entered.Swap(true) {
		return Output{}, fmt.Errorf("middleware ran the tool %q twice for one call, or after the call had its result", call.Name)
	}
	if call.Arguments != p.Arguments {
		args, err := x.edit(p, call.Arguments)
		if err != nil {
			return Output{}, err
		}
		p.edited.Store(&args)
		call.Arguments = args
	}
	if p.context != nil {
		p.context.Context = ctx
		ctx = p.context
	}
	return p.tool.Run(ctx, call)
}

// edit returns the arguments that a WrapTool hook gave a call, with the defaults of the schema, or
// the reason why the tool does not accept them.
func (x *executor) edit(p *plannedCall, args string) (string, error) {
	if err := arguments.CheckObject(args); err != nil {
		return "", fmt.Errorf("%w; the call was not run", err)
	}
	if p.tool.schema.Accepts(args) {
		return args, nil
	}
	prepared, changed, err := p.tool.schema.Prepare(args)
	switch {
	case err != nil && x.run.cfg.BadArguments != BadArgumentsPass:
		return "", err
	case changed:
		return prepared, nil
	}
	return args, nil
}

// exit gives a call whose goroutine was ended its result.
func (p *plannedCall) exit() (trace.Outcome, llm.ToolResult) {
	p.entered.Store(true)
	return trace.OutcomePanic, p.resultOf(Output{Content: []llm.Part{llm.Text{Text: ExitedText}}, IsError: true})
}

// unwind gives each call of the step that has no result one.
func (x *executor) unwind() {
	if x.open == nil {
		return
	}
	for _, p := range x.open {
		switch callState(p.state.Load()) {
		case callDone, callClientSide:
			continue
		case callPlanned:
			x.cancel(p)
			continue
		case callRunning:
			if p.outcome == "" && p.entered.Load() {
				p.outcome, *p.result = p.exit()
			} else if p.outcome == "" {
				p.entered.Store(true)
				p.outcome, *p.result = trace.OutcomeCanceled, p.resultOf(Output{Content: []llm.Part{llm.Text{Text: "not run: the run was ended"}}, IsError: true})
			}
		case callAnswered, callAbandoned:
		}
		x.finish(p)
	}
	x.run.appendResults(x.open)
}

// abandoned reports whether calls were abandoned.
func (x *executor) abandoned() bool { return x.group != nil && x.group.abandoned > 0 }

// close ends the goroutines that tools ran on.
func (x *executor) close() {
	if x.pool != nil {
		x.pool.Close()
	}
}

// runUnobserved runs calls concurrently if nothing is to be done before the last one has
// ended: no consumer, no sink, and no grace period. The run then wakes up once.
func (x *executor) runUnobserved() {
	x.jobs = x.jobs[:0]
	for _, p := range x.queue {
		if p.job == nil {
			p.job = func() {
				defer x.running.Done()
				if x.run.life.over() {
					x.turns.pass(p)
					return
				}
				p.set(callRunning)
				p.outcome, *p.result, p.value = x.execute(p)
			}
		}
		x.jobs = append(x.jobs, p.job)
	}
	x.running.Add(len(x.queue))
	x.pool.Go(x.jobs...)
	x.running.Wait()
	for _, p := range x.queue {
		switch {
		case p.is(callPlanned):
			x.cancel(p)
			continue
		case p.outcome == "":
			p.outcome, *p.result = p.exit()
		}
		x.finish(p)
	}
}
