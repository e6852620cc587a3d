package loop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
)

// patientModel gives an answer up of which nothing comes for a time (quirk QT-10).
// What a provider sends to keep the connection open is no event, so it does not
// count.
type patientModel struct {
	model llm.Model
	clock Clock
	limit time.Duration
}

// patient is a model that is given up after StallTimeout, if there is one.
func (c *Config) patient(m llm.Model) llm.Model {
	if c.StallTimeout == 0 {
		return m
	}
	return &patientModel{m, c.Clock, c.StallTimeout}
}

// Stream implements llm.Model.
func (p *patientModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		w := &watch{clock: p.clock, limit: p.limit, last: p.clock.Now()}
		wait, notify := p.clock.Signal()
		p.clock.Go(func() {
			defer notify()
			w.run(ctx, cancel)
		})
		defer wait()
		defer cancel(nil)
		for ev, err := range p.model.Stream(ctx, req) {
			if err != nil {
				yield(nil, p.why(ctx, err))
				return
			}
			w.note(true)
			if !yield(ev, nil) {
				return
			}
			w.note(false)
		}
		if err := p.why(ctx, nil); err != nil { // the model ended without a word
			yield(nil, err)
		}
	}
}

// why is the error of an answer: err, unless it was given up.
func (p *patientModel) why(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrStalled) {
		return fmt.Errorf("%w for %v", ErrStalled, p.limit)
	}
	return err
}

// watch sees to it that events come.
type watch struct {
	clock Clock
	limit time.Duration

	mu   sync.Mutex
	last time.Time // when an event came, or whoever listens was done with it
	busy bool      // whoever listens has an event in hand
}

func (w *watch) note(busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.busy = w.clock.Now(), busy
}

// left is how long the next event may take.
func (w *watch) left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy {
		return w.limit
	}
	return w.limit - since(w.clock, w.last)
}

// run waits until ctx ends, or ends it when the time is over.
func (w *watch) run(ctx context.Context, cancel context.CancelCauseFunc) {
	for left := w.limit; left > 0; left = w.left() {
		if w.clock.Sleep(ctx, left) != nil {
			return
		}
	}
	cancel(ErrStalled)
}
