package deepagents

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// Stream is a run with live streams of its events. The run makes progress while a goroutine
// reads a stream or waits. The events are stored, so each stream may be read any number of
// times. A second reader waits for the first. The run is canceled if the first reader stops
// early. Do not read or wait for a stream inside an iteration over it. It is safe for use by
// many goroutines.
type Stream struct {
	r *run

	once   sync.Once // which lets other readers wait
	events []result
	res    *Result
	err    error
}

type result struct {
	ev  trace.Event
	err error
}

// Execute starts an agent and returns immediately. Its arguments are those of [Generate].
// It returns an error if the run could not be started. [Stream.Wait] returns the failure
// of the run.
func Execute(ctx context.Context, agent *Agent, in loop.Input, vars *middleware.Vars, opts *Options) (*Stream, error) {
	r, err := start(ctx, agent, in, vars, opts, nil)
	if err != nil {
		return nil, err
	}
	return &Stream{r: r}, nil
}

// Swarm starts an agent and returns a UI message stream. It applies the PrepareEnd hook
// of the root. The stream has one start and one finish, whichever agent responds. It can
// be read once. in contains the messages; the other arguments are those of [Generate].
func Swarm(ctx context.Context, agent *Agent, in loop.Input, vars *middleware.Vars, opts *Options, ui uistream.Options) (iter.Seq[uistream.Part], error) {
	var hook endHook
	if agent != nil {
		hook = agent.PrepareEnd
	}
	r, err := start(ctx, agent, in, vars, opts, hook)
	if err != nil {
		return nil, err
	}
	return uistream.Parts(r.loop.Events(), ui), nil
}

// drive runs the loop unless another reader has, and waits for its end.
func (s *Stream) drive(yield func(trace.Event, error) bool) (first bool) {
	s.once.Do(func() {
		first = true
		store := func(ev trace.Event, err error) bool {
			s.events = append(s.events, result{ev, err})
			return yield == nil || yield(ev, err)
		}
		s.r.loop.Events()(store)
		if s.events[len(s.events)-1].ev.Body.Kind() != trace.KindRunEnd {
			yield = nil
			s.r.loop.Events()(store) // read the end after the reader has stopped
		}
		s.res, s.err = s.r.result(s.r.loop.Wait())
	})
	return first
}

// Events yields the events of the run. The last event has the error of a failed run.
func (s *Stream) Events() iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		if s.drive(yield) {
			return
		}
		for _, t := range s.events {
			if !yield(t.ev, t.err) {
				return
			}
		}
	}
}

// TextStream yields the text deltas of all steps.
func (s *Stream) TextStream() iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range s.FullStream() {
			if p.Type == "text-delta" && !yield(p.TextDelta) {
				return
			}
		}
	}
}

// FullStream yields the parts of the run.
func (s *Stream) FullStream() iter.Seq[Part] { return Parts(s.Events()) }

// Text waits for the end of the run, as Wait does, and returns the text of the last step.
func (s *Stream) Text() (string, error) {
	return awaited(s, func(res *Result) string { return res.Text })
}

// Steps waits for the end of the run and returns its steps, each with its calls and results.
func (s *Stream) Steps() ([]loop.Step, error) {
	return awaited(s, func(res *Result) []loop.Step { return res.Steps })
}

// ToolCalls waits for the end of the run and returns the calls of the last step.
func (s *Stream) ToolCalls() ([]llm.ToolCall, error) {
	return awaited(s, func(res *Result) []llm.ToolCall { return res.ToolCalls })
}

// ToolResults waits for the end of the run and returns the results of the last step.
func (s *Stream) ToolResults() ([]llm.ToolResult, error) {
	return awaited(s, func(res *Result) []llm.ToolResult { return res.ToolResults })
}

// awaited returns a value of the result, or the failure of the run.
func awaited[T any](s *Stream, value func(*Result) T) (v T, err error) {
	res, err := s.Wait()
	if err != nil {
		return v, err
	}
	return value(res), nil
}

// UI yields the run as a UI message stream.
func (s *Stream) UI(opts uistream.Options) iter.Seq[uistream.Part] {
	return uistream.Parts(s.Events(), opts)
}

// Consume runs the loop until the run ends. It passes a failure only to onError, which
// may be nil.
func (s *Stream) Consume(onError func(error)) {
	if _, err := s.Wait(); err != nil && onError != nil {
		onError(err)
	}
}

// Wait runs the loop until the run ends, or waits for the reader that does. It returns
// the same result as [Generate].
func (s *Stream) Wait() (*Result, error) {
	s.drive(nil)
	if s.res == nil {
		return nil, errors.New("deepagents: Wait: the reader of the stream ended its goroutine: keep it until the end of the run")
	}
	return s.res, s.err
}

// State returns the variables of the run.
func (s *Stream) State() *middleware.Vars { return s.r.scope }
