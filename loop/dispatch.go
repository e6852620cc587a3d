package loop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// dispatch runs the calls of a step, at most as many at once as the cap admits,
// and gives each its result. Calls start in their order. It returns when none
// is running any more.
func (r *run) dispatch(plans []*planned) {
	width := r.cfg.width()
	todo := r.todo[:0]
	for _, p := range plans {
		switch {
		case p.held:
		case p.Output != nil:
			r.skip(p)
		default:
			todo = append(todo, p)
		}
	}
	r.todo = todo
	if width < 0 || width > len(todo) {
		width = len(todo)
	}
	if width <= 1 && r.cfg.Grace == 0 {
		for _, p := range todo {
			if r.ended(r.step) {
				r.skipCancelled(p)
			} else if r.enter(p) {
				p.outcome, *p.result = r.execute1(r.ctx, p)
				r.emitEnd(p)
			}
		}
		return
	}
	if r.batch == nil {
		r.batch = r.newBatch()
	}
	r.batch.width = width
	if r.crew != nil && !r.recorded && r.cfg.Grace == 0 {
		r.batch.runUnseen(todo)
		return
	}
	r.batch.runAll(todo)
}

// enter records that a call's tool is entered, and with which arguments. It reports
// whether it may be: whoever looks on may end the run at either event.
func (r *run) enter(p *planned) bool {
	if p.Arguments != p.Call.Arguments {
		cause := p.Reason
		if cause == "" {
			cause = causeEdit
		}
		r.emit(r.step, trace.ToolArguments{ToolCallID: p.Call.ID, Arguments: p.Arguments, Reason: cause})
		if r.ended(r.step) {
			r.skipCancelled(p)
			return false
		}
	}
	p.ran = true
	if r.recorded {
		p.serving = r.serves.One()
		p.serving.call = trace.Parent{Run: r.in.ID, ToolCallID: p.Call.ID}
	}
	if r.rec.on() {
		r.emit(r.step, trace.ToolStart{ToolCallID: p.Call.ID, Name: p.Call.Name, Arguments: p.Arguments})
		if r.ended(r.step) {
			p.outcome, *p.result = trace.OutcomeCanceled, p.resultOf(failed(r.errorText(p.Call.Name, errNotEntered)))
			r.emitEnd(p)
			return false
		}
	}
	return true
}

// errNotEntered says that a call was begun when the run was cancelled, and its tool
// was not entered.
var errNotEntered = errors.New("not run: the run was cancelled before the tool was entered")

// emitEnd records that a call's tool has returned, or is not waited for.
func (r *run) emitEnd(p *planned) {
	if p.lost {
		p.lost = false // so it is recorded once, also if the consumer panics
		r.emit(r.step, trace.Abandoned{ToolCallID: p.Call.ID})
	}
	p.told = true
	if r.rec.on() {
		r.emit(r.step, trace.ToolEnd{ToolCallID: p.Call.ID, Outcome: p.outcome, Result: *p.result})
	}
}

func (r *run) skipCancelled(p *planned) {
	r.reject(p, trace.SkipCanceled, errors.New("not run: the run was cancelled"))
	r.skip(p)
}

// skip gives a call the answer that it has without being run.
func (r *run) skip(p *planned) {
	p.told = true
	p.settle(*p.Output)
	r.emit(r.step, trace.ToolSkip{ToolCallID: p.Call.ID, Name: p.Call.Name, Reason: p.Reason, Result: *p.result})
}

func (p *planned) settle(out Output) { *p.result = p.resultOf(out) }

func (p *planned) resultOf(out Output) llm.ToolResult {
	if slices.ContainsFunc(out.Content, isNil) {
		out.Content = slices.DeleteFunc(slices.Clone(out.Content), isNil)
	}
	if len(out.Content) == 0 {
		out.Content = []llm.Part{llm.Text{}}
	}
	return llm.ToolResult{ID: p.Call.ID, Name: p.Call.Name, Content: out.Content, IsError: out.IsError}
}

