package deepagents

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// Stream is a run that is told while it goes on. It makes progress while somebody
// reads one of its streams, or waits. Each of its streams may be read any number of
// times: what was told is kept. A second reader waits for the first, whoever leaves
// the first one before its end cancels the run, and none may be waited for, or read,
// from within another. It is safe for use by many goroutines.
type Stream struct {
	r    *run
	loop *loop.Run

	once   sync.Once // which lets others wait
	events []told
	res    *Result
	err    error
}

type told struct {
	ev  trace.Event
	err error
}

// Execute starts an agent and returns at once; see Generate, whose arguments it has.
// The error is of a run that could not be started; what goes wrong in it is that of
// Wait.
func Execute(ctx context.Context, agent *Agent, in loop.Input, vars *middleware.Vars, opts *Options) (*Stream, error) {
	return execute(ctx, newRun(agent, orEmpty(vars), opts), in, nil)
}

func execute(ctx context.Context, r *run, in loop.Input, hook middleware.EndHook) (*Stream, error) {
	started, err := r.start(ctx, in, hook)
	if err != nil {
		return nil, err
	}
	return &Stream{r: r, loop: started}, nil
}

// Swarm starts an agent and tells it as a UI message stream, the hook PrepareEnd of
// the root included: one start, one finish, whoever answers. It is to be read once.
// in are the messages, and the other arguments are those of Generate.
func Swarm(ctx context.Context, agent *Agent, in loop.Input, vars *middleware.Vars, opts *Options, ui uistream.Options) (iter.Seq[uistream.Part], error) {
	r := newRun(agent, orEmpty(vars), opts)
	var hook middleware.EndHook
	if agent != nil {
		hook = agent.PrepareEnd
	}
	started, err := r.start(ctx, in, hook)
	if err != nil {
		return nil, err
	}
	return uistream.Parts(started.Events(), ui), nil
}

// drive runs the loop, unless somebody has, and waits for its end.
func (s *Stream) drive(yield func(trace.Event, error) bool) (first bool) {
	s.once.Do(func() {
		first = true
		for ev, err := range s.loop.Events() {
			s.events = append(s.events, told{ev, err})
			if yield != nil && !yield(ev, err) {
				break
			}
		}
		if s.events[len(s.events)-1].ev.Body.Kind() != trace.KindRunEnd {
			for ev, err := range s.loop.Events() { // how it ended after the reader had left
				s.events = append(s.events, told{ev, err})
			}
		}
		s.res, s.err = s.r.result(s.loop.Wait())
	})
	return first
}

// Events yields the run's events; the last one has its error, if it failed.
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

// Text yields the text of all steps as it comes.
func (s *Stream) Text() iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range s.Full() {
			if p.Type == "text-delta" && !yield(p.TextDelta) {
				return
			}
		}
	}
}

// Full yields the parts of the run.
func (s *Stream) Full() iter.Seq[Part] { return Parts(s.Events()) }

// UI yields the run as a UI message stream.
func (s *Stream) UI(opts uistream.Options) iter.Seq[uistream.Part] {
	return uistream.Parts(s.Events(), opts)
}

// Consume runs the loop to its end and gives onError, which may be nil, what went
// wrong; it fails in no other way.
func (s *Stream) Consume(onError func(error)) {
	if _, err := s.Wait(); err != nil && onError != nil {
		onError(err)
	}
}

// Wait runs the loop to its end, or waits for who does, and returns what it came to,
// as Generate does.
func (s *Stream) Wait() (*Result, error) {
	s.drive(nil)
	if s.res == nil {
		return nil, errors.New("deepagents: the reader of the stream ended its goroutine")
	}
	return s.res, s.err
}

// State returns the variables of the run.
func (s *Stream) State() middleware.Scope { return s.r.scope }
