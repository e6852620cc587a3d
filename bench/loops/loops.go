// Package loops runs the same scripted work in looptape and in its peers. Each library uses its
// own loop, its own tool types and a model double for its own interface.
//
// The doubles have the same cost: their responses are built before the run, and a response is
// one look-up by its number. They do not sleep, log or read the request. Each loop has its
// default options, except for the step limit.
package loops

import (
	"context"
	"encoding/json"

	"github.com/looptape/looptape/bench/work"
)

// Run does the whole work once and returns the final text. It is for use by one goroutine.
type Run func(ctx context.Context) (string, error)

// Options selects the variant of a loop.
type Options struct {
	// Typed makes the tool a Go function of a struct, with the constructor of the library and
	// its validation. Otherwise the tool gets its arguments as the library has them.
	Typed bool
	// Stream streams the run: the model sends deltas, and the caller reads the run through the
	// streaming API of the library. Otherwise responses are non-streaming.
	Stream bool
	// Sink is the destination of the trace: SinkNone, SinkMemory or SinkDisk. Only looptape has
	// one.
	Sink string
	// Dir is the folder of the file of SinkDisk.
	Dir string
	// OnCall, if not nil, is called for each tool call, possibly concurrently. It is nil while
	// time is measured.
	OnCall func(day int)
}

// The sinks.
const (
	SinkNone   = "none"
	SinkMemory = "memory"
	SinkDisk   = "disk"
)

// Loop is the loop of one library.
type Loop struct {
	Name string
	// Sinks are the values that Options.Sink may have.
	Sinks []string
	// Tools are its kinds of tools: "raw", "typed".
	Tools []string
	// Streams is true if the loop has a streaming API.
	Streams bool
	// New prepares the work: all that runs need not repeat. The cleanup may be nil.
	New func(w *work.Work, o Options) (run Run, cleanup func() error, err error)
}

// All returns the loops: looptape, the peers, and the floor, which is a minimal loop without
// guarantees.
func All() []Loop {
	plain, both := []string{SinkNone}, []string{"raw", "typed"}
	return []Loop{
		{"looptape", []string{SinkNone, SinkMemory, SinkDisk}, both, true, newLooptape},
		{"fantasy", plain, both, true, newFantasy},
		{"eino", plain, both, true, newEino},
		{"adk", plain, both, true, newADK},
		{"floor", plain, []string{"raw"}, false, newFloor},
	}
}

// script is a list of responses of a double.
type script[T any] struct {
	responses []T
	next      int
}

func (s *script[T]) add(response T) { s.responses = append(s.responses, response) }

// take returns the next response.
func (s *script[T]) take() T {
	s.next++
	return s.responses[s.next-1]
}

// called reports a call to OnCall.
func (o *Options) called(day int) {
	if o.OnCall != nil {
		o.OnCall(day)
	}
}

// rawCalled reports a call with raw arguments, which are decoded only for OnCall. The day is -1 if
// it is missing.
func (o *Options) rawCalled(args string) {
	if o.OnCall == nil {
		return
	}
	a := work.Arguments{Day: -1}
	if json.Unmarshal([]byte(args), &a) != nil {
		a.Day = -1
	}
	o.OnCall(a.Day)
}
