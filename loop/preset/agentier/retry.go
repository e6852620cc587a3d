package agentier

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// Retry returns middleware that retries a failed model call at most r.Max times. The retries
// wait 1 s, 2 s, 4 s and so on; set r.Factor to 1 for a fixed wait. It retries failures that the
// provider reports as temporary, and network failures, until a part of the response came. All
// attempts count as one iteration. Retries stop when the run ends.
//
// Middleware before it in the list sees one model call, middleware after it each attempt. Leave
// the Max of [loop.Config] Retry at 0. If r.On accepts other errors, set its On to r.On, too: the
// loop records a call after an error that is not retryable as a repair.
func Retry(r loop.Retry) loop.Middleware {
	r.Base = cmp.Or(r.Base, time.Second)
	if r.On == nil {
		r.On = temporary
	}
	return loop.Middleware{Name: "retry", New: func(info loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
				for n := 1; ; n++ {
					response, err := next(ctx, call)
					partial := response != nil && len(response.Parts) > 0
					if err == nil || n > r.Max || partial || ctx.Err() != nil || !r.On(err) {
						return response, err
					}
					call.Wait = r.Delay(n, info.Rand)
				}
			}
		}}
	}}
}

// temporary reports whether an error may pass: the client decides, or it is a network failure.
func temporary(err error) bool {
	api, reported := errors.AsType[*llm.APIError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case reported && api.Retryable, errors.Is(err, loop.ErrStalled):
		return true
	case reported, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	}
	return network || errors.Is(err, io.ErrUnexpectedEOF)
}
