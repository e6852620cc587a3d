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

// Backoff specifies how the wait before a retry grows.
type Backoff string

// Values of [Backoff].
const (
	Exponential Backoff = ""      // 1 s, 2 s, 4 s …
	Fixed       Backoff = "fixed" // 1 s each time
)

// Retries returns a [loop.Config] Retry setting with maxRetries retries of a model call.
// It retries failures that the provider reports as temporary, and network failures. All
// attempts count as one iteration. Retries stop when the run ends.
func Retries(maxRetries int, backoff Backoff) loop.Retry {
	r := loop.Retry{Max: maxRetries, Base: time.Second, On: mayPass}
	if backoff == Fixed {
		r.Factor = 1
	}
	return r
}

// mayPass reports whether an error is temporary. It uses the report of the client if
// there is one, and otherwise accepts network failures.
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
