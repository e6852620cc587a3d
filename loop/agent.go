package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Agent is a model with a configuration. It is safe for use by many goroutines. Its runs
// share nothing.
type Agent struct {
	model llm.Model
	cfg   Config
	tools *toolSet
	opts  trace.Options
	given struct { // the arguments of New, for With
		model llm.Model
		cfg   Config
	}
	runs *atomic.Int64 // unnamed runs
}

// New checks cfg (nil is the zero value) and returns an Agent. It keeps a copy of cfg; the
// caller must not change its slices and maps afterwards. It returns an error if an option
// or a tool is invalid.
func New(model llm.Model, cfg *Config) (*Agent, error) {
	if model == nil {
		return nil, fmt.Errorf("loop: New needs a model, got nil")
	}
	a := &Agent{runs: new(atomic.Int64)}
	if cfg != nil {
		a.cfg = *cfg
	}
	a.given.model, a.given.cfg = model, a.cfg
	a.cfg.Model = cmp.Or(a.cfg.Model, modelID(model))
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

// modelID returns the id that requests to a model have by default, or "".
func modelID(m llm.Model) string {
	if named, ok := m.(interface{ ModelID() string }); ok {
		return named.ModelID()
	}
	return ""
}

// With returns an Agent with other options, which change sets. Its runs are numbered
// together with those of a. Its errors are those of [New].
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
	// Messages are the conversation so far, with the new user message last. The run does
	// not change them. It fails with a [HistoryError] if providers reject them. It repairs
	// duplicate call ids and the order of results.
	Messages []llm.Message
	// ID is the name of the run in its trace. If empty, the unnamed runs of an Agent are
	// r1, r2 and so on. A run with a Parent gets the name and the call of the parent, as in
	// r1/c1, and the second run of the same tool call r1/c1.2. Names must be unique in a
	// sink: if several Agents share one, set the ID of each run without a Parent.
	ID string
	// Parent is the call that this run serves. If it is nil and the run is started with the
	// context of a tool of a recorded run, it is the tool's call.
	Parent *trace.Parent
	Sink   trace.Sink // gets the events of this run, in addition to Config.Sink
	// Resume makes this the continuation of a run that ended with calls pending.
	Resume *Resume
	// ToolChoice, if set, overrides the Config's for this run.
	ToolChoice *llm.ToolChoice
}

// Resume continues a run whose Input.Messages end with calls that have no results. Before
// the first step the calls are checked, passed to the middleware and run like those of a
// response. Call.Step and StepInfo.Step are -1 then, and the step limit does not count
// them.
type Resume struct {
	Of string // the name of the run that was suspended
	// Then are messages that follow the results. Result.Messages contains them.
	Then []llm.Message
}

// Prompt returns an Input with one user message.
func Prompt(text string) Input { return Input{Messages: []llm.Message{llm.User(text)}} }

// Continue returns an Input with a conversation so far and the next messages.
func Continue(history []llm.Message, next ...llm.Message) Input {
	return Input{Messages: slices.Concat(history, next)}
}

// Run runs the loop to its end. The end of ctx ends it.
//
// A model must honor its context, as a tool must: nothing runs after a run has returned, so
// the run waits for a Stream that continues after the end of ctx. To call a model that does
// not honor it, use an [llm.ModelFunc] that reads the model on another goroutine and yields
// context.Cause(ctx) as soon as ctx ends.
func (a *Agent) Run(ctx context.Context, in Input) (*Result, error) { return a.Start(ctx, in).Wait() }
