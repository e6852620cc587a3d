package loop

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Agent is a model with a configuration. It is safe for use by many goroutines;
// runs share nothing.
type Agent struct {
	model llm.Model
	cfg   Config
	tools *toolSet
	opts  trace.Options
	given struct { // what New got, for With
		model llm.Model
		cfg   Config
	}
	runs *atomic.Int64 // runs that were begun without a name
}

// New checks cfg (nil is the zero value) and returns an Agent. It keeps a copy;
// slices and maps in cfg must not be changed afterwards.
func New(model llm.Model, cfg *Config) (*Agent, error) {
	if model == nil {
		return nil, fmt.Errorf("loop: New needs a model, got nil")
	}
	a := &Agent{runs: new(atomic.Int64)}
	if cfg != nil {
		a.cfg = *cfg
	}
	a.given.model, a.given.cfg = model, a.cfg
	a.cfg.fill()
	if err := a.cfg.check(); err != nil {
		return nil, fmt.Errorf("loop: %w", err)
	}
	tools, err := newToolSet(a.cfg.Tools)
	if err != nil {
		return nil, fmt.Errorf("loop: %w", err)
	}
	a.model = a.cfg.withStallTimeout(model)
	a.tools, a.opts = tools, a.cfg.declare()
	return a, nil
}

// With returns an Agent for runs that differ in some options, which change sets; its
// runs are numbered along with a's. The errors are those of New.
func (a *Agent) With(change func(*Config)) (*Agent, error) {
	cfg := a.given.cfg
	change(&cfg)
	b, err := New(a.given.model, &cfg)
	if err != nil {
		return nil, err
	}
	b.runs = a.runs
	return b, nil
}

// Input is what a run starts from.
type Input struct {
	// Messages are the conversation so far, the new user message last. They are
	// not changed. Of those that no provider takes the run's error is a HistoryError.
	// What the model gets has an id of its own for each call and results in the order
	// of the calls, whatever a history from elsewhere has.
	Messages []llm.Message
	// ID is the run's name in its trace. Empty means r1 for the Agent's first run
	// without one, r2 for the next …; for a run with a Parent the parent's name and
	// call, as in r1/c1, and in a tool r1/c1.2 for the next of the same call. Names
	// must be unique in a sink: where several Agents share one, runs of theirs that
	// have no parent need an ID.
	ID string
	// Parent is the call that this run serves. Left nil by a run that is started
	// with the context of a tool, it is the tool's call, if that run is recorded.
	Parent *trace.Parent
	Sink   trace.Sink // gets this run's events, besides Config.Sink
	// Resume makes this the continuation of a run that ended with calls pending.
	Resume *Resume
	// ToolChoice, if set, overrides the Config's for this run.
	ToolChoice *llm.ToolChoice
}

// Resume says what a run goes on with whose Input.Messages end with calls that have no
// results: the calls are checked, shown to the policies and run as those of a turn
// are, before the first step. Call.Step and StepInfo.Step are -1 meanwhile, and no cap
// counts them.
type Resume struct {
	Of string // the name of the run that was suspended
	// Then are messages that come behind the results. They are among Result.Messages.
	Then []llm.Message
}

// Ask is an Input of one user message.
func Prompt(text string) Input { return Input{Messages: []llm.Message{llm.User(text)}} }

// Continue is an Input of a conversation so far and what comes next.
func Continue(history []llm.Message, next ...llm.Message) Input {
	return Input{Messages: slices.Concat(history, next)}
}

// Run runs the loop to its end; cancelling ctx ends it sooner.
//
// A model must heed its context, as a tool must: nothing runs after a run has
// returned, so one whose Stream goes on after ctx has ended is waited for. What
// cannot be made to heed it can be wrapped in an llm.ModelFunc that reads it on a
// goroutine of its own, hands its events on, and yields context.Cause(ctx) as
// soon as ctx ends; what that goroutine does from then on is its caller's to see to.
func (a *Agent) Run(ctx context.Context, in Input) (*Result, error) { return a.Start(ctx, in).Wait() }
