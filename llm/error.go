package llm

import (
	"fmt"
	"strings"
	"time"
)

// APIError is a provider's refusal or failure. It never holds a credential:
// adapters redact the provider's message before they put it here.
type APIError struct {
	Provider  string
	Status    int    // HTTP status; 0 without a complete response, 200 for an error within a stream
	Code      string // the provider's code or type, such as rate_limit_exceeded
	Message   string
	RequestID string
	// RetryAfter is how long the provider asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// Retryable says that the same request may succeed later.
	Retryable bool
	// Err is what lies beneath, such as a broken connection; may be nil.
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
	case e.Err != nil: // also when a part of the answer had come
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

// Unwrap returns what lies beneath.
func (e *APIError) Unwrap() error { return e.Err }
