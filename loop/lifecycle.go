package loop

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/looptape/looptape/loop/internal/conversation"
	"github.com/looptape/looptape/trace"
)

// phase is what a run is doing. A run is in one phase at a time.
type phase int32

const (
	phaseIdle         phase = iota // between steps: Start and End
	phasePreparing                 // BeforeStep
	phaseCalling                   // WrapModel, and the model call within
	phaseDeciding                  // AfterModel and BeforeTools
	phaseRunningTools              // WrapTool, and the tools within
	phaseSettled                   // the results are in the history: OnStep and AfterStep
	phaseEnded
)

// operation is what the code of middleware asks a run for.
type operation uint8

const (
	opEvent     operation = 1 << iota // StepInfo.Emit and StepInfo.Warn
	opCallModel                       // StepInfo.CallModel
	opNext                            // the inner function of WrapModel
)

// allowed is the table of the operations that each phase allows.
var allowed = [...]operation{
	phaseIdle:         opEvent,
	phasePreparing:    opEvent | opCallModel,
	phaseCalling:      opEvent | opNext,
	phaseDeciding:     opEvent | opCallModel,
	phaseRunningTools: 0,
	phaseSettled:      opEvent | opCallModel,
	phaseEnded:        0,
}

// lifecycle is the state of a run as a whole: its phase, its contexts and its
// cancellation.
type lifecycle struct {
	phase     atomic.Int32
	recording recording
	ctx       context.Context
	cancel    context.CancelCauseFunc
	links     []contextLink
	stop      *atomic.Bool // Run.Stop was called
	// reported says that the trace has the end of the context.
	reported bool
}

// allows reports whether the phase of the run allows op. Any goroutine may call it.
func (l *lifecycle) allows(op operation) bool { return allowed[l.phase.Load()]&op != 0 }

// recording has whose turn it is to record events and to make model calls.
type recording struct {
	mu      sync.Mutex
	changed *sync.Cond // nil until something waits
	open    bool       // for code of the user: the run calls a hook
	use     operation  // what that code does, 0 for nothing: one operation at a time
}

// callOut calls code of the user, which may add events and make model calls until it returns.
func (l *lifecycle) callOut(f func()) {
	l.recording.setOpen(true)
	defer l.recording.setOpen(false)
	f()
}

func (c *recording) setOpen(open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.use != 0 { // by a goroutine that a hook left running
		c.wait()
	}
	c.open = open
}

// begin reports whether code of the user may do op now. If so, end follows.
func (l *lifecycle) begin(op operation) bool {
	c := &l.recording
	c.mu.Lock()
	defer c.mu.Unlock()
	for op != opEvent && c.use == opEvent { // of another goroutine
		c.wait()
	}
	if !c.open || c.use != 0 || !l.allows(op) {
		return false
	}
	c.use = op
	return true
}

func (c *recording) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.use = 0
	if c.changed != nil {
		c.changed.Broadcast()
	}
}

func (c *recording) wait() {
	if c.changed == nil {
		c.changed = sync.NewCond(&c.mu)
	}
	c.changed.Wait()
}

func (l *lifecycle) in(p phase) bool { return phase(l.phase.Load()) == p }

func (l *lifecycle) enter(p phase) { l.phase.Store(int32(p)) }

// contextLink ends a context that a Start hook returned when the context that the
// hook got has ended, also where the one is no child of the other.
type contextLink struct {
	parent context.Context
	cancel context.CancelCauseFunc
	unlink func() bool // false if the parent had ended
	done   chan struct{}
}

// link makes ctx the context of the run.
func (l *lifecycle) link(ctx context.Context) {
	c := contextLink{parent: l.ctx, done: make(chan struct{})}
	l.ctx, c.cancel = context.WithCancelCause(ctx)
	c.unlink = context.AfterFunc(c.parent, func() {
		defer close(c.done)
		c.cancel(context.Cause(c.parent))
	})
	l.links = append(l.links, c)
}

// release removes the links, so that nothing runs after the run.
func (l *lifecycle) release() {
	for _, c := range l.links {
		if !c.unlink() {
			<-c.done
		}
		c.cancel(nil)
	}
}

