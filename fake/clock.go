package fake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// epoch is the start of a Clock without a Start.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock is a virtual clock and the scheduler of its tasks. Exactly one task runs at a
// time. The goroutine that uses the clock first is the main task; Go starts other tasks.
// The running task yields when it waits (Sleep, Until, WaitGate, a signal, Drain) or returns.
// The clock selects the next task by these rules:
//
//  1. Tasks whose context has ended stop waiting, in the order in which they began to
//     wait.
//  2. Of the ready tasks, the one that has been ready longest runs.
//  3. If no task is ready, the first gate of OpenInOrder that a task waits for opens.
//  4. If no gate opens, time advances to the earliest timer, and the timer fires. Timers
//     of the same time fire in the order in which they were set.
//  5. If no timer is set, the clock has a deadlock. Each task that waits for a gate or in
//     Until gets a [*DeadlockError]; if no task does, the main task gets it.
//
// So the order depends only on what the tasks do, not on the number of processors or on
// their speed.
//
// A task that blocks on a channel, a lock or real time does not yield, and no other task
// runs until it continues. Only the running task may use the clock. A cancel function may
// be called from any goroutine.
//
// The zero value is ready to use. Set the exported fields before the first use.
type Clock struct {
	// Start is the time at which the clock starts; zero means 2000-01-01T00:00:00Z.
	Start time.Time
	// Seed, if not 0, seeds a random choice among the ready tasks in rule 2.
	Seed uint64

	mu sync.Mutex
	clockState
}

// clockState is what the lock of a clock guards.
type clockState struct {
	elapsed time.Duration
	main    *task
	current *task
	live    int     // the number of tasks from Go that have not ended
	ready   []*task // in the order in which they became ready
	waiting []*task // in the order in which they began to wait
	timers  []*timer
	gates   map[string]*gate
	order   []string
	random  *rand.Rand
	started int // tasks from Go

	chooser  Chooser        // of an explored run; see World
	pool     *pool          // of the explored runs
	end      func(error)    // ends the context of the explored run, once
	deadlock *DeadlockError // the first one, apart from that of Drain
	held     []*task        // goroutines that start only after the cancel
	pending  []*task        // memory of the tasks that wait for an answer
	names    []string       // memory of the options of a choice
	passed   int            // how often time has passed in the explored run
}

// NewClock returns a clock at its start.
func NewClock() *Clock { return &Clock{} }

// Now returns the virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	start := c.Start
	if start.IsZero() {
		start = epoch
	}
	return start.Add(c.elapsed)
}

// Sleep waits for d of virtual time. It returns the context's cause if ctx ends before.
// It returns immediately if ctx has ended or d is not above 0.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	c.mu.Lock()
	t := c.currentTask()
	tm := c.addTimer(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wake(t, nil)
	})
	return c.wait(waitState{description: fmt.Sprintf("sleep of %v", d), ctx: ctx, timer: tm})
}

// Until waits until ctx ends and returns the context's cause.
func (c *Clock) Until(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	return c.wait(waitState{description: "the end of a context", ctx: ctx, on: contextEnds, failsOnDeadlock: true})
}

// WithTimeout returns a context that ends after d of virtual time with this cause; nil
// means context.DeadlineExceeded. Its Err is context.DeadlineExceeded. It has no Deadline,
// since callers compare a Deadline with real time. If d is not above 0, the context ends
// as soon as all tasks wait. Call the cancel function, as with context.WithTimeout.
func (c *Clock) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	inner, cancel := context.WithCancelCause(ctx)
	out := &timeoutContext{Context: inner}
	stop := c.AfterFunc(d, func() {
		out.expired.Store(inner.Err() == nil)
		cancel(cause)
	})
	return out, func() {
		stop()
		cancel(context.Canceled)
	}
}

// timeoutContext is a canceled context whose Err is that of an expired one.
type timeoutContext struct {
	context.Context
	expired atomic.Bool
}

// Err implements context.Context.
func (t *timeoutContext) Err() error {
	err := t.Context.Err()
	if err != nil && t.expired.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// AfterFunc calls f after d of virtual time, unless stop is called before. No task runs
// during f, so f must not wait.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tm := c.addTimer(max(d, 0), f)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.removeTimer(tm)
	}
}

// Go starts a task that calls f. It does not run before the calling task yields. A panic
// that f does not recover ends the program, as in any goroutine.
func (c *Clock) Go(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.currentTask()
	c.live++
	c.started++
	var t *task
	if c.pool != nil {
		t = c.pool.take(c.started)
	} else {
		t = newTask()
		go func() {
			<-t.wake
			t.run()
		}()
	}
	t.clock, t.f = c, f
	c.ready = append(c.ready, t)
}

// Signal returns a semaphore: each call of notify releases one call of wait, the longest
// waiting first. In a deadlock, wait panics with a [*DeadlockError] in the main task, since
// it returns no error.
func (c *Clock) Signal() (wait, notify func()) {
	s := &signal{}
	return func() { c.await(s) }, func() { c.notify(s) }
}

// Live returns the number of tasks from Go that have not ended.
func (c *Clock) Live() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// Drain lets the main task wait until all other tasks have ended. It returns a
// [*DeadlockError] if a task cannot end.
func (c *Clock) Drain() error {
	c.mu.Lock()
	c.currentTask()
	if c.live == 0 {
		c.mu.Unlock()
		return nil
	}
	return c.wait(waitState{description: "the end of all tasks", on: drain})
}

// Virtual reports true: the times of this clock depend on the script alone.
func (*Clock) Virtual() bool { return true }

// gate blocks tasks until it is opened. It stays open.
type gate struct {
	name   string
	opened bool
}

// gate returns the gate with this name, always the same one. The caller holds the lock.
func (c *Clock) gate(name string) *gate {
	g := c.gates[name]
	if g == nil {
		g = &gate{name: name}
		if c.gates == nil {
			c.gates = map[string]*gate{}
		}
		c.gates[name] = g
	}
	return g
}

// OpenInOrder appends names to the order in which gates open: whenever all tasks wait,
// the clock opens the first gate in this order that a task waits for.
func (c *Clock) OpenInOrder(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = append(c.order, names...)
}

// WaitGate waits until the named gate is open. It returns the context's cause if ctx ends
// before, or has ended already.
func (c *Clock) WaitGate(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	g := c.gate(name)
	if g.opened {
		c.mu.Unlock()
		return nil
	}
	return c.wait(waitState{description: "gate " + name, ctx: ctx, on: g, failsOnDeadlock: true})
}

// OpenGate opens the named gate, which stays open. Opening it again has no effect.
func (c *Clock) OpenGate(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openGate(c.gate(name))
}

// openGate makes the waiting tasks ready, in the order in which they began to wait.
func (c *Clock) openGate(g *gate) {
	g.opened = true
	for t := c.firstWaiting(g); t != nil; t = c.firstWaiting(g) {
		c.wake(t, nil)
	}
}
