package loop

import (
	"context"
	"sync"
	"time"

	"github.com/looptape/looptape/trace"
)

// Clock is the only source of time and of goroutines of a loop, so that a virtual clock
// (package fake) makes a run a function of its inputs.
type Clock interface {
	Now() time.Time
	// Sleep returns nil after d, or the cause of the context if that ends first.
	Sleep(ctx context.Context, d time.Duration) error
	// WithTimeout returns a context that ends after d, with cause as its
	// context.Cause.
	WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc)
	// Go runs f concurrently.
	Go(f func())
	// Signal returns a counted signal: each notify lets one wait return. Any goroutine that
	// Go started may notify; one goroutine waits.
	Signal() (wait func(), notify func())
}

// SystemClock is the time of the machine. No other type of the module reads a clock or
// sets a timer.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// since returns the time from t to now. With SystemClock it reads one clock, where Now reads
// two.
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

// clockName returns the name of a clock in a trace. A virtual clock has a method Virtual.
func clockName(c Clock) string {
	if v, ok := c.(interface{ Virtual() bool }); ok && v.Virtual() {
		return trace.ClockVirtual
	}
	return trace.ClockReal
}
