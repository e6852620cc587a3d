package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Facts about how a run ended, for errors.Is.
var (
	// ErrMaxSteps: the cap was reached, and OnStepLimit is StepLimitError.
	ErrMaxSteps = errors.New("the run reached its cap of steps")
	// ErrDeadline: the run took longer than Config.Deadline.
	ErrDeadline = errors.New("the run took longer than its deadline")
	// ErrBudget: a policy wanted a model call after Config.TokenBudget was spent.
	ErrBudget = errors.New("the token budget is spent")
	// ErrStalled: nothing came of a model's answer for Config.StallTimeout.
	ErrStalled = errors.New("nothing came of the model's answer")
	// ErrToolTimeout: a tool took longer than Config.ToolTimeout.
	ErrToolTimeout = errors.New("the tool took too long")
	// ErrEventNotAllowed: a policy wanted to add an event to the trace while tools ran, or
	// after the run.
	ErrEventNotAllowed = errors.New("events of policies are not taken while tools run, nor after the run; add them in AfterStep")
	// ErrModelCallNotAllowed: a policy wanted a model call when none is taken.
	ErrModelCallNotAllowed = errors.New("a model call of a policy is taken while its WrapModel goes around the step's call, or by StepInfo.Ask in a hook before or after it, and one at a time; " +
		"do not keep next beyond that, and wait for one call before you make another")
	// ErrIterationStopped: the consumer of Events left before the end. It is a cancel:
	// errors.Is(err, context.Canceled) holds as well.
	ErrIterationStopped = fmt.Errorf("the run's events were left before its end: %w", context.Canceled)
	// ErrMalformedCall: the provider says that the model made a call that could
	// not be read, or of a tool that it was not offered.
	ErrMalformedCall = errors.New("the provider reports a malformed call")
)

// HistoryError says that the messages of an Input cannot be sent as they are.
type HistoryError struct {
	Message int    // counted from 0
	Part    int    // of the message, counted from 0; -1 if it is about the message
	Problem string // what is wrong, and what to do
}

func (e *HistoryError) Error() string {
	if e.Part >= 0 {
		return fmt.Sprintf("loop: Input.Messages[%d].Parts[%d]: %s", e.Message, e.Part, e.Problem)
	}
	return fmt.Sprintf("loop: Input.Messages[%d]: %s", e.Message, e.Problem)
}

// PanicError is a panic that was contained.
type PanicError struct {
	Where string // such as "the tool weather", "the policy audit"
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.Where, e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// MiddlewareError is an error that a policy, a stop condition or OnStep returned.
type MiddlewareError struct {
	Middleware string
	Err        error
}

func (e *MiddlewareError) Error() string { return "the policy " + e.Middleware + ": " + errText(e.Err) }

// Unwrap returns what the policy returned.
func (e *MiddlewareError) Unwrap() error { return e.Err }

// SinkError says that a sink refused an event; the run went on without it.
type SinkError struct{ Err error }

func (e *SinkError) Error() string { return "the trace sink failed: " + errText(e.Err) }

// Unwrap returns what the sink returned.
func (e *SinkError) Unwrap() error { return e.Err }

// errText is an error's text, also if the error is a nil pointer whose Error
// panics: package fmt sees to that.
func errText(err error) string { return fmt.Sprint(err) }

// describe gives an error's facts for the trace. Of an error whose methods panic
// it gives what it can.
func describe(err error) (e trace.Error) {
	e = trace.Error{Type: "error", Message: errText(err)}
	defer func() { _ = recover() }()
	api, isAPI := errors.AsType[*llm.APIError](err)
	_, isPanic := errors.AsType[*PanicError](err)
	_, isPolicy := errors.AsType[*MiddlewareError](err)
	switch {
	case isAPI:
		e.Type, e.Status, e.Code = "api", api.Status, api.Code
		e.RetryAfter, e.Retryable = api.RetryAfter, api.Retryable
	case isPolicy:
		e.Type = "policy"
	case isPanic:
		e.Type = "panic"
	case errors.Is(err, ErrMalformedCall):
		e.Type = "malformed_call"
	case errors.Is(err, ErrDeadline), errors.Is(err, ErrStalled), errors.Is(err, context.DeadlineExceeded):
		e.Type = "deadline"
	case errors.Is(err, context.Canceled):
		e.Type = "cancelled"
	case errors.Is(err, ErrMaxSteps):
		e.Type = "max_steps"
	}
	return e
}

// stopReason says why a run that fails with err ends.
func stopReason(err error) (reason trace.Reason) {
	reason = trace.ReasonError
	defer func() { _ = recover() }() // as in describe
	_, isPolicy := errors.AsType[*MiddlewareError](err)
	switch {
	case isPolicy:
		return trace.ReasonMiddleware
	case errors.Is(err, ErrBudget):
		return trace.ReasonBudget
	case errors.Is(err, ErrDeadline), errors.Is(err, ErrStalled), errors.Is(err, context.DeadlineExceeded):
		return trace.ReasonDeadline
	case errors.Is(err, context.Canceled):
		return trace.ReasonCancel
	}
	return trace.ReasonError
}

// stopReason is stopReason, where the run's context may have been ended with an error of
// the caller's own, and where a model may have ended one of its own.
func (r *run) stopReason(err error) trace.Reason {
	reason := stopReason(err)
	switch {
	case reason == trace.ReasonError && r.life.ctx.Err() != nil && is(err, context.Cause(r.life.ctx)):
		return stopReason(r.life.ctx.Err())
	case r.life.ctx.Err() == nil && (reason == trace.ReasonCancel || reason == trace.ReasonDeadline && !is(err, ErrDeadline) && !is(err, ErrStalled)):
		return trace.ReasonError
	}
	return reason
}

// is is errors.Is of errors whose methods may panic.
func is(err, target error) (same bool) {
	defer func() { _ = recover() }()
	return errors.Is(err, target)
}
