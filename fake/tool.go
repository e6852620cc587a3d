package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
)

// Behaviour is what a scripted tool does when it is called: it waits (Delay,
// then Gate), and then ends in one way: Stall, Panic, Exit, Error, or a result.
// The zero value returns an empty text at once. A scenario file that names
// several ways to end is refused; in Go the first of them in this order counts.
type Behavior struct {
	// Returns is a JSON value; the result is its text. It goes before Text.
	Returns json.RawMessage
	Text    string
	Error   string
	Panic   string
	Exit    bool // ends its goroutine without returning
	Delay   time.Duration
	Gate    string
	Stall   bool // waits until its context ends, and fails with its cause
	// IgnoresCancel makes it wait on when its context ends.
	IgnoresCancel bool
}

// Tool is a scripted tool. A call is answered by the first of ByArguments that fits,
// else by the next of Calls, else by the tool's own Behaviour. When Calls are
// used up and the own Behaviour is zero, the script has run out. A scenario file
// has either ByArguments or Calls, and neither they nor a Behaviour for a client's tool.
type Tool struct {
	Name        string
	Pos         Pos // of the name
	Description string
	// Parameters is the JSON Schema of the arguments; nil takes any object.
	Parameters    json.RawMessage
	ParametersPos Pos
	Client        bool // it has no code: the caller of the loop answers
	Behavior
	Calls       []Behavior
	ByArguments []ArgumentsCase
}

// ArgumentsCase is a Behaviour for certain arguments.
type ArgumentsCase struct {
	// Args are compared as JSON, whatever the order of members and the spaces; if
	// they are not JSON, as text.
	Arguments string
	Behavior
}

// ToolEvent is an entry into a tool, or the exit from it.
type ToolEvent struct {
	Exit      bool
	Call      string // its id
	Name      string
	Arguments string
	At        time.Time // zero without a Clock
	// Err is what was returned; with Exit alone. A panic or the end of the
	// goroutine leaves it nil.
	Err error
}

// String is the short form: x:NAME for an entry, r:NAME for an exit.
func (e ToolEvent) String() string {
	if e.Exit {
		return "r:" + e.Name
	}
	return "x:" + e.Name
}

// Tools runs scripted tools and keeps a log. It may be used by many goroutines
// at once; with a Clock, by its tasks. The exported fields must be set before
// the first call.
type Tools struct {
	// Clock is for delays and gates; a script without them needs none.
	Clock *Clock
	List  []Tool

	mu       sync.Mutex
	used     map[string]int
	log      []ToolEvent
	inFlight int
	peak     int
}

// NewTools returns tools that wait on the clock, which may be nil if none waits.
func NewTools(clock *Clock, tools ...Tool) *Tools { return &Tools{Clock: clock, List: tools} }

// Run calls a tool. It returns what the script says, panics if the script says
// so, and returns the context's cause if the context ends while it waits. An
// unknown tool and a script that runs out give a *ScriptError.
func (ts *Tools) Run(ctx context.Context, callID, name, args string) (content []llm.Part, err error) {
	ts.mu.Lock()
	b, err := ts.behaviour(name, args)
	ts.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ts.enter(ToolEvent{Call: callID, Name: name, Arguments: args})
	defer func() { ts.leave(ToolEvent{Exit: true, Call: callID, Name: name, Arguments: args, Err: err}) }()
	if b.IgnoresCancel {
		ctx = context.WithoutCancel(ctx)
	}
	if err := b.wait(ctx, ts.Clock); err != nil {
		return nil, err
	}
	switch {
	case b.Panic != "":
		panic(b.Panic)
	case b.Exit:
		runtime.Goexit()
	case b.Error != "":
		return nil, errors.New(b.Error)
	}
	text := b.Text
	if b.Returns != nil {
		text = string(b.Returns)
	}
	return []llm.Part{llm.Text{Text: text}}, nil
}

func (b *Behavior) wait(ctx context.Context, clock *Clock) error {
	if clock == nil {
		if b.Delay > 0 || b.Gate != "" || b.Stall {
			return errNoClock
		}
		return nil
	}
	if b.Delay > 0 {
		if err := clock.Sleep(ctx, b.Delay); err != nil {
			return err
		}
	}
	if b.Gate != "" {
		if err := clock.Gate(b.Gate).Wait(ctx); err != nil {
			return err
		}
	}
	if b.Stall {
		return clock.Until(ctx)
	}
	return nil
}

// behaviour chooses what the next call does. The lock is held.
func (ts *Tools) behaviour(name, args string) (Behavior, error) {
	i := slices.IndexFunc(ts.List, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Behavior{}, &ScriptError{Tool: name, Problem: "the script has no such tool", Diff: "- no call\n+ " + args}
	}
	t := &ts.List[i]
	for _, c := range t.ByArguments {
		if llm.Canonical(c.Arguments) == llm.Canonical(args) {
			return c.Behavior, nil
		}
	}
	if ts.used == nil {
		ts.used = map[string]int{}
	}
	n := ts.used[name]
	ts.used[name]++
	switch {
	case n < len(t.Calls):
		return t.Calls[n], nil
	case (len(t.Calls) > 0 || len(t.ByArguments) > 0) && t.zero():
		return Behavior{}, &ScriptError{
			Tool: name, Response: n, Problem: fmt.Sprintf("the script runs out: it has %s", count(len(t.Calls), "call")),
			Diff: "- no more calls\n+ " + args,
		}
	}
	return t.Behavior, nil
}

// zero reports whether the behaviour says nothing at all.
func (b *Behavior) zero() bool {
	return b.Returns == nil && b.Text == "" && b.Error == "" && b.Panic == "" && !b.Exit &&
		b.Delay == 0 && b.Gate == "" && !b.Stall && !b.IgnoresCancel
}

func (ts *Tools) enter(e ToolEvent) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.inFlight++
	ts.peak = max(ts.peak, ts.inFlight)
	ts.note(e)
}

func (ts *Tools) leave(e ToolEvent) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.inFlight--
	ts.note(e)
}

func (ts *Tools) note(e ToolEvent) {
	if ts.Clock != nil {
		e.At = ts.Clock.Now()
	}
	ts.log = append(ts.log, e)
}

// Log returns the entries and exits, in order.
func (ts *Tools) Log() []ToolEvent {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.Clone(ts.log)
}

// Peak is the highest number of calls that ran at once.
func (ts *Tools) Peak() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.peak
}

// InFlight is the number of calls that run now.
func (ts *Tools) InFlight() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.inFlight
}
