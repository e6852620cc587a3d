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

// Retries returns a [loop.Config] Retry setting with maxRetries retries of a model call, which
// wait 1 s, 2 s, 4 s and so on. Set its Factor to 1 for a fixed wait. It retries failures that
// the provider reports as temporary, and network failures. All attempts count as one
// iteration. Retries stop when the run ends.
func Retries(maxRetries int) loop.Retry {
	return loop.Retry{Max: maxRetries, Base: time.Second, On: temporary}
}

// temporary reports whether an error may pass: the client decides, or it is a network failure.
func temporary(err error) bool {
	_, reported := errors.AsType[*llm.APIError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case loop.Retryable(err):
		return true
	case reported, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	}
	return network || errors.Is(err, io.ErrUnexpectedEOF)
}
