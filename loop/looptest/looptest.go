// Package looptest holds an agent loop against the invariants that package check
// lists: any loop in Go, whoever wrote it. It scripts a model that answers as
// real ones do on bad days, tools that are slow, fail, panic and do not stop,
// and cancels; and it watches what the loop sends, runs, hands out and leaves
// behind.
//
// It sees what can be seen from outside: the requests and messages (the
// invariants that check.Messages sees, and INV-05), what the tools were given
// (INV-07 to INV-09, INV-17, INV-23), what came out (INV-11, INV-12, INV-18,
// INV-22, INV-27), and what only a running loop shows (INV-06 immutability,
// INV-16 no leaks, INV-26 liveness). Caps, budgets, guards and retries are
// options that loops name differently; a trace and package check judge those.
//
// Each case runs in a bubble of testing/synctest: time is virtual, so a tool of
// an hour costs nothing, and a loop that hangs is found without waiting for it.
// For that the loop must wait on channels, contexts, timers and sync only, not
// on a network or a file, while it runs here.
package looptest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// Loop is the loop under test, within an adapter that the test writes.
type Loop interface {
	// Run has one conversation: it calls in.Model with in.Messages, runs the
	// tools that the model asks for, and goes on until nothing is left to do or
	// ctx ends. It returns when nothing of the run is left, with what there was
	// before an error beside the error. The Outcome may be nil with an error.
	//
	// Run is called many times, one run after another. It must admit five steps
	// at least and must not end a run because a tool fails once.
	Run(ctx context.Context, in *Input) (*Result, error)
}

// LoopFunc makes a function a Loop.
type LoopFunc func(ctx context.Context, in *Input) (*Result, error)

// Run calls f.
func (f LoopFunc) Run(ctx context.Context, in *Input) (*Result, error) { return f(ctx, in) }

// Input is what a run starts from.
type Input struct {
	Model        llm.Model
	Tools        []Tool
	Messages     []llm.Message    // the conversation so far; the loop must not change it
	ResponseMode llm.ResponseMode // to be asked for in each request; a loop with one form leaves it
	// Step takes what the loop hands out while it runs: the messages of a step,
	// the history so far. A loop that hands out nothing need not call it. It may
	// be called from any goroutine of the run.
	Step func(messages []llm.Message)
}

// Tool is a tool that the loop has to run.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // the JSON Schema of the arguments, an object
	// Run takes the raw arguments and returns the text of the result. It may be
	// called by several goroutines at once, and it may panic.
	Run func(ctx context.Context, args string) (string, error)
}

// Outcome is what came of a run.
type Result struct {
	// Messages are those that the run added to the Input's, in order.
	Messages []llm.Message
	Usage    *llm.Usage // the sum of the run; nil if the loop counts none
	// Pending are the ids of calls that the loop leaves to its caller.
	Pending []string
}

// Check runs all cases, each as a subtest that begins with the id of the
// invariant which it is about, and fails for each invariant that does not hold,
// with what usually breaks it. To run one alone: go test -run 'TestName/INV-16'.
//
// A tool's panic that the loop does not contain ends the test's process, as it
// would end the loop's: the case INV-23/panic is then the last that was run.
func Check(t *testing.T, loop Loop) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.id+"/"+c.name, func(t *testing.T) {
			for _, v := range c.run(t, loop) {
				t.Errorf("%s: %s\n%s", v.Invariant, v.Message, v.Hint)
			}
		})
	}
}

// Violations runs all cases and returns what does not hold, in their order, an
// invariant once a case. A violation's Run is the name of its case. It does not
// fail t.
func Violations(t *testing.T, loop Loop) []check.Violation {
	t.Helper()
	var found []check.Violation
	for _, c := range cases() {
		found = append(found, c.run(t, loop)...)
	}
	return found
}
