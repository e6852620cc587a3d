package middleware

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"sort"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// ToolHooks are callbacks for calls that may change their results. Each may be nil, and an
// error of any of them ends the run. Start is called on the run's goroutine, in the order of
// the calls, before any call is run, or with [loop.Config.BeforeToolsEachCall] before its call is run.
// Failed is called then for invalid calls. An error at that
// point leaves the calls of the step pending. Done and Failed are called when a tool has
// ended, one at a time. They must not wait for other tools or on the loop's clock. Their error
// ends the run when all calls of the step have results, or with BeforeToolsEachCall before the next
// call, and that call and all later ones get error results.
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
	Metrics map[string]Metric // see [SetMetric]
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

// Metric is a measurement of a tool.
type Metric struct {
	Value any    `json:"value"` // a number, a string or a boolean
	Type  string `json:"type"`  // the kind of measurement, such as latency
}

// SetMetric stores a measurement of a tool under a name. ctx is the context of the tool.
// SetMetric reports whether the measurement is used; this requires [ToolHooks].
func SetMetric(ctx context.Context, name string, m Metric) bool {
	all, ok := ctx.Value(metricsKey{}).(*metrics)
	if ok {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.list[name] = m
	}
	return ok
}

type metrics struct {
	mu   sync.Mutex
	list map[string]Metric
}

type metricsKey struct{}

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
			BeforeTools: func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
				if d, err := t.after(s); d.Action != "" || err != nil { // of a call that ran before these
					return nil, d, err
				}
				return decideEach(t.before)(ctx, s, calls)
			},
			WrapTool:  t.wrap,
			AfterStep: func(_ context.Context, s *loop.StepInfo, _ *loop.Step) (loop.Decision, error) { return t.after(s) },
			// Fail a run that ended for another reason in the step in which a hook requested the end.
			End: func(_ context.Context, res loop.Result) (loop.Result, error) { return res, t.first() },
		}
	}}
}

type toolHooks struct {
	ToolHooks
	clock loop.Clock

	mu        sync.Mutex // held during a hook of a tool
	fallbacks []loop.Call
	fatal     error // of the first call with an error that ends the run
	index     int   // of that call
}

// before runs before a call of a step, and before all calls are run.
func (t *toolHooks) before(ctx context.Context, s *loop.StepInfo, p loop.PlannedCall) ([]loop.CallDecision, error) {
	if t.Start != nil {
		start := &ToolStarting{Step: s.Step, Index: p.Index, Call: p.Call}
		if err := t.Start(ctx, start); err != nil {
			return nil, err
		}
		if effect := start.effect(p); effect != nil {
			return effect, nil
		}
	}
	if p.Output != nil && p.Output.IsError {
		return t.rejected(ctx, s, p)
	}
	return nil, nil
}

func (t *ToolStarting) effect(p loop.PlannedCall) []loop.CallDecision {
	switch {
	case t.Skip && t.Override == nil:
		return substitute(p, ReasonSkipped, "skipped: the call was not run")
	case t.Skip:
		return []loop.CallDecision{{Index: p.Index, Output: &loop.Output{Content: t.Override.Content}, Reason: ReasonSkipped}}
	case t.Override != nil:
		return []loop.CallDecision{{Index: p.Index, Output: t.Override, Reason: ReasonOverride}}
	}
	return nil
}

// rejected reports a call that the loop does not run.
func (t *toolHooks) rejected(ctx context.Context, s *loop.StepInfo, p loop.PlannedCall) (fallback []loop.CallDecision, err error) {
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if err = t.failed(ctx, f); f.Fallback != nil {
		fallback = []loop.CallDecision{{Index: p.Index, Output: &f.Output, Reason: "fallback"}}
	}
	return fallback, err
}

// failed reports a failure and applies the fallback of a hook. The caller has locked t.
func (t *toolHooks) failed(ctx context.Context, f *ToolFailed) error {
	if t.Failed == nil {
		return nil
	}
	err := t.Failed(ctx, f)
	if f.Stop {
		t.keep(f.Call, f.Err)
	}
	if f.Fallback != nil {
		t.fallbacks = append(t.fallbacks, f.Call)
		f.Output = loop.Output{Content: f.Fallback, IsError: true}
	}
	return err
}

func (t *toolHooks) wrap(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		m := &metrics{list: map[string]Metric{}}
		began := t.clock.Now()
		out, err := contained(context.WithValue(ctx, metricsKey{}, m), next, call)
		m.mu.Lock()
		done := ToolDone{call, out, t.clock.Now().Sub(began), maps.Clone(m.list)}
		m.mu.Unlock()
		if err == nil && !out.IsError {
			if t.Done != nil {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.keep(call, t.Done(ctx, done))
			}
			return out, nil
		}
		f := &ToolFailed{ToolDone: done, Err: err}
		if err == nil {
			f.Err = errors.New(llm.ToolResult{Content: out.Content}.Text())
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.keep(call, t.failed(ctx, f))
		if f.Fallback != nil {
			err = nil
		}
		return f.Output, err
	}
}

// keep stores an error for the end of the step. The caller has locked t.
func (t *toolHooks) keep(call loop.Call, err error) {
	if err != nil && (t.fatal == nil || call.Index < t.index) {
		t.fatal, t.index = err, call.Index
	}
}

func contained(ctx context.Context, next loop.ToolFunc, call loop.Call) (out loop.Output, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &loop.PanicError{Where: "the tool " + call.Name, Value: v, Stack: debug.Stack()}
		}
	}()
	return next(ctx, call)
}

// after ends the run if a hook requested that, also before steps because of pending calls.
func (t *toolHooks) after(s *loop.StepInfo) (d loop.Decision, err error) {
	t.mu.Lock()
	fallbacks := t.fallbacks
	t.fallbacks = nil
	t.mu.Unlock()
	sort.SliceStable(fallbacks, func(i, j int) bool { return fallbacks[i].Index < fallbacks[j].Index })
	for _, call := range fallbacks {
		if err := emitJSON(s, EventToolFallback, map[string]string{"call": call.ID}); err != nil {
			return d, err
		}
	}
	if err := t.first(); err != nil {
		d = loop.Decision{Action: trace.Stop, Reason: ReasonToolError, Note: err.Error(), Err: err}
	}
	return d, nil
}

// first removes and returns the error that ends the run.
func (t *toolHooks) first() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err, t.fatal = t.fatal, nil
	return err
}
