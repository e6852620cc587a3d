package loop

import (
	"context"
	"iter"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Run is a run that was started. It makes progress while its events are read,
// or while somebody waits for it, on the goroutine that does: there is no queue
// between the loop and its consumer, and a Run that nobody looks at costs
// nothing. For a run in the background, call Wait on a goroutine.
//
// A step's only tool, hooks and OnStep are called on that goroutine as well. If one
// of them ends it (runtime.Goexit, as FailNow of a test does), the run ends there:
// its trace is completed, and who else waits for it gets an error.
type Run struct {
	begin sync.Once
	done  chan struct{}
	exec  func(yield func(trace.Event, error) bool)

	stop atomic.Bool
	last trace.Event
	res  *Result
	err  error
}

// Result is what a run has come to. With an error it holds what there was
// before it.
type Result struct {
	// Text is the text of the last step.
	Text string
	// Steps are the steps that were completed, one a model turn, in order; with
	// NoToolsBreak they are nil where there were no tools.
	Steps []*Step
	// Messages are what the run added to its Input's: Continue(input, …) with
	// them is the whole conversation.
	Messages []llm.Message
	// Usage is the sum over all model calls, failed ones included.
	Usage        llm.Usage
	UsageBy      map[trace.Purpose]llm.Usage // nil where all was for the answer
	FinishReason llm.FinishReason            // of the last turn, as reported
	// Stop is why the run ended; trace.ReasonEndTurn is the natural end.
	StopReason trace.Reason
	// Note says more about Stop, such as the tool that tripped the guard.
	Note string
	// Pending are the calls of the last turn that have no results: of client tools and
	// what came with them, of a run that was suspended, or that a policy stopped before
	// they were run.
	Pending    []llm.ToolCall
	ModelCalls int // retries included
	ToolSteps  int // steps in which calls got results
	// Partial is what had come of the answer when the last model call failed.
	Partial *llm.Response
}

// Step is one model turn with what came of it.
type Step struct {
	Index int // counted from 0
	Type  StepType
	Text  string
	// Reasoning is the turn's reasoning; Reasoned tells whether there was any.
	Reasoning    string
	HasReasoning bool
	Calls        []llm.ToolCall
	// Results stand index by index beside Calls; nil if nothing was run.
	Results      []llm.ToolResult
	FinishReason llm.FinishReason // as reported
	Usage        llm.Usage        // of this turn
	// Messages are what this step added to the history.
	Messages []llm.Message

	marks  []mark
	failed bool // some result counts for the guard
}

// mark tells what became of a call, for the guard.
type mark byte

const (
	markRan    mark = 1 << iota // its tool was run
	markCounts                  // its failure is the tool's or the model's
)

// StepType says what a step followed.
type StepType string

// The step types.
const (
	StepInitial    StepType = "initial"
	StepToolResult StepType = "tool-result"
)

// Start prepares a run and returns at once; see Run for when it makes progress.
// Cancelling ctx ends the run.
func (a *Agent) Start(ctx context.Context, in Input) *Run {
	r := &Run{done: make(chan struct{})}
	r.exec = func(yield func(trace.Event, error) bool) {
		in := a.name(ctx, in)
		k := newRun(a, in, newRecorder(a, in, yield), &r.stop)
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

// Events runs the loop and yields its events; deltas are among them. The last
// item is the terminal event, together with the run's error if it failed, and
// that is the only place of the error. Leaving early cancels the run, waits for
// the tools that are running, and ends it; its trace is complete all the same.
//
// The events of a run can be had once: called again, Events waits for the end
// and yields the terminal event alone. Wait must not be called from the body of
// the range.
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

// Wait runs the loop to its end, or waits until another goroutine has, and
// returns what it came to. The Result is never nil.
func (r *Run) Wait() (*Result, error) {
	r.begin.Do(func() { r.exec(nil) })
	<-r.done
	return r.res, r.err
}

// Stop ends the run after the step that is under way, with trace.ReasonStopped, or
// before its first one. The step's model call and its tools come to their end; a
// context ends them sooner. It may be called at any time, by anybody.
func (r *Run) Stop() { r.stop.Store(true) }

// contain makes a panic an error; it is deferred. The name of the place is put
// together only when it is needed.
func contain(kind, name string, err *error) {
	if v := recover(); v != nil {
		if c, is := v.(consumerPanic); is {
			panic(c)
		}
		*err = &PanicError{Where: kind + name, Value: v, Stack: debug.Stack()}
	}
}
