// Package orchestrate composes agents: sequentially, in parallel, by delegation, and by
// consolidating several results.
//
// Its functions are independent of the loop: they start runs and read results, and the loop
// has no option for them. Runs share only what their caller passes to them.
package orchestrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/loop"
)

// Step transforms one value into another, such as a request into the answer of an agent. The
// method Run of a [loop.Agent] is a Step.
type Step[In, Out any] func(ctx context.Context, in In) (Out, error)

// Then returns a step that passes the result of first to second. It stops at the first error.
func Then[A, B, C any](first Step[A, B], second Step[B, C]) Step[A, C] {
	return func(ctx context.Context, in A) (out C, err error) {
		between, err := first(ctx, in)
		if err != nil {
			return out, err
		}
		return second(ctx, between)
	}
}

// Sequence returns a step that passes a value through all steps in order. It stops at the
// first error, which names the failed step.
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

// Parallel returns a step that runs step concurrently for each input on a clock; nil means
// [loop.SystemClock]. The results have the order of the inputs. All calls run to their end. If
// any fails, Parallel returns the other results and all errors, each with the index of its
// input. A panic is an error.
//
// Runs that share the sink of a trace need distinct names, because the system clock does not
// determine which run starts first.
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

func contained[In, Out any](ctx context.Context, step Step[In, Out], in In) (out Out, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the step panicked: %v", v)
		}
	}()
	return step(ctx, in)
}
