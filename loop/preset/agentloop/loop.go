package agentloop

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/layers"
	"github.com/looptape/looptape/loop/middleware"
)

// owner is who sets the agent's layers.
const owner = "agent-loop"

// Loop is an agent. Its methods may be called by many goroutines at once, and by
// hooks and tools of its runs; one run at a time is taken.
type Loop struct {
	model   llm.Model
	cfg     Config
	clock   loop.Clock
	history *history.History
	hooks   *Bus
	desk    middleware.ApprovalStore
	created time.Time

	mu       sync.Mutex
	tools    []loop.Tool
	added    int // how often a tool was added
	system   string
	reports  []*Report
	runs     int
	metadata map[string]any
	current  *run // the run that is under way

	suspended string // the run that left calls to be decided; of the run under way alone
}

// New makes an agent of a model: it indexes the tools, takes over or makes the
// history, sets its layers and tells onAgentCreate, whose error is New's. cfg may be
// nil.
func New(ctx context.Context, model llm.Model, cfg *Config) (*Loop, error) {
	l, err := construct(model, cfg)
	if err != nil {
		return nil, err
	}
	return l, l.emit(ctx, Event{Name: OnAgentCreate, Data: l})
}

// construct makes an agent that nobody was told of.
func construct(model llm.Model, cfg *Config) (*Loop, error) {
	if model == nil {
		return nil, ErrNoModel
	}
	l := &Loop{model: model, metadata: map[string]any{}}
	if cfg != nil {
		l.cfg = *cfg
	}
	l.hooks, l.clock, l.history = l.cfg.Hooks, l.cfg.Clock, l.cfg.History
	if l.hooks == nil {
		l.hooks = new(Bus)
	}
	if l.clock == nil {
		l.clock = loop.SystemClock{}
	}
	for _, t := range l.cfg.Tools {
		l.tools = put(l.tools, t)
	}
	for _, g := range l.cfg.Guardrails {
		if err := g.Valid(); err != nil {
			return nil, fmt.Errorf("agentloop: %w", err)
		}
	}
	if l.history == nil {
		l.history = history.New(cmp.Or(l.cfg.ID, Name))
	}
	l.created = l.clock.Now()
	l.setSystem(l.cfg.System)
	if l.cfg.Context != "" {
		l.put(layers.Context(l.cfg.Context, owner))
	}
	// What the kernel refuses, it should refuse here.
	_, err := loop.New(model, l.kernelConfig(l.tools))
	return l, err
}

// setSystem writes the layer of what the agent is, if that is news.
func (l *Loop) setSystem(text string) {
	l.mu.Lock()
	same := l.system == text
	l.system = text
	l.mu.Unlock()
	if !same {
		l.put(layers.System(text, owner))
	}
}

// put sets a layer that has a name, which is all that Set asks for.
func (l *Loop) put(layer layers.Layer) { _ = l.history.Layers().Set(layer) }

// put returns tools with t among them, in the place of the one of its name.
func put(tools []loop.Tool, t loop.Tool) []loop.Tool {
	i := slices.IndexFunc(tools, func(o loop.Tool) bool { return o.Name == t.Name })
	if i < 0 {
		return append(tools, t)
	}
	tools = slices.Clone(tools)
	tools[i] = t
	return tools
}

// kernelConfig is the configuration of a run, but for what belongs to one run alone.
func (l *Loop) kernelConfig(tools []loop.Tool) *loop.Config {
	cfg := loop.Config{
		Model: l.cfg.Model, Tools: tools, MaxSteps: l.cfg.MaxSteps, ToolTimeout: l.cfg.ToolTimeout,
		Clock: l.clock, Sink: l.cfg.Sink, Deltas: l.cfg.Sink != nil,
	}
	if l.cfg.OneTool {
		cfg.Concurrency = 1
	}
	cfg = Fill(cfg)
	return &cfg
}

// ID is the agent's identity, which is that of its history.
func (l *Loop) ID() string { return l.history.ID() }

// History is the conversation. Who changes it while a run is under way changes what
// the next step sends.
func (l *Loop) History() *history.History { return l.history }

// Hooks is the bus that the agent's events go to.
func (l *Loop) Hooks() *Bus { return l.hooks }

// AddTool adds a tool, or puts it in the place of the one of its name. A run that is
// under way offers it from its next step on; one whose name or schema no provider
// takes is an error.
func (l *Loop) AddTool(t loop.Tool) error {
	if _, err := loop.New(l.model, &loop.Config{Tools: []loop.Tool{t}}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools = put(l.tools, t)
	l.added++
	return nil
}

// Tools are the agent's tools.
func (l *Loop) Tools() []loop.Tool {
	tools, _ := l.toolsNow()
	return slices.Clone(tools)
}

func (l *Loop) toolsNow() (tools []loop.Tool, added int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools, l.added
}

// Reports are the records of the runs that have ended, in order.
func (l *Loop) Reports() []*Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.reports)
}

// Metadata returns a copy of what SetMetadata has put there.
func (l *Loop) Metadata() map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.metadata)
}

// SetMetadata keeps a value, which should be one that JSON has, with the agent.
func (l *Loop) SetMetadata(key string, value any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metadata[key] = value
}

// Pending are the calls that wait for a decision.
func (l *Loop) Pending() []middleware.ApprovalRequest { return l.desk.Pending() }

// ResumeWithApproval gives the decision about a call that waits for one, for the next
// run: the call is pending no longer. Of an id that is not pending it warns with
// WarnCallIDNotFound, and keeps nothing.
func (l *Loop) ResumeWithApproval(ctx context.Context, callID string, a middleware.Approval) error {
	if l.desk.Resolve(callID, a) {
		return nil
	}
	return l.warn(ctx, WarnCallIDNotFound, "no call with the id "+callID+" waits for a decision")
}

// Stop ends the run that is under way after its current step, as stopped. A model call
// is told by its context, unless the run has an Options.Signal. Without a run it does
// nothing.
func (l *Loop) Stop() {
	l.mu.Lock()
	r := l.current
	l.mu.Unlock()
	if r != nil {
		r.stop()
	}
}

// Complete runs the agent to its end; opts may be nil. A run that fails returns the
// Response all the same, with its Reason and Err; its error only with Config.Reject.
// What keeps a run from beginning, ErrRunning among them, is always an error.
func (l *Loop) Complete(ctx context.Context, in Input, opts *Options) (*Response, error) {
	r, err := l.begin(ctx, in, opts, llm.NonStreaming)
	if err != nil {
		return nil, err
	}
	return r.ended(ctx, func() { _, _ = r.kernel.Wait() })
}

// Stream is Complete with events as they come. The last is done; with it comes the
// error that Complete would return. A run that cannot begin yields its error alone.
// Leaving early ends the run.
func (l *Loop) Stream(ctx context.Context, in Input, opts *Options) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) {
		r, err := l.begin(ctx, in, opts, llm.Streaming)
		if err != nil {
			yield(StreamEvent{}, err)
			return
		}
		left := false
		response, err := r.ended(ctx, func() { left = !r.pass(yield) })
		if !left {
			yield(StreamEvent{Type: "done", Response: response}, err)
		}
	}
}

func (l *Loop) emit(ctx context.Context, ev Event) error {
	ev.Agent = l.ID()
	return l.hooks.Emit(ctx, ev)
}

func (l *Loop) warn(ctx context.Context, code, message string) error {
	return l.emit(ctx, Event{Name: OnWarning, Data: Warning{code, message}})
}
