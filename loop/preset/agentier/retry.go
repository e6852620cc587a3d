package agentier

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// Backoff is how the wait before a retry grows.
type Backoff string

// The ways to grow.
const (
	Exponential Backoff = ""      // 1 s, 2 s, 4 s …
	Fixed       Backoff = "fixed" // 1 s each time
)

// Retries are so many retries of a model call that fails in a way that may pass, for
// loop.Config.Retry: what the provider says may pass, and failures of the network. They
// count as one iteration, and end when the run does.
func Retries(maxRetries int, backoff Backoff) loop.Retry {
	r := loop.Retry{Max: maxRetries, Base: time.Second, On: mayPass}
	if backoff == Fixed {
		r.Factor = 1
	}
	return r
}

// mayPass adds failures of the network to what a client says may pass; where it says
// anything, that counts.
func mayPass(err error) bool {
	_, said := errors.AsType[*llm.APIError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case loop.Retryable(err):
		return true
	case said, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	}
	return network || errors.Is(err, io.ErrUnexpectedEOF)
}
