package agentier

import "fmt"

// Code says what a run failed of.
type Code string

// The codes.
const (
	ModelError       Code = "MODEL_ERROR"
	OutputParseError Code = "OUTPUT_PARSE_ERROR"
	Timeout          Code = "TIMEOUT"
	Aborted          Code = "ABORTED"
)

// Error is what a run failed of, with the document's code for it. What the document
// has no code for, such as a policy that fails, is reported as it is.
type Error struct {
	Code Code
	Err  error // the cause
}

func (e *Error) Error() string { return fmt.Sprintf("agentier: %s: %v", e.Code, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
