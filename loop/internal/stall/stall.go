// Package stall gives up model calls whose stream delivers no events for a time
// (quirk QT-10).
package stall

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
)

// Clock is the part of a loop.Clock that a Model needs.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
	Go(f func())
	Signal() (wait func(), notify func())
}

// Model is a model whose calls fail with Err if no event comes for Limit. What a
// provider sends to keep a connection open is no event.
type Model struct {
	llm.Model
	Clock Clock
	Limit time.Duration
	Err   error
}

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		w := &watch{clock: m.Clock, limit: m.Limit, last: m.Clock.Now()}
		wait, notify := m.Clock.Signal()
		m.Clock.Go(func() {
			defer notify()
			if w.expires(ctx) {
				cancel(m.Err)
			}
		})
		defer wait()
		defer cancel(nil)
		for ev, err := range m.Model.Stream(ctx, req) {
			if err != nil {
				yield(nil, m.reason(ctx, err))
				return
			}
			w.note(true)
			if !yield(ev, nil) {
				return
			}
			w.note(false)
		}
		if err := m.reason(ctx, nil); err != nil { // the stream ended without an error
			yield(nil, err)
		}
	}
}

// reason returns the error of a call: err, unless the call was given up.
func (m *Model) reason(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), m.Err) {
		return fmt.Errorf("%w for %v", m.Err, m.Limit)
	}
	return err
}

// watch measures the time without events.
type watch struct {
	clock Clock
	limit time.Duration

	mu   sync.Mutex
	last time.Time // of the last event, or when the consumer was done with it
	busy bool      // the consumer handles an event
}

func (w *watch) note(busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.busy = w.clock.Now(), busy
}

// left returns how long the next event may take.
func (w *watch) left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy {
		return w.limit
	}
	return w.limit - w.clock.Now().Sub(w.last)
}

// expires waits, and reports whether the limit was reached before ctx ended.
func (w *watch) expires(ctx context.Context) bool {
	for left := w.limit; left > 0; left = w.left() {
		if w.clock.Sleep(ctx, left) != nil {
			return false
		}
	}
	return true
}
