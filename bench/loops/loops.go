// Package loops lets looptape and its peers do the same scripted work, each by
// its own loop, its own tool types and a model double of its own interface.
//
// The doubles are equally cheap: what they answer is built before the run, and
// answering is one look-up by the number of the turn. They neither sleep, log,
// nor look at the request. Every loop runs with its defaults, but for the limit
// of steps where it has one, and buffered where it tells buffered from streamed.
package loops

import (
	"context"

	"github.com/looptape/looptape/bench/work"
)

// Run does the whole work once and returns the final text. It is for one
// goroutine at a time.
type Run func(ctx context.Context) (string, error)

// Options says in which variant a loop does the work.
type Options struct {
	// Typed makes the tool a Go function of a struct, by the library's own means
	// and with the validation that these include. Otherwise the tool takes its
	// arguments as they come.
	Typed bool
	// Sink is where a trace goes: SinkNone, SinkMemory or SinkDisk. Only looptape
	// has one.
	Sink string
	// Dir is where SinkDisk puts its file.
	Dir string
	// OnCall, if not nil, is told of each call that a tool gets, possibly on
	// several goroutines at once. It is nil where time is measured.
	OnCall func(day int)
}

// The sinks.
const (
	SinkNone   = "none"
	SinkMemory = "memory"
	SinkDisk   = "disk"
)

// Loop is one library's loop.
type Loop struct {
	Name string
	// Sinks are the values that Options.Sink may have.
	Sinks []string
	// Tools are the kinds of tool it has: "raw", "typed".
	Tools []string
	// New prepares the work; all that a run does not need to repeat is done here.
	// The cleanup may be nil.
	New func(w *work.Work, o Options) (run Run, cleanup func() error, err error)
}

// All lists the loops: looptape, the peers, and the floor, which is a bare loop
// without any promise.
func All() []Loop {
	plain, both := []string{SinkNone}, []string{"raw", "typed"}
	return []Loop{
		{"looptape", []string{SinkNone, SinkMemory, SinkDisk}, both, newLooptape},
		{"fantasy", plain, both, newFantasy},
		{"eino", plain, both, newEino},
		{"adk", plain, both, newADK},
		{"floor", plain, []string{"raw"}, newFloor},
	}
}

// called tells o's observer of a call, if there is one.
func (o *Options) called(day int) {
	if o.OnCall != nil {
		o.OnCall(day)
	}
}

// rawCalled does it for a tool with raw arguments, which are only read for the
// observer.
func (o *Options) rawCalled(args string) {
	if o.OnCall != nil {
		o.OnCall(dayOf(args))
	}
}
