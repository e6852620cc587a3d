package agentloop

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
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
	"github.com/looptape/looptape/trace"
)

const owner = "agent-loop"

// Loop is an agent. Its methods are safe for use by many goroutines, including the hooks
// and tools of its runs. It runs one run at a time.
type Loop struct {
	model     llm.Model
	cfg       Config
	clock     loop.Clock
	newID     func() string
	history   *history.History
	hooks     *Bus
	approvals middleware.ApprovalStore
	created   time.Time

	mu       sync.Mutex
	tools    []loop.Tool
	added    int // number of AddTool calls
	system   string
	reports  []*Report
	partial  []llm.ToolResult // of the step whose calls run one by one, until the history has them
	metadata map[string]any
	current  *run // the active run

	suspended string // id of the run that stopped pending calls; used only by the active run
}

// New returns an agent with the model. It indexes the tools, takes the configured history
// or creates one, sets its layers and emits onAgentCreate. It returns the error of a
// subscriber to that event. cfg may be nil.
func New(ctx context.Context, model llm.Model, cfg *Config) (*Loop, error) {
	l, err := construct(model, cfg)
	if err != nil {
		return nil, err
	}
	return l, l.emit(ctx, Event{Name: OnAgentCreate, Data: l})
}

// construct returns an agent without emitting an event.
func construct(model llm.Model, cfg *Config) (*Loop, error) {
	if model == nil {
		return nil, ErrNoModel
	}
	l := &Loop{model: model, metadata: map[string]any{}}
	if cfg != nil {
		l.cfg = *cfg
	}
	if named, ok := model.(interface{ ModelID() string }); ok {
		l.cfg.Model = cmp.Or(l.cfg.Model, named.ModelID())
	}
	if _, err := l.cfg.marksCache(); err != nil {
		return nil, err
	}
	l.newID = l.cfg.NewID
	if l.newID == nil {
		l.newID = randomID
	}
	l.hooks, l.clock = cmp.Or(l.cfg.Hooks, new(Bus)), cmp.Or[loop.Clock](l.cfg.Clock, loop.SystemClock{})
	for _, t := range l.cfg.Tools {
		l.tools = put(l.tools, t)
	}
	for _, g := range l.cfg.Guardrails {
		if err := g.Valid(); err != nil {
			return nil, fmt.Errorf("agentloop: %w", err)
		}
	}
	l.history = cmp.Or(l.cfg.History, history.New(cmp.Or(l.cfg.ID, name)))
	l.created = l.clock.Now()
	l.setSystem(l.cfg.System)
	if l.cfg.Context != "" {
		l.put(layers.Fixed(layers.ContextName, l.cfg.Context, owner))
	}
	// Report a configuration error of the kernel here.
	_, err := loop.New(model, l.kernelConfig(l.tools))
	return l, err
}

// randomID returns a random UUID (version 4), the default of Config.NewID.
func randomID() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:forbidigo // the default of a parameter; it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// setSystem writes the layer of the system prompt if it has changed.
func (l *Loop) setSystem(text string) {
	l.mu.Lock()
	same := l.system == text
	l.system = text
	l.mu.Unlock()
	if !same {
		l.put(layers.Fixed(layers.SystemName, text, owner))
	}
}

// put sets a layer. Set fails only for a layer without a name.
func (l *Loop) put(layer layers.Layer) { _ = l.history.Layers().Set(layer) }

// key returns the key of a tool, which is its name: for a builtin tool its type.
func key(name string, builtin json.RawMessage) string {
	var b struct{ Type string }
	if json.Unmarshal(builtin, &b) == nil { // loop.New reports invalid JSON
		name = cmp.Or(b.Type, name)
	}
	return name
}

// put returns tools with t added, or with t in place of the tool with its key.
func put(tools []loop.Tool, t loop.Tool) []loop.Tool {
	t.Name = key(t.Name, t.Builtin)
	i := slices.IndexFunc(tools, func(o loop.Tool) bool { return o.Name == t.Name })
	if i < 0 {
		return append(tools, t)
	}
	tools = slices.Clone(tools)
	tools[i] = t
	return tools
}

