package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Errors for errors.Is.
var (
	// ErrMaxSteps: the run reached its step limit, and OnStepLimit is StepLimitError.
	ErrMaxSteps = errors.New("the run reached its step limit")
	// ErrDeadline: the run took longer than Config.Deadline.
	ErrDeadline = errors.New("the run took longer than its deadline")
	// ErrBudget: middleware called a model after the run had used its Config.TokenBudget.
	ErrBudget = errors.New("the token budget is used up")
	// ErrStalled: a model call delivered no event for Config.StallTimeout.
	ErrStalled = errors.New("the model delivered no event")
	// ErrToolTimeout: a tool took longer than Config.ToolTimeout.
	ErrToolTimeout = errors.New("the tool took too long")
	// ErrEventNotAllowed: middleware emitted an event while tools ran, outside of hooks, or on two
	// goroutines at once.
	ErrEventNotAllowed = errors.New("an event of middleware is not allowed while tools run, outside of hooks, or while another is added: emit it in AfterStep, on one goroutine")
	// ErrModelCallNotAllowed: middleware called a model at a time that does not allow it.
	ErrModelCallNotAllowed = errors.New("a model call of middleware is not allowed now: call next within WrapModel, or StepInfo.CallModel in BeforeStep, AfterModel, BeforeTools or AfterStep, one call at a time")
	// ErrIterationStopped: the consumer of Events stopped the iteration. The error is a
	// context.Canceled, too.
	ErrIterationStopped = fmt.Errorf("the iteration over the run's events was stopped: %w", context.Canceled)
	// ErrMalformedCall: the provider reports a call that it could not parse, or a call of a
	// tool that was not in the request.
	ErrMalformedCall = errors.New("the provider reports a malformed call")
)

// HistoryError reports that providers reject the messages of an Input.
type HistoryError struct {
	Message int    // from 0
	Part    int    // of the message, counted from 0; -1 if the problem is the message itself
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
	Where string // such as "the tool weather"
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.Where, e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// MiddlewareError is an error of middleware, of a stop condition or of OnStep.
type MiddlewareError struct {
	Middleware string
	Err        error
}

func (e *MiddlewareError) Error() string {
	return "the middleware " + e.Middleware + ": " + errText(e.Err)
}

// Unwrap returns the error of the middleware.
func (e *MiddlewareError) Unwrap() error { return e.Err }

// SinkError reports that a sink failed. The run continued without it.
type SinkError struct{ Err error }

func (e *SinkError) Error() string { return "the trace sink failed: " + errText(e.Err) }

// Unwrap returns the error of the sink.
func (e *SinkError) Unwrap() error { return e.Err }

// errText returns the text of an error. Package fmt contains the panic of an Error method
// of a nil pointer.
func errText(err error) string { return fmt.Sprint(err) }

// describe returns the facts of an error for the trace, as far as its methods do not panic.
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

// stopReason returns why a run that fails with err ends.
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

// stopReason also knows the context of the run, which the caller may have ended with an
// error of its own. The end of another context is an error.
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

// is calls errors.Is. The methods of the errors may panic.
func is(err, target error) (same bool) {
	defer func() { _ = recover() }()
	return errors.Is(err, target)
}
