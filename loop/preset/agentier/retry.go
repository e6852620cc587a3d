package agentier

import (
	"time"

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
// loop.Config.Retry. They count as one iteration, and end when the run does.
func Retries(maxRetries int, backoff Backoff) loop.Retry {
	r := loop.Retry{Max: maxRetries, Base: time.Second}
	if backoff == Fixed {
		r.Factor = 1
	}
	return r
}