// kernelConfig returns the configuration of a run, without the parts that differ per run.
func (l *Loop) kernelConfig(tools []loop.Tool) *loop.Config {
	cfg := loop.Config{
		Model: l.cfg.Model, Tools: tools, MaxSteps: l.cfg.MaxSteps, ToolTimeout: l.cfg.ToolTimeout,
		Retry: l.cfg.Retry, Clock: l.clock, Sink: l.cfg.Sink, Deltas: l.cfg.Sink != nil,
	}
	if l.cfg.OneTool {
		cfg.Concurrency = 1
	}
	cfg = Fill(cfg)
	return &cfg
}

// ID returns the id of the agent, which is the id of its history.
func (l *Loop) ID() string { return l.history.ID() }

// History returns the conversation. A change during a run changes what the next step
// sends.
func (l *Loop) History() *history.History { return l.history }

// Hooks returns the bus for the agent's events.
func (l *Loop) Hooks() *Bus { return l.hooks }

// AddTool adds a tool or replaces the tool with its name, which is the type of a Builtin. An
// active run uses it from its next step. It returns an error if providers reject the name or
// the schema.
func (l *Loop) AddTool(t loop.Tool) error {
	if _, err := loop.New(l.model, &loop.Config{Tools: put(nil, t)}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools = put(l.tools, t)
	l.added++
	return nil
}

// Tools returns the agent's tools.
func (l *Loop) Tools() []loop.Tool {
	tools, _ := l.toolsNow()
	return slices.Clone(tools)
}

func (l *Loop) toolsNow() (tools []loop.Tool, added int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools, l.added
}

// Reports returns the reports of the ended runs, in order.
func (l *Loop) Reports() []*Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.reports)
}

// Metadata returns a copy of the values that SetMetadata has stored.
func (l *Loop) Metadata() map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.metadata)
}

// SetMetadata stores a value with the agent. The value should be encodable as JSON.
func (l *Loop) SetMetadata(key string, value any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metadata[key] = value
}

// Pending returns the calls that wait for a decision.
func (l *Loop) Pending() []middleware.ApprovalRequest { return l.approvals.Pending() }

// ResumeWithApproval stores the decision about a pending call for the next run. The call
// is no longer pending then. If the id is not pending, it emits the warning
// WarnCallIDNotFound and stores nothing.
func (l *Loop) ResumeWithApproval(ctx context.Context, callID string, a middleware.Approval) error {
	if l.approvals.Resolve(callID, a) {
		return nil
	}
	return l.warn(ctx, WarnCallIDNotFound, "no call with the id "+callID+" waits for a decision")
}

// Stop ends the active run after its current step, as stopped. It cancels the context of
// a model call unless the run has an Options.Signal. Without an active run it does
// nothing.
func (l *Loop) Stop() {
	l.mu.Lock()
	r := l.current
	l.mu.Unlock()
	if r != nil {
		r.stop()
	}
}

// Complete runs the agent until the run ends; opts may be nil. A failed run returns a
// Response with its Reason and Err. It returns the error as well only with Config.Reject.
// Complete always returns an error, such as [ErrRunning], if the run could not begin.
func (l *Loop) Complete(ctx context.Context, in Input, opts *Options) (*Response, error) {
	r, err := l.begin(ctx, in, opts, llm.NonStreaming)
	if err != nil {
		return nil, err
	}
	return r.ended(ctx, func() { _, _ = r.kernel.Wait() })
}

// Stream runs the agent as [Loop.Complete] does and yields events as they occur. The last
// event is done, with the error that Complete would return. A run that cannot begin
// yields only its error. The run ends if the caller stops the iteration.
func (l *Loop) Stream(ctx context.Context, in Input, opts *Options) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) {
		r, err := l.begin(ctx, in, opts, llm.Streaming)
		if err != nil {
			yield(StreamEvent{}, err)
			return
		}
		stopped := false
		response, err := r.ended(ctx, func() {
			for part := range Events(r.kernel.Events()) {
				if stopped = part.Type != "done" && !yield(part, nil); stopped {
					return
				}
			}
		})
		if !stopped {
			yield(StreamEvent{Type: "done", Response: response}, err)
		}
	}
}

func (l *Loop) emit(ctx context.Context, ev Event) error {
	ev.Agent = l.ID()
	return l.hooks.Emit(ctx, ev)
}

func (l *Loop) warn(ctx context.Context, code, message string) error {
	return l.emit(ctx, Event{Name: OnWarning, Data: trace.Warning{Code: code, Message: message}})
}
