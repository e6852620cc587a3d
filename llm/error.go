package llm

import (
	"fmt"
	"strings"
	"time"
)

// APIError is an error response or a failure of a provider. It never contains a credential:
// adapters redact the message of the provider.
type APIError struct {
	Provider  string
	Status    int    // HTTP status; 0 without a complete response, 200 for an error within a stream
	Code      string // the provider's code or type, such as rate_limit_exceeded
	Message   string
	RequestID string
	// RetryAfter is the delay that the provider requests; 0 if it requests none.
	RetryAfter time.Duration
	// Retryable is true if the same request may succeed later.
	Retryable bool
	// Err is the underlying error, such as a broken connection; it may be nil.
	Err error
}

func (e *APIError) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	switch {
	case e.Status != 0:
		fmt.Fprintf(&b, "status %d", e.Status)
	case e.Err != nil: // also after a part of the response
		b.WriteString("connection")
	default:
		b.WriteString("no response")
	}
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the underlying error.
func (e *APIError) Unwrap() error { return e.Err }