// execute1 runs one call within all wraps. It may be on another goroutine, and
// outlive the run if it is abandoned there: what it reads is the call's own or
// never changes.
func (r *run) execute1(ctx context.Context, p *planned) (outcome trace.Outcome, result llm.ToolResult) {
	defer func() { // an error whose own methods panic
		if recover() != nil {
			outcome, result = trace.OutcomePanic, p.resultOf(failed(r.errorText(p.Call.Name, errors.New("the tool failed, and its error panics"))))
		}
	}()
	call := Call{ID: p.Call.ID, Name: p.Call.Name, Arguments: p.Arguments, Step: p.step, Index: p.Index, planned: p}
	out, err := r.guarded(ctx, call)
	p.entered.Store(true) // a wrap may have kept what runs the tool
	switch _, panicked := errors.AsType[*PanicError](err); {
	case err == nil && !out.IsError:
		return trace.OutcomeOK, p.resultOf(out)
	case err == nil:
		return trace.OutcomeError, p.resultOf(out)
	default:
		out = failed(r.errorText(call.Name, err))
		outcome = trace.OutcomeError
		switch {
		case panicked:
			outcome = trace.OutcomePanic
		case errors.Is(err, ErrToolTimeout):
			outcome = trace.OutcomeTimeout
		case errors.Is(err, errNotEntered), r.ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(r.ctx))):
			outcome = trace.OutcomeCanceled
		}
		return outcome, p.resultOf(out)
	}
}

// failed is the output of a tool that failed.
func failed(text string) Output {
	return Output{Content: []llm.Part{llm.Text{Text: text}}, IsError: true}
}

func (r *run) guarded(ctx context.Context, call Call) (out Output, err error) {
	defer contain("the tool ", call.Name, &err)
	return r.exec(ctx, call)
}

// runTool is the tool itself, within all wraps. Whatever they did to the call, it
// is entered once, with the arguments that the trace shows, and not at all once
// the call has its result or the run was cancelled. (Where tools run at once, one
// that has come past this may be about to make its first step then.)
func (r *run) runTool(ctx context.Context, call Call) (Output, error) {
	p := call.planned
	if p == nil {
		return Output{}, fmt.Errorf("a policy made up a call of the tool %q", call.Name)
	}
	call.ID, call.Name, call.Arguments = p.Call.ID, p.Call.Name, p.Arguments
	if r.ctx.Err() != nil {
		return Output{}, errNotEntered
	}
	if p.entered.Swap(true) {
		return Output{}, fmt.Errorf("a policy ran the tool %q twice for one call, or after the call was over", call.Name)
	}
	if p.serving != nil {
		p.serving.Context = ctx
		ctx = p.serving
	}
	return p.tool.Run(ctx, call)
}

// ExitedText is the result of a tool that ended its goroutine (runtime.Goexit).
const ExitedText = "the tool ended its goroutine instead of returning"

// exited is what comes of a call whose goroutine was ended: its tool is not entered
// any more.
func (p *planned) exited() (trace.Outcome, llm.ToolResult) {
	p.entered.Store(true)
	return trace.OutcomePanic, p.resultOf(failed(ExitedText))
}

// batch runs calls at the same time. It serves one step after another.
type batch struct {
	run     *run
	spawn   func(f func())
	width   int
	running int // tools that have not been taken or abandoned
	busy    int // tools of which no end is recorded: so many places are taken

	jobs []func()       // of the calls of runUnseen,
	left sync.WaitGroup // and those of them that have not ended

	mu       sync.Mutex
	done     []*planned // what has ended and is not recorded yet
	taken    []*planned // what take returned, whose room is used again
	watching bool
	over     bool // the grace period is over
}

func (r *run) newBatch() *batch {
	b := &batch{run: r, spawn: r.cfg.Clock.Go}
	if _, system := r.cfg.Clock.(SystemClock); system {
		r.crew = newCrew(r.cfg.width())
		b.spawn = func(f func()) { r.crew.Go(f) }
	}
	return b
}

// dismiss ends the goroutines that tools ran on.
func (r *run) dismiss() {
	if r.crew != nil {
		r.crew.dismiss()
	}
}

