package loop

import (
	"context"
	"sync"
	"time"

	"github.com/looptape/looptape/trace"
)

// Clock is the loop's only source of time, and of goroutines, so that a virtual
// one (package fake) can make a run a function of its inputs.
type Clock interface {
	Now() time.Time
	// Sleep returns nil after d, or the context's cause if it ends first.
	Sleep(ctx context.Context, d time.Duration) error
	// WithTimeout returns a context that ends after d, with cause as its
	// context.Cause.
	WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc)
	// Go runs f at the same time as its caller.
	Go(f func())
	// Signal returns a counted signal: each notify lets one wait return. Any
	// goroutine that Go started may notify; one waits.
	Signal() (wait func(), notify func())
}

// SystemClock is the machine's time. It is the only place in the module where a
// clock is read or a timer is set.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// since is the time from t to now. The machine's is read in one piece where
// time.Now reads two.
func since(c Clock, t time.Time) time.Duration {
	if _, system := c.(SystemClock); system {
		return time.Since(t)
	}
	return c.Now().Sub(t)
}

// Sleep implements Clock.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// WithTimeout implements Clock.
func (SystemClock) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, cause)
}

// Go implements Clock.
func (SystemClock) Go(f func()) { go f() }

// Signal implements Clock.
func (SystemClock) Signal() (wait func(), notify func()) {
	var mu sync.Mutex
	cond := sync.NewCond(&mu)
	n := 0
	wait = func() {
		mu.Lock()
		for n == 0 {
			cond.Wait()
		}
		n--
		mu.Unlock()
	}
	notify = func() {
		mu.Lock()
		n++
		mu.Unlock()
		cond.Signal()
	}
	return wait, notify
}

// clockName is the name of a clock in a trace. A virtual clock says so with a
// method Virtual.
func clockName(c Clock) string {
	if v, ok := c.(interface{ Virtual() bool }); ok && v.Virtual() {
		return trace.ClockVirtual
	}
	return trace.ClockReal
}
