package fake

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"
)

// ErrDeadlock says that no task of a Clock could ever go on. See DeadlockError.
var ErrDeadlock = errors.New("fake: nothing can go on")

// DeadlockError is ErrDeadlock with the names of what was waited for.
type DeadlockError struct {
	// Waiting tells what each task waited for, in the order in which they began.
	Waiting []string
}

func (e *DeadlockError) Error() string {
	return ErrDeadlock.Error() + ": no task is ready, no gate is left to open and no timer is set; waiting: " +
		strings.Join(e.Waiting, ", ") + "; open the gates in order, or end the context"
}

// Is makes the error an ErrDeadlock.
func (e *DeadlockError) Is(target error) bool { return target == ErrDeadlock }

// task is a goroutine that runs only while it has the baton.
type task struct {
	wake chan struct{} // the baton is put here
	wait wait          // while it is parked
	err  error         // how the last wait ended
}

func newTask() *task { return &task{wake: make(chan struct{}, 1)} }

// wait is what a parked task waits for.
type wait struct {
	what  string
	ctx   context.Context // ends the wait; nil if nothing does
	on    any             // the *Gate, the *signal, or drain
	timer *timer          // of a sleep
	fails bool            // the waiter takes a DeadlockError
}

// drainer is the type of drain, what Drain waits on.
type drainer struct{ _ byte }

var drain = &drainer{}

// signal counts what was notified and not waited for.
type signal struct{ count int }

// timer calls fire at an instant.
type timer struct {
	at   time.Duration
	fire func()
}

// self returns the task that has the baton. The lock is held.
func (c *Clock) self() *task {
	if c.main == nil {
		c.main = newTask()
		c.current = c.main
		c.random = rand.New(rand.NewPCG(c.Seed, c.Seed))
	}
	return c.current
}

// park gives the baton away and returns when it is back, with what ended the
// wait. The lock is held at the call and not afterwards.
func (c *Clock) park(w wait) error {
	t := c.self()
	t.wait = w
	c.parked = append(c.parked, t)
	c.pass()
	c.mu.Unlock()
	<-t.wake
	return t.err
}

// leave ends the task that has the baton.
func (c *Clock) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live--
	if t := c.waiter(drain); t != nil && c.live == 0 {
		c.rouse(t, nil)
	}
	c.pass()
}

// rouse makes a parked task ready.
func (c *Clock) rouse(t *task, err error) {
	c.parked = slices.DeleteFunc(c.parked, func(p *task) bool { return p == t })
	c.unset(t.wait.timer)
	t.wait, t.err = wait{}, err
	c.ready = append(c.ready, t)
}

// waiter returns the task that has waited longest on this, or nil.
func (c *Clock) waiter(on any) *task {
	for _, t := range c.parked {
		if t.wait.on == on {
			return t
		}
	}
	return nil
}

// pass hands the baton to the next task.
func (c *Clock) pass() {
	for {
		c.rouseEnded()
		if len(c.ready) > 0 {
			break
		}
		if !c.openNext() && !c.fireNext() {
			c.unstick()
		}
	}
	i := 0
	if c.Seed != 0 {
		i = c.random.IntN(len(c.ready))
	}
	c.current = c.ready[i]
	c.ready = slices.Delete(c.ready, i, i+1)
	c.current.wake <- struct{}{}
}

func (c *Clock) rouseEnded() {
	for i := 0; i < len(c.parked); {
		if ctx := c.parked[i].wait.ctx; ctx != nil && ctx.Err() != nil {
			c.rouse(c.parked[i], context.Cause(ctx))
			continue
		}
		i++
	}
}

func (c *Clock) openNext() bool {
	for _, name := range c.order {
		if g := c.gates[name]; g != nil && c.waiter(g) != nil {
			c.open(g)
			return true
		}
	}
	return false
}

// fireNext moves time to the earliest timer. The lock is free while it fires.
func (c *Clock) fireNext() bool {
	if len(c.timers) == 0 {
		return false
	}
	tm := c.timers[0]
	c.unset(tm)
	c.elapsed = tm.at
	c.mu.Unlock()
	defer c.mu.Lock()
	tm.fire()
	return true
}

func (c *Clock) unstick() {
	err := &DeadlockError{}
	var failing []*task
	for _, t := range c.parked {
		err.Waiting = append(err.Waiting, t.wait.what)
		if t.wait.fails {
			failing = append(failing, t)
		}
	}
	for _, t := range failing {
		c.rouse(t, err)
	}
	if failing == nil {
		c.rouse(c.main, err) // it has not ended, so it is parked
	}
}

// set adds a timer, behind those of the same instant.
func (c *Clock) set(d time.Duration, fire func()) *timer {
	tm := &timer{at: c.elapsed + min(d, math.MaxInt64-c.elapsed), fire: fire}
	i := sort.Search(len(c.timers), func(i int) bool { return c.timers[i].at > tm.at })
	c.timers = slices.Insert(c.timers, i, tm)
	return tm
}

// unset forgets a timer, if it is still there.
func (c *Clock) unset(tm *timer) {
	c.timers = slices.DeleteFunc(c.timers, func(x *timer) bool { return x == tm })
}

// await waits for a signal.
func (c *Clock) await(s *signal) {
	c.mu.Lock()
	if s.count > 0 {
		s.count--
		c.mu.Unlock()
		return
	}
	if err := c.park(wait{what: "a signal", on: s}); err != nil {
		panic(err)
	}
}

func (c *Clock) notify(s *signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.waiter(s); t != nil {
		c.rouse(t, nil)
		return
	}
	s.count++
}