// runAll starts calls in their order as places become free, and records them as
// they end.
func (b *batch) runAll(todo []*planned) {
	r := b.run
	if r.wait == nil {
		r.wait, r.notify = r.cfg.Clock.Signal()
	}
	stop := func() {}
	if r.cfg.Grace > 0 {
		stop = b.watch()
	}
	all, returned := todo, false
	defer func() {
		if !returned { // the consumer panicked, or ended the goroutine
			r.cancel(ErrIterationStopped)
		}
		for b.running > 0 {
			r.wait()
			b.take()
			b.abandon(all)
		}
		stop()
	}()
	todo = b.start(todo)
	for b.running > 0 {
		r.wait()
		r.ended(r.step)
		for _, p := range b.take() {
			b.busy--
			r.emitEnd(p)
			todo = b.start(todo) // before the next end is recorded: no place stays free
		}
		b.abandon(all)
	}
	for _, p := range todo {
		r.skipCancelled(p)
	}
	returned = true
}

// start starts calls while there are places, and returns those that wait.
func (b *batch) start(todo []*planned) []*planned {
	r := b.run
	for len(todo) > 0 && b.busy < b.width && !r.ended(r.step) {
		p := todo[0]
		todo = todo[1:]
		if !r.enter(p) {
			continue
		}
		p.running = true
		b.running++
		b.busy++
		if p.job == nil {
			p.job = func() { b.work(p) }
		}
		b.spawn(p.job)
	}
	return todo
}

// work runs one call on its own goroutine and hands in what came of it.
func (b *batch) work(p *planned) {
	if b.gaveUp(p) {
		return
	}
	var outcome trace.Outcome
	var result llm.ToolResult
	defer func() {
		if outcome == "" {
			outcome, result = p.exited()
		}
		b.mu.Lock()
		wake := len(b.done) == 0 // else the run has been woken and will see this one, too
		if !p.abandoned {
			p.outcome, *p.result = outcome, result
			b.done = append(b.done, p)
		}
		b.mu.Unlock()
		if wake {
			b.run.notify()
		}
	}()
	outcome, result = b.run.execute1(b.run.ctx, p)
}

// take returns what has ended since the last time, in that order; it is good
// until the next time.
func (b *batch) take() []*planned {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.taken = b.taken[:0], b.done
	b.running -= len(b.taken)
	return b.taken
}

// watch waits for the end of the run's context, then for the grace period, and
// then wakes the batch. Stopping it waits until it is gone.
func (b *batch) watch() (stop func()) {
	r := b.run
	told, untold := context.WithCancel(r.ctx)
	grace, ungrace := context.WithCancel(context.WithoutCancel(r.ctx))
	b.watching = true
	r.cfg.Clock.Go(func() {
		_ = r.cfg.Clock.Sleep(told, forever)
		r.notify() // that the context has ended
		err := r.cfg.Clock.Sleep(grace, r.cfg.Grace)
		b.mu.Lock()
		b.watching, b.over = false, err == nil
		b.mu.Unlock()
		r.notify()
	})
	return func() {
		ungrace()
		untold()
		for b.isWatching() {
			r.wait()
		}
	}
}

func (b *batch) isWatching() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.watching
}

// forever is longer than any run.
const forever = time.Duration(math.MaxInt64)

// gaveUp reports whether a call was abandoned.
func (b *batch) gaveUp(p *planned) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.abandoned
}

// abandon gives up the calls that are still running when the grace period is
// over. What they return later is forgotten, and a tool that has not been entered
// by then never is.
func (b *batch) abandon(todo []*planned) {
	late := b.late(todo)
	for _, p := range late {
		err := errNotEntered
		if p.entered.Swap(true) {
			err = errors.New("the tool did not stop after the run was cancelled, and was abandoned")
		}
		*p.result = p.resultOf(failed(b.run.errorText(p.Call.Name, err)))
	}
	for _, p := range late {
		b.run.emitEnd(p)
	}
}

// late takes the calls that are to be abandoned, if the grace period is over.
func (b *batch) late(todo []*planned) (late []*planned) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		return nil
	}
	for _, p := range todo {
		if p.running && p.outcome == "" {
			p.abandoned, p.lost, p.outcome = true, true, trace.OutcomeCanceled
			b.run.lost = true
			late = append(late, p)
		}
	}
	b.running -= len(late)
	return late
}
