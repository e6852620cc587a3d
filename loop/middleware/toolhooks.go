package middleware

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// ReasonToolError is the stop reason of a run that ToolFailed.Stop ended.
const ReasonToolError trace.Reason = "tool_error"

// WarnToolNotFound is the code of the warning about a call of an unknown tool.
const WarnToolNotFound = "tool_not_found"

// EventToolFallback is the name of the event of a failed call with a result from a hook. Its
// data is {"call": id}.
const EventToolFallback = "tool.fallback"

// ToolHooks are callbacks for calls that may change their results. Each may be nil, and an
// error of any of them ends the run. Start is called on the run's goroutine, in the order of
// the calls, before any call is run. Failed is called then for invalid calls. An error at that
// point leaves the calls of the step pending. Done and Failed are called when a tool has
// ended, one at a time, in the order in which the tools end. They must not wait for other
// tools or on the loop's clock. Their error ends the run when all calls of the step have
// results.
type ToolHooks struct {
	Start  func(ctx context.Context, t *ToolStarting) error
	Done   func(ctx context.Context, t ToolDone) error
	Failed func(ctx context.Context, t *ToolFailed) error
}

// ToolStarting is a call before lookup, validation and execution.
type ToolStarting struct {
	Step  int // -1 for calls that were pending at the start of the run
	Index int // among the calls of the step
	Call  llm.ToolCall
	// Skip skips the tool. The result is Override, or a default text if Override is nil.
	// Without Skip, a non-nil Override is the result.
	Skip     bool
	Override *loop.Output
}

// ToolDone is a call whose tool succeeded.
type ToolDone struct {
	Call    loop.Call
	Output  loop.Output
	Latency time.Duration
	Metrics map[string]Metric // see SetMetric
}

// ToolFailed is an invalid call, or a call whose tool failed.
type ToolFailed struct {
	ToolDone
	Err error
	// Unknown is true if the tool does not exist.
	Unknown bool
	// Stop ends the run with Err when all calls of the step have results.
	Stop bool
	// Fallback replaces the content of the result, which stays an error.
	Fallback []llm.Part
}

// Middleware returns middleware that calls the hooks. It must be the first middleware with a
// BeforeTools hook: later middleware skips calls that have a result.
func (h ToolHooks) Middleware() loop.Middleware {
	return loop.Middleware{Name: "tool_hooks", New: func(info loop.RunInfo) loop.Hooks {
		t := &toolHooks{ToolHooks: h, clock: info.Clock}
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				d, err := t.after(s)
				return loop.StepChange{Decision: d}, err
			},
			BeforeTools: t.batch, WrapTool: t.wrap, End: t.end,
			AfterStep: func(_ context.Context, s *loop.StepInfo, _ *loop.Step) (loop.Decision, error) { return t.after(s) },
		}
	}}
}

type toolHooks struct {
	ToolHooks
	clock loop.Clock

	mu        sync.Mutex // held during a hook of a tool
	fallbacks []loop.Call
	fatal     []fatal
}

// fatal is an error that ends the run.
type fatal struct {
	index int // of the call
	err   error
}

// batch runs before any call of a step.
func (t *toolHooks) batch(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
	for _, p := range calls {
		if t.Start != nil {
			start := &ToolStarting{Step: s.Step, Index: p.Index, Call: p.Call}
			if err := t.Start(ctx, start); err != nil {
				return nil, d, err
			}
			if answered := start.settle(p); answered != nil {
				decisions = append(decisions, *answered)
				continue
			}
		}
		if p.Output != nil && p.Output.IsError {
			fallback, err := t.refused(ctx, s, p)
			if err != nil {
				return nil, d, err
			}
			decisions = append(decisions, fallback...)
		}
	}
	return decisions, d, nil
}

// settle returns the result from a hook, or nil.
func (t *ToolStarting) settle(p loop.PlannedCall) *loop.CallDecision {
	d := loop.CallDecision{Index: p.Index, Output: t.Override, Reason: ReasonOverride}
	switch {
	case t.Skip && t.Override == nil:
		d = answer(p, ReasonSkipped, false, "skipped: the call was not run")
	case t.Skip:
		d.Output, d.Reason = &loop.Output{Content: t.Override.Content}, ReasonSkipped
	case t.Override == nil:
		return nil
	}
	return &d
}

