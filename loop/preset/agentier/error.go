package agentier

import "fmt"

// Code is the kind of a run's failure.
type Code string

// Codes of the reference loop.
const (
	ModelError       Code = "MODEL_ERROR"
	OutputParseError Code = "OUTPUT_PARSE_ERROR"
	Timeout          Code = "TIMEOUT"
	Aborted          Code = "ABORTED"
)

// Error is the failure of a run with its code in the reference loop. A failure without
// such a code, such as a middleware error, is returned unchanged.
type Error struct {
	Code Code
	Err  error // the cause
}

func (e *Error) Error() string { return fmt.Sprintf("agentier: %s: %v", e.Code, e.Err) }

// Unwrap returns the cause of the failure.
func (e *Error) Unwrap() error { return e.Err }
