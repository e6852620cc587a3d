package loop

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Run is a started run. It makes progress on the goroutine that ranges over its Events or
// calls Wait: the loop has no queue and no goroutine of its own. For a run in the
// background, call Wait on another goroutine.
//
// Hooks, OnStep and the only tool of a step run on that goroutine, too. If one of them ends
// it (runtime.Goexit, as FailNow of a test does), the run ends there: its trace is
// completed, and other callers of Wait get an error.
type Run struct {
	begin sync.Once
	done  chan struct{}
	exec  func(yield func(trace.Event, error) bool)

	stop atomic.Bool
	last trace.Event
	res  *Result
	err  error

	values []toolValue // if the run has a consumer of its events or a sink
}

// toolValue is the Output.Value of a call that did not fail.
type toolValue struct {
	callID string
	value  any
}

// Result is the result of a run. With an error it contains what the run did before the
// error.
type Result struct {
	// Text is the text of the last step.
	Text string
	// Steps are the completed steps, in order. With BreakWithoutTools they are nil if the run had
	// no tools.
	Steps []*Step
	// Messages are what the run added to those of its Input: Continue(input, …) with them is
	// the whole conversation.
	Messages []llm.Message
	// Usage is the sum over all model calls, failed ones included.
	Usage        llm.Usage
	UsageBy      map[trace.Purpose]llm.Usage // nil if all calls were for the answer
	FinishReason llm.FinishReason            // of the last response, as reported
	// StopReason is why the run ended; trace.ReasonEndTurn is the natural end.
	StopReason trace.Reason
	// Note explains StopReason, such as the tool that tripped the runaway guard.
	Note string
	// Pending are the calls of the last response that have no results: client-side calls
	// and those of their step, and the calls of a run that was suspended or stopped before
	// they ran.
	Pending    []llm.ToolCall
	ModelCalls int // retries included
	ToolSteps  int // steps in which calls got results
	// Partial is the partial response of the last model call, if that failed.
	Partial *llm.Response
}

// Step is one model call with its tool calls.
type Step struct {
	Index int    // counted from 0
	Type  string // "initial", or "tool-result" for each step after the first
	Text  string
	// Reasoning is the reasoning of the response, and HasReasoning reports whether it has
	// any.
	Reasoning    string
	HasReasoning bool
	Calls        []llm.ToolCall
	// Results have the indexes of Calls; nil if nothing was run.
	Results      []llm.ToolResult
	FinishReason llm.FinishReason // as reported
	Usage        llm.Usage        // of this response
	// Messages are what this step added to the history.
	Messages []llm.Message

	values []any // of Results, or nil if all are nil
	marks  []mark
	failed bool // a result counts for the runaway guard
}

// Value returns what the tool of Results[i] returned: its [Output.Value], or the text of the result
// if it failed or returned no value.
func (s *Step) Value(i int) any {
	if s.values != nil && s.values[i] != nil {
		return s.values[i]
	}
	return s.Results[i].Text()
}

// mark is what became of a call, for the runaway guard.
type mark byte

const (
	markRan    mark = 1 << iota // the tool was run
	markCounts                  // a failure counts as one of the tool
)

// Start prepares a run and returns immediately; see [Run] for when it makes progress. The end
// of ctx ends the run.
func (a *Agent) Start(ctx context.Context, in Input) *Run {
	r := &Run{done: make(chan struct{})}
	r.exec = func(yield func(trace.Event, error) bool) {
		in := a.name(ctx, in)
		k := newRun(a, in, newRecorder(a, in, yield), r)
		defer func() {
			v := recover()
			r.res, r.err, r.last = &k.res, k.err, k.rec.last
			close(r.done)
			if c, is := v.(consumerPanic); is {
				v = c.value
			}
			if v != nil {
				panic(v)
			}
		}()
		k.execute(withoutCall(ctx))
	}
	return r
}

// Events runs the loop and yields its events, deltas included. The last item is the
// terminal event, with the error of the run if it failed, which no other item has.
// Stopping the iteration early cancels the run, waits for running tools, and completes the
// trace.
//
// Only the first iteration yields all events. Another one waits for the end and yields the
// terminal event. The body of the range must not call Wait.
func (r *Run) Events() iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		first := false
		r.begin.Do(func() {
			first = true
			r.exec(yield)
		})
		if !first {
			<-r.done
			yield(r.last, r.err)
		}
	}
}

// Wait runs the loop to its end, or waits until another goroutine has, and returns the
// result. The Result is never nil.
func (r *Run) Wait() (*Result, error) {
	r.begin.Do(func() { r.exec(nil) })
	<-r.done
	return r.res, r.err
}

// Stop ends the run after the current step, or before the first one, with
// trace.ReasonStopped. It does not interrupt the model call and the tools of the step; the
// end of the context does. It is safe for use by many goroutines.
func (r *Run) Stop() { r.stop.Store(true) }

// Value returns the [Output.Value] of a call, from the trace.ToolEnd or trace.ToolSkip of the call on.
// It returns nil if the call failed or has no value, and if Wait runs a run without a sink. Call it
// within the iteration over Events, or after the end of the run.
func (r *Run) Value(callID string) any {
	for _, v := range slices.Backward(r.values) { // the calls of the last step are at the end
		if v.callID == callID {
			return v.value
		}
	}
	return nil
}
