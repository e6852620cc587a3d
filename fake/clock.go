package fake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// epoch is the first instant of a Clock that has no other Start.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock is a virtual clock and the scheduler of the tasks that use it. Exactly
// one task runs at a time: it holds the baton. The goroutine that uses the clock
// first is the main task and has the baton; Go makes other tasks. A task gives
// the baton away when it waits (Sleep, Until, a Gate, a signal, Drain) or
// returns, and the next one is chosen thus:
//
//  1. Tasks whose context has ended stop waiting, in the order in which they
//     began to wait.
//  2. Of the tasks that need not wait any longer, the one that has been ready
//     longest runs.
//  3. If there is none, the first gate of OpenInOrder that a task waits for
//     opens.
//  4. If there is none, time moves to the earliest timer, which fires: of two
//     timers at one instant, the one that was set first.
//  5. If there is none, nobody can ever go on: every task that waits for a gate
//     or in Until gets a *DeadlockError, and if there is none, the main task does.
//
// So what happens depends on what the tasks do and on nothing else: not on the
// number of processors, and not on how fast they are.
//
// A task that blocks on anything else (a channel, a lock, real time) keeps the
// baton, and nobody runs until it goes on. Only the task that has the baton may
// use the clock; a cancel function may be called from anywhere.
//
// The zero value is ready. The exported fields must be set before the first use.
type Clock struct {
	// Start is the first instant; zero means the first second of 2000, UTC.
	Start time.Time
	// Seed, if it is not 0, makes rule 2 choose at random among the tasks that
	// are ready, the same way for the same seed.
	Seed uint64

	mu      sync.Mutex
	elapsed time.Duration
	main    *task
	current *task
	live    int     // tasks made by Go that have not ended
	ready   []*task // in the order in which they became so
	parked  []*task // in the order in which they began to wait
	timers  []*timer
	gates   map[string]*Gate
	order   []string
	random  *rand.Rand
}

// NewClock returns a clock that stands at its first instant.
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

// Sleep waits for d of virtual time, or until ctx ends: then it returns the
// context's cause. It does not wait at all if ctx has ended or d is not above 0.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	c.mu.Lock()
	t := c.self()
	tm := c.set(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.rouse(t, nil)
	})
	return c.park(wait{what: fmt.Sprintf("sleep of %v", d), ctx: ctx, timer: tm})
}

// Until waits until ctx ends, and returns the context's cause.
func (c *Clock) Until(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	return c.park(wait{what: "the end of a context", ctx: ctx, fails: true})
}

// WithTimeout returns a context that ends after d of virtual time, with this
// cause (nil means context.DeadlineExceeded) and context.DeadlineExceeded as its
// Err. It has no Deadline, since code that asks for one compares it with real
// time. A d that is not above 0 ends it at the next time that all tasks wait.
// The cancel function must be called, as with context.WithTimeout.
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

// timeoutContext is a cancelled context that calls itself expired.
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

// AfterFunc calls f when d of virtual time has passed, unless stop was called
// before. No task runs while f does: it must not wait.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tm := c.set(max(d, 0), f)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unset(tm)
	}
}

// Go makes a task of f. It does not run before the task that calls Go gives the
// baton away. A panic that f does not recover ends the program, as in any
// goroutine.
func (c *Clock) Go(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self()
	t := newTask()
	c.live++
	c.ready = append(c.ready, t)
	go func() {
		<-t.wake
		defer c.leave()
		f()
	}()
}

// Signal returns a counter to wait on: each call of notify lets one wait
// through, now or later, the longest waiting first. If nobody can ever notify,
// wait panics with a *DeadlockError in the main task: who waits thus has no other
// way to hear of it.
func (c *Clock) Signal() (wait, notify func()) {
	s := &signal{}
	return func() { c.await(s) }, func() { c.notify(s) }
}

// Live is the number of tasks made by Go that have not ended.
func (c *Clock) Live() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// Drain is for the main task: it lets all others run to their ends. It returns
// a *DeadlockError if there are some that can not end.
func (c *Clock) Drain() error {
	c.mu.Lock()
	c.self()
	if c.live == 0 {
		c.mu.Unlock()
		return nil
	}
	return c.park(wait{what: "the end of all tasks", on: drain})
}

// Virtual reports true: times on this clock are part of what a script says.
func (*Clock) Virtual() bool { return true }
