package fake

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"
)

// DeadlockError is the error of a [Clock] whose tasks all wait, and none can continue.
type DeadlockError struct {
	// Waiting names what each task waits for, in the order in which the tasks began to wait.
	Waiting []string
}

func (e *DeadlockError) Error() string {
	return "fake: deadlock: all tasks wait, for " + strings.Join(e.Waiting, ", ") + ": open the gates in order, or end the context"
}

// task is a goroutine that the clock schedules.
type task struct {
	wake    chan struct{} // receives when the task may run
	clock   *Clock
	f       func()    // that Go was called with
	name    string    // in an explored run
	waiting waitState // while it waits
	err     error     // how the last wait ended
	begun   bool      // it has run
	late    bool      // the answer that it waited for came after the end of its context
}

func newTask() *task { return &task{wake: make(chan struct{}, 1)} }

// run runs a task that was woken.
func (t *task) run() {
	if t.clock != nil { // not of World.Go
		defer t.clock.endTask()
	}
	t.f()
}

// waitState describes what a task waits for.
type waitState struct {
	description     string          // empty for an answer
	ctx             context.Context // ends the wait, if not nil
	on              any             // the *gate, the *signal, drain, contextEnds, or waitsForAnswer
	answer          string          // the name of the answer
	isTool          bool            // it is that of a tool
	timer           *timer          // of a sleep
	failsOnDeadlock bool            // the task gets a DeadlockError
}

// drainer is the type of drain, which Drain waits on.
type drainer struct{ _ byte }

var drain = &drainer{}

// signal counts the notifications that no task has waited for.
type signal struct{ count int }

// timer calls fire at a time.
type timer struct {
	at   time.Duration
	fire func()
}

// currentTask returns the running task. The caller holds the lock.
func (c *Clock) currentTask() *task {
	if c.main == nil {
		c.main = newTask()
		c.main.name = "main"
		c.current = c.main
		if c.Seed != 0 {
			c.random = rand.New(rand.NewPCG(c.Seed, c.Seed))
		}
	}
	return c.current
}

// wait yields and returns when the task runs again. It returns the error that ended the
// wait. The caller holds the lock; wait releases it.
func (c *Clock) wait(w waitState) error {
	t := c.currentTask()
	t.waiting = w
	c.waiting = append(c.waiting, t)
	c.runNext()
	c.mu.Unlock()
	<-t.wake
	return t.err
}

// endTask ends the running task.
func (c *Clock) endTask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live--
	if t := c.firstWaiting(drain); t != nil && c.live == 0 {
		c.wake(t, nil)
	}
	c.runNext()
}

// wake makes a waiting task ready.
func (c *Clock) wake(t *task, err error) {
	c.waiting = slices.DeleteFunc(c.waiting, func(p *task) bool { return p == t })
	c.removeTimer(t.waiting.timer)
	t.waiting, t.err = waitState{}, err
	c.ready = append(c.ready, t)
}

// firstWaiting returns the task that has waited longest on this, or nil.
func (c *Clock) firstWaiting(on any) *task {
	for _, t := range c.waiting {
		if t.waiting.on == on {
			return t
		}
	}
	return nil
}

// runNext runs the next task.
func (c *Clock) runNext() {
	for {
		c.wakeEnded()
		for c.chooser != nil && len(c.ready) > 0 && c.hold(c.ready[0]) {
			c.ready = slices.Delete(c.ready, 0, 1)
		}
		if len(c.ready) > 0 {
			break
		}
		if c.chooser != nil && c.nextAnswer() {
			continue
		}
		if !c.openNext() && !c.fireNext() {
			c.failDeadlock()
		}
	}
	i := 0
	switch {
	case c.chooser != nil:
		i = c.nextTask()
	case c.Seed != 0:
		i = c.random.IntN(len(c.ready))
	}
	c.current = c.ready[i]
	c.current.begun = true
	c.ready = slices.Delete(c.ready, i, i+1)
	c.current.wake <- struct{}{}
}

func (c *Clock) wakeEnded() {
	for i := 0; i < len(c.waiting); {
		if ctx := c.waiting[i].waiting.ctx; ctx != nil && ctx.Err() != nil && c.waiting[i].waiting.on != waitsForAnswer {
			c.wake(c.waiting[i], context.Cause(ctx))
			continue
		}
		i++
	}
}

func (c *Clock) openNext() bool {
	for _, name := range c.order {
		if g := c.gates[name]; g != nil && c.firstWaiting(g) != nil {
			c.openGate(g)
			return true
		}
	}
	return false
}

// fireNext advances time to the earliest timer and fires it without the lock.
func (c *Clock) fireNext() bool {
	if len(c.timers) == 0 {
		return false
	}
	c.elapsed = c.timers[0].at
	c.fire(c.timers[0])
	return true
}

// fire fires a timer without the lock.
func (c *Clock) fire(tm *timer) {
	c.removeTimer(tm)
	c.mu.Unlock()
	defer c.mu.Lock()
	tm.fire()
}

func (c *Clock) failDeadlock() {
	err := &DeadlockError{}
	var failing []*task
	for _, t := range c.waiting {
		err.Waiting = append(err.Waiting, cmp.Or(t.waiting.description, "the answer "+t.waiting.answer))
		if t.waiting.failsOnDeadlock {
			failing = append(failing, t)
		}
	}
	if c.deadlock == nil && (failing != nil || c.main.waiting.on != drain) {
		c.deadlock = err
	}
	for _, t := range failing {
		c.wake(t, err)
	}
	if failing == nil {
		c.wake(c.main, err) // it has not ended, so it waits
	}
}

// addTimer adds a timer after those of the same time.
func (c *Clock) addTimer(d time.Duration, fire func()) *timer {
	tm := &timer{at: c.elapsed + min(d, math.MaxInt64-c.elapsed), fire: fire}
	i := sort.Search(len(c.timers), func(i int) bool { return c.timers[i].at > tm.at })
	c.timers = slices.Insert(c.timers, i, tm)
	return tm
}

// removeTimer removes a timer if it is set.
func (c *Clock) removeTimer(tm *timer) {
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
	if err := c.wait(waitState{description: "a signal", on: s}); err != nil {
		panic(err)
	}
}

func (c *Clock) notify(s *signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.firstWaiting(s); t != nil {
		c.wake(t, nil)
		return
	}
	s.count++
}