// over reports whether the context of the run has ended. Tools on other goroutines
// may call it. It does not wait for the goroutine of a link.
func (l *lifecycle) over() bool {
	for i := range l.links {
		if c := &l.links[i]; c.parent.Err() != nil {
			c.cancel(context.Cause(c.parent))
		}
	}
	return l.ctx.Err() != nil
}

// ended is over, and records the end of the context once.
func (r *run) ended(step int) bool {
	if !r.life.over() {
		return false
	}
	if !r.life.reported {
		r.life.reported = true
		r.emit(step, trace.Canceled{Reason: string(r.stopReason(context.Cause(r.life.ctx)))})
	}
	return true
}

// final reports whether the current step is the forced final answer.
func (r *run) final() bool { return r.step == r.finalStep }

// decideEnd records that the run stops between two steps because its context has
// ended.
func (r *run) decideEnd(step int) error {
	err := context.Cause(r.life.ctx)
	r.decide(step, Decision{Action: trace.Stop, Reason: r.stopReason(err)}, "", true)
	if r.cfg.DeadlineReturns && errors.Is(err, ErrDeadline) {
		return nil
	}
	return err
}

// stopRequested reports whether Run.Stop was called, and records the stop.
func (r *run) stopRequested() bool {
	if !r.life.stop.Load() {
		return false
	}
	r.decide(trace.NoStep, Decision{Action: trace.Stop, Reason: trace.ReasonStopped}, "", true)
	return true
}

// fail ends the run with an error: its decision, and the end of an open step.
func (r *run) fail(step int, err error) error {
	r.decide(step, Decision{Action: trace.Stop, Reason: r.stopReason(err)}, "", true)
	r.closeStep()
	return err
}

// end is the only place where a run ends.
func (r *run) end(err error) {
	r.life.enter(phaseIdle)
	if r.exec.abandoned() {
		r.life.enter(phaseRunningTools) // WrapTool hooks may still run around an abandoned tool
	}
	res, t := &r.res, &r.transcript
	res.Usage, res.Messages = r.caller.usage, t.added()
	if r.hadTools || !r.cfg.BreakWithoutTools {
		res.Steps = slices.Clip(r.log.steps)
	}
	if last := r.log.last(); last != nil {
		res.Text, res.FinishReason = last.Text, last.FinishReason
	}
	res.Pending = conversation.Pending(t.history)
	if res.StopReason == "" {
		res.StopReason = r.stopReason(err)
	}
	end := trace.RunEnd{
		StopReason: res.StopReason, FinishReason: res.FinishReason, Steps: r.begun, ModelCalls: res.ModelCalls, Usage: res.Usage,
		UsageBy: maps.Clone(res.UsageBy), AppendedMessages: t.history[t.shown:],
	}
	if t.unsent != nil {
		end.AppendedMessages = slices.Concat(t.unsent, end.AppendedMessages)
	}
	for _, c := range res.Pending {
		end.Pending = append(end.Pending, c.ID)
	}
	err = r.endHooks(res, err)
	if err == nil {
		err = r.rec.err
	}
	r.err = err
	if err != nil {
		e := describe(err)
		if e.Type == "error" && res.StopReason == trace.ReasonCancel {
			e.Type = "cancelled"
		}
		end.Error = &e
	}
	r.life.enter(phaseEnded)
	r.rec.write(trace.Event{Step: trace.NoStep, Body: end}, err)
}

// errUnwound is the error of a run whose goroutine was ended from within.
var errUnwound = errors.New("loop: the goroutine of the run was ended from within: " +
	"a tool, a hook, the model, OnStep or the consumer of the events called runtime.Goexit (as FailNow and Fatal of a test do) or panicked")

// unwind completes the trace of a run whose goroutine is ended from within. It is
// deferred, and does nothing if the run has ended.
func (r *run) unwind() {
	if r.life.in(phaseEnded) {
		return
	}
	r.err = errUnwound
	if r.rec.seq == 0 {
		r.declare()
	}
	r.caller.unwind()
	if r.openStep != trace.NoStep {
		r.exec.unwind()
	}
	r.end(r.fail(r.openStep, errUnwound))
}
