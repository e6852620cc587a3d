package agentier

import "fmt"

// Error is the failure of a run with its code in the reference loop. A failure without
// such a code, such as a middleware error, is returned unchanged.
type Error struct {
	Code string // MODEL_ERROR, OUTPUT_PARSE_ERROR, TIMEOUT or ABORTED
	Err  error  // the cause
}

func (e *Error) Error() string { return fmt.Sprintf("agentier: %s: %v", e.Code, e.Err) }

// Unwrap returns the cause of the failure.
func (e *Error) Unwrap() error { return e.Err }
