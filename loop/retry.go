package loop

import (
	"errors"
	"math"
	"time"

	"github.com/looptape/looptape/llm"
)

// Retry configures retries of model calls. The loop retries only errors that On accepts,
// only before the first event of the response, and only within the token budget. The wait
// before the n-th retry is Base × Factor^(n-1), and at least what the provider asks for. A
// call whose wait is longer than MaxWait fails immediately.
type Retry struct {
	Max     int           // retries of one call; 0 means no retry
	Base    time.Duration // the wait before the first retry; 0 means half a second
	Factor  float64       // by which the wait grows with each retry; 0 means 2
	MaxWait time.Duration // the longest wait; 0 means DefaultMaxRetryWait
	// Jitter is the part of the wait, 0 … 1, that is random (from Config.Rand). The loop
	// always waits as long as the provider asks for.
	Jitter float64
	// On reports whether an error is retryable. nil accepts an [llm.APIError] that is Retryable, and
	// [ErrStalled].
	On func(error) bool
}

// Default values of zero Retry fields; see also DefaultMaxRetryWait.
const (
	defaultRetryBase   = 500 * time.Millisecond
	defaultRetryFactor = 2
)

func (r *Retry) fill() {
	if r.Base == 0 {
		r.Base = defaultRetryBase
	}
	if r.Factor == 0 {
		r.Factor = defaultRetryFactor
	}
	if r.MaxWait == 0 {
		r.MaxWait = DefaultMaxRetryWait
	}
	if r.On == nil {
		r.On = retryable
	}
}

// retryable is the default of Retry.On.
func retryable(err error) bool {
	api, ok := errors.AsType[*llm.APIError](err)
	return ok && api.Retryable || errors.Is(err, ErrStalled)
}

// allows calls On. It returns false if On or a method of the error panics.
func (r *Retry) allows(err error) (retryable bool) {
	defer func() {
		if recover() != nil {
			retryable = false
		}
	}()
	return r.On(err)
}

// Delay returns the wait before the n-th retry, from 1, if the provider does not ask for more.
// random is [Config.Rand].
func (r Retry) Delay(n int, random func() float64) time.Duration {
	r.fill()
	f := float64(r.Base) * math.Pow(r.Factor, float64(n-1))
	if random != nil {
		f *= 1 - r.Jitter*random()
	}
	return time.Duration(min(f, float64(r.MaxWait)))
}
