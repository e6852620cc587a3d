// Package orchestrate puts agents together: one after another, at once, one that
// works for another, one that sums up what others said.
//
// Its functions stand outside the loop: they start runs and read results, and no
// option of a loop knows them. Runs share nothing but what their caller gives them.
package orchestrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/loop"
)

// Step makes one thing of another, such as an agent's answer of a question. The
// method Run of a loop.Agent is one.
type Step[In, Out any] func(ctx context.Context, in In) (Out, error)

// Then is a step that hands what first has made to second. The first that fails ends
// it.
func Then[A, B, C any](first Step[A, B], second Step[B, C]) Step[A, C] {
	return func(ctx context.Context, in A) (out C, err error) {
		between, err := first(ctx, in)
		if err != nil {
			return out, err
		}
		return second(ctx, between)
	}
}

// Sequence is a step that hands a value from step to step, in order. The first that
// fails ends it, and its error says which it was.
func Sequence[T any](steps ...Step[T, T]) Step[T, T] {
	return func(ctx context.Context, v T) (T, error) {
		for i, step := range steps {
			next, err := step(ctx, v)
			if err != nil {
				return v, fmt.Errorf("orchestrate: step %d of %d: %w", i+1, len(steps), err)
			}
			v = next
		}
		return v, nil
	}
}

// Parallel is a step that makes something of each of several things, all at once, on
// a clock (nil is loop.SystemClock). What came of them stands in the order of what
// went in, whichever was ready first. All come to their end; if some failed, so does
// the step, with all their errors, each of which says which it was, and with what
// came of the others. A step that panics has failed.
//
// Runs that share a trace's sink need names of their own: on a clock of the machine,
// who begins first is not known before.
func Parallel[In, Out any](clock loop.Clock, step Step[In, Out]) Step[[]In, []Out] {
	if clock == nil {
		clock = loop.SystemClock{}
	}
	return func(ctx context.Context, in []In) ([]Out, error) {
		out, errs := make([]Out, len(in)), make([]error, len(in))
		wait, notify := clock.Signal()
		for i := range in {
			clock.Go(func() {
				defer notify()
				errs[i] = errors.New("ended its goroutine instead of returning")
				out[i], errs[i] = contained(ctx, step, in[i])
			})
		}
		for range in {
			wait()
		}
		for i, err := range errs {
			if err != nil {
				errs[i] = fmt.Errorf("orchestrate: %d of %d: %w", i+1, len(in), err)
			}
		}
		return out, errors.Join(errs...)
	}
}

// contained is a step whose panic is an error.
func contained[In, Out any](ctx context.Context, step Step[In, Out], in In) (out Out, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the step panicked: %v", v)
		}
	}()
	return step(ctx, in)
}
