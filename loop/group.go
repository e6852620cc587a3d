package loop

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/workers"
	"github.com/looptape/looptape/trace"
)

// group runs calls concurrently, one step after another.
type group struct {
	exec         *executor
	wait, notify func()
	limit        int
	running      int // calls that have not returned or been abandoned
	begun        int // calls that the trace shows as running
	abandoned    int

	mu       sync.Mutex
	returned []*plannedCall // calls whose results are not recorded yet
	taken    []*plannedCall // memory of take
	watching bool
	expired  bool // the grace period is over
}

func (x *executor) newGroup() *group {
	if _, system := x.run.cfg.Clock.(SystemClock); system {
		x.pool = workers.NewPool(x.run.cfg.concurrency())
	}
	return &group{exec: x}
}

// run starts calls in their order, as the limit allows, and records results as the
// calls return.
func (g *group) run(calls []*plannedCall, limit int) {
	r := g.exec.run
	g.limit = limit
	if g.wait == nil {
		g.wait, g.notify = r.cfg.Clock.Signal()
	}
	stop := func() {}
	if r.cfg.Grace > 0 {
		stop = g.watch()
	}
	complete := false
	defer func() {
		if !complete { // the consumer panicked, or ended the goroutine
			r.life.cancel(ErrIterationStopped)
		}
		for g.running > 0 {
			g.wait()
			g.take()
			g.abandon(calls)
		}
		stop()
	}()
	waiting := g.start(calls)
	for g.running > 0 {
		g.wait()
		r.ended(r.step)
		for _, p := range g.take() {
			g.begun--
			g.exec.finish(p)
			waiting = g.start(waiting) // before the next result is recorded, so that no place stays free
		}
		g.abandon(calls)
	}
	for _, p := range waiting {
		g.exec.cancel(p)
	}
	complete = true
}

// start starts calls as the limit allows, and returns the others. A pool gets them together,
// which wakes its workers once.
func (g *group) start(calls []*plannedCall) (waiting []*plannedCall) {
	x, r := g.exec, g.exec.run
	if x.pool != nil {
		x.jobs = x.jobs[:0]
		defer func() { x.pool.Go(x.jobs...) }() // also if the consumer panics
	}
	for len(calls) > 0 && g.begun < g.limit && !r.ended(r.step) {
		p := calls[0]
		calls = calls[1:]
		if !x.begin(p) {
			x.turns.pass(p)
			continue
		}
		g.running++
		g.begun++
		if p.job == nil {
			p.job = func() { g.work(p) }
		}
		if x.pool == nil {
			r.cfg.Clock.Go(p.job)
		} else {
			x.jobs = append(x.jobs, p.job)
		}
	}
	return calls
}

// work runs one call on its own goroutine. The result of an abandoned call is dropped.
func (g *group) work(p *plannedCall) {
	if !p.is(callRunning) {
		g.exec.turns.pass(p)
		return
	}
	var outcome trace.Outcome
	var result llm.ToolResult
	var value any
	defer func() {
		if outcome == "" {
			outcome, result = p.exit()
		}
		g.mu.Lock()
		wake := len(g.returned) == 0 // otherwise the run is awake and takes this call, too
		if p.is(callRunning) {
			p.outcome, *p.result, p.value = outcome, result, value
			g.returned = append(g.returned, p)
		}
		g.mu.Unlock()
		if wake {
			g.notify()
		}
	}()
	outcome, result, value = g.exec.execute(p)
}

// take returns the calls that returned since the last take, in that order. The list is
// valid until the next take.
func (g *group) take() []*plannedCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.returned, g.taken = g.taken[:0], g.returned
	g.running -= len(g.taken)
	return g.taken
}

// watch waits for the end of the run's context, then for the grace period, and then wakes
// the group. stop waits until the watcher has ended.
func (g *group) watch() (stop func()) {
	r := g.exec.run
	life, endLife := context.WithCancel(r.life.ctx)
	grace, endGrace := context.WithCancel(context.WithoutCancel(r.life.ctx))
	g.watching = true
	r.cfg.Clock.Go(func() {
		_ = r.cfg.Clock.Sleep(life, math.MaxInt64)
		g.notify() // the context has ended
		err := r.cfg.Clock.Sleep(grace, r.cfg.Grace)
		g.mu.Lock()
		g.watching, g.expired = false, err == nil
		g.mu.Unlock()
		g.notify()
	})
	return func() {
		endGrace()
		endLife()
		for g.isWatching() {
			g.wait()
		}
	}
}

func (g *group) isWatching() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.watching
}

// abandon gives up the calls that are still running when the grace period is over. A tool
// that was not entered by then never is.
func (g *group) abandon(calls []*plannedCall) {
	late := g.late(calls)
	for _, p := range late {
		err := errNotEntered
		if p.entered.Swap(true) {
			err = errors.New("the tool did not stop after the run was cancelled, and was abandoned")
		}
		*p.result = p.resultOf(g.exec.errorOutput(p.Call.Name, err))
	}
	for _, p := range late {
		g.exec.finish(p)
	}
}

// late takes the calls to abandon, if the grace period is over.
func (g *group) late(calls []*plannedCall) (late []*plannedCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.expired {
		return nil
	}
	for _, p := range calls {
		if p.is(callRunning) && p.outcome == "" {
			p.set(callAbandoned)
			p.outcome = trace.OutcomeCanceled
			late = append(late, p)
		}
	}
	g.running -= len(late)
	g.abandoned += len(late)
	return late
}
