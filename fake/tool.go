package fake

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// Behavior is what a scripted tool does in a call. It waits (Delay, then Gate), and then
// ends in one way: Stall, Panic, Exit, Error or a result. The zero value returns an empty
// string. A scenario file may name only one way to end; in Go the first one in this order
// applies.
type Behavior struct {
	// Arguments selects the calls in [Tool.ByArguments]. They are compared as JSON without
	// regard to the order of members, or as strings if they are not JSON.
	Arguments string
	// Returns is a JSON value. Its encoding is the text of the result, in place of Text.
	Returns json.RawMessage
	Text    string
	Error   string
	Panic   string
	Exit    bool // ends the tool's goroutine without returning
	Delay   time.Duration
	Gate    string
	Stall   bool // waits until the context ends, and fails with its cause
	// IgnoresCancel continues to wait when the context ends.
	IgnoresCancel bool
}

// Tool is a scripted tool. The first entry of ByArguments with a call's arguments applies
// to it, or else the next entry of Calls, or else the tool's own Behavior. The script fails
// after the last of Calls if the own Behavior is zero. A scenario file has either
// ByArguments or Calls, and a client-side tool has neither and no Behavior.
type Tool struct {
	Name        string
	Pos         Pos // of the name
	Description string
	// Parameters is the JSON Schema of the arguments; nil accepts any object.
	Parameters    json.RawMessage
	ParametersPos Pos
	Client        bool // client-side: the caller of the loop returns its results
	Behavior
	Calls       []Behavior
	ByArguments []Behavior
}

// ToolEvent is the start or the end of a call of a tool.
type ToolEvent struct {
	Exit      bool
	Call      string // the id of the call
	Name      string
	Arguments string
	At        time.Time // zero without a Clock
	// Err is the error of an Exit. It is nil after a panic or the end of the goroutine.
	Err error
}

// String returns x:NAME for a start and r:NAME for an end.
func (e ToolEvent) String() string {
	if e.Exit {
		return "r:" + e.Name
	}
	return "x:" + e.Name
}

// Tools runs scripted tools and keeps a log. Set the exported fields before the first
// call. Tools is safe for concurrent use; with a Clock, by the clock's tasks.
type Tools struct {
	// Clock is the clock for delays and gates. Other scripts need none.
	Clock *Clock
	List  []Tool

	mu       sync.Mutex
	used     []int // calls of each tool of List
	log      []ToolEvent
	inFlight int
	peak     int
}

// Run calls a tool and returns or panics by script. It returns the context's cause if the
// context ends while the tool waits, and a [*ScriptError] if the script has no such tool
// or no call left.
func (ts *Tools) Run(ctx context.Context, callID, name, args string) (content []llm.Part, err error) {
	ts.mu.Lock()
	b, err := ts.nextBehavior(name, args)
	ts.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ts.addEvent(1, ToolEvent{Call: callID, Name: name, Arguments: args})
	defer func() { ts.addEvent(-1, ToolEvent{Exit: true, Call: callID, Name: name, Arguments: args, Err: err}) }()
	if b.IgnoresCancel {
		ctx = context.WithoutCancel(ctx)
	}
	if err := b.wait(ctx, ts.Clock); err != nil {
		return nil, err
	}
	return b.end()
}

func (b *Behavior) wait(ctx context.Context, clock *Clock) error {
	if clock == nil && (b.Delay > 0 || b.Gate != "" || b.Stall) {
		return errNoClock
	}
	if b.Delay > 0 || b.Gate != "" {
		if err := pause(ctx, clock, b.Delay, b.Gate); err != nil {
			return err
		}
	}
	if b.Stall {
		return clock.Until(ctx)
	}
	return nil
}

// nextBehavior returns the behavior of the next call. The caller holds the lock.
func (ts *Tools) nextBehavior(name, args string) (Behavior, error) {
	tool := 0
	for tool < len(ts.List) && ts.List[tool].Name != name {
		tool++
	}
	if tool == len(ts.List) {
		return Behavior{}, &ScriptError{Tool: name, Problem: "unknown tool", Diff: "- no call\n+ " + args}
	}
	t := &ts.List[tool]
	for i := range t.ByArguments {
		if c := &t.ByArguments[i]; jsonval.Canonical(c.Arguments) == jsonval.Canonical(args) {
			return *c, nil
		}
	}
	if ts.used == nil {
		ts.used = make([]int, len(ts.List))
	}
	n := ts.used[tool]
	ts.used[tool]++
	switch {
	case n < len(t.Calls):
		return t.Calls[n], nil
	case (len(t.Calls) > 0 || len(t.ByArguments) > 0) && t.isZero():
		return Behavior{}, &ScriptError{
			Tool: name, Response: n, Problem: "no call left: the script has " + count(len(t.Calls), "call"),
			Diff: "- no more calls\n+ " + args,
		}
	}
	return t.Behavior, nil
}

// isZero reports whether all fields but Arguments are zero.
func (b Behavior) isZero() bool {
	b.Arguments = ""
	return reflect.ValueOf(b).IsZero()
}

// addEvent logs an event and adds n to the number of running calls.
func (ts *Tools) addEvent(n int, e ToolEvent) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.inFlight += n
	ts.peak = max(ts.peak, ts.inFlight)
	if ts.Clock != nil {
		e.At = ts.Clock.Now()
	}
	ts.log = append(ts.log, e)
}

// Log returns the starts and ends, in order.
func (ts *Tools) Log() []ToolEvent {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.Clone(ts.log)
}

// Peak returns the highest number of concurrent calls.
func (ts *Tools) Peak() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.peak
}

// InFlight returns the number of running calls.
func (ts *Tools) InFlight() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.inFlight
}