// refused reports a call that the loop does not run.
func (t *toolHooks) refused(ctx context.Context, s *loop.StepInfo, p loop.PlannedCall) (fallback []loop.CallDecision, err error) {
	text := llm.ToolResult{Content: p.Output.Content}.Text()
	f := &ToolFailed{
		ToolDone: ToolDone{Call: loop.Call{ID: p.Call.ID, Name: p.Call.Name, Arguments: p.Arguments, Step: s.Step, Index: p.Index}, Output: *p.Output},
		Err:      errors.New(text), Unknown: p.Reason == trace.SkipUnknownTool,
	}
	if f.Unknown {
		if err := s.Warn(WarnToolNotFound, text); err != nil {
			return nil, err
		}
	}
	out, err := t.failed(ctx, f)
	if f.Fallback != nil {
		fallback = []loop.CallDecision{{Index: p.Index, Output: &out, Reason: "fallback"}}
	}
	return fallback, err
}

// failed reports a failure and returns the result from a hook.
func (t *toolHooks) failed(ctx context.Context, f *ToolFailed) (out loop.Output, err error) {
	if t.Failed == nil {
		return loop.Output{}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.Failed(ctx, f)
	if f.Stop {
		t.fatal = append(t.fatal, fatal{f.Call.Index, f.Err})
	}
	if f.Fallback != nil {
		t.fallbacks = append(t.fallbacks, f.Call)
	}
	return loop.Output{Content: f.Fallback, IsError: true}, err
}

func (t *toolHooks) wrap(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		ctx, m := withMetrics(ctx)
		began := t.clock.Now()
		out, err := contained(ctx, next, call)
		done := ToolDone{call, out, t.clock.Now().Sub(began), m.copy()}
		switch {
		case err == nil && out.IsError:
			return t.instead(ctx, &ToolFailed{ToolDone: done, Err: errors.New(llm.ToolResult{Content: out.Content}.Text())}, nil)
		case err != nil:
			return t.instead(ctx, &ToolFailed{ToolDone: done, Err: err}, err)
		}
		t.done(ctx, done)
		return out, nil
	}
}

// instead returns the result of a failed tool: its own output or the fallback of a hook.
func (t *toolHooks) instead(ctx context.Context, f *ToolFailed, failure error) (loop.Output, error) {
	out, err := t.failed(ctx, f)
	t.keep(f.Call, err)
	if f.Fallback != nil {
		return out, nil
	}
	return f.Output, failure
}

func (t *toolHooks) done(ctx context.Context, done ToolDone) {
	if t.Done == nil {
		return
	}
	t.mu.Lock()
	err := t.Done(ctx, done)
	t.mu.Unlock()
	t.keep(done.Call, err)
}

// keep stores the error of a hook until all calls of the step have results.
func (t *toolHooks) keep(call loop.Call, err error) {
	if err != nil {
		t.mu.Lock()
		t.fatal = append(t.fatal, fatal{call.Index, err})
		t.mu.Unlock()
	}
}

// contained runs a tool and converts a panic to an error.
func contained(ctx context.Context, next loop.ToolFunc, call loop.Call) (out loop.Output, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &loop.PanicError{Where: "the tool " + call.Name, Value: v, Stack: debug.Stack()}
		}
	}()
	return next(ctx, call)
}

// after ends the run if a hook requested that. It also runs before steps, because pending
// calls of the input are run outside of steps.
func (t *toolHooks) after(s *loop.StepInfo) (loop.Decision, error) {
	t.mu.Lock()
	fallbacks := t.fallbacks
	t.fallbacks = nil
	t.mu.Unlock()
	slices.SortFunc(fallbacks, func(a, b loop.Call) int { return cmp.Compare(a.Index, b.Index) })
	for _, call := range fallbacks {
		if err := emitJSON(s, EventToolFallback, map[string]string{"call": call.ID}); err != nil {
			return loop.Decision{}, err
		}
	}
	d := loop.Decision{Err: t.first()}
	if d.Err != nil {
		d.Action, d.Reason, d.Note = trace.Stop, ReasonToolError, d.Err.Error()
	}
	return d, nil
}

// first removes the errors that end the run and returns that of the first call.
func (t *toolHooks) first() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.fatal) == 0 {
		return nil
	}
	first := slices.MinFunc(t.fatal, func(a, b fatal) int { return cmp.Compare(a.index, b.index) })
	t.fatal = nil
	return first.err
}

// end fails a run that ended for another reason in the step in which a hook requested the end.
func (t *toolHooks) end(context.Context, *loop.Result) error { return t.first() }
