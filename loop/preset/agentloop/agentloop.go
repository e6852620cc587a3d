// Package agentloop configures the loop as the reference loop AgentLoop. Its agent outlives
// its runs and has its own history, layers of a system prompt, guardrails, permissions,
// approvals, hooks, reports and snapshots. A snapshot continues the agent in another process.
//
// An agent runs one run at a time. See [Fill] for the defaults.
package agentloop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

const name = "agentloop"

// Fill sets the zero fields of a configuration: 16 steps, checked after the tools of a step;
// any number of concurrent tools, each for 30 seconds; and no runaway guard. Calls have the
// order of their ends. With a Concurrency of 1, a call passes all its checks when the call
// before it has ended. Arguments that cannot be parsed become an empty object, and a value that a
// tool returns after its timeout is its result. A negative ToolTimeout means no timeout.
func Fill(cfg loop.Config) loop.Config {
	cfg.Preset, cfg.OrderCallsByEnd, cfg.BeforeToolsEachCall, cfg.KeepLateResults = name, true, true, true
	if cfg.BadArguments == loop.BadArgumentsError {
		cfg.BadArguments = loop.BadArgumentsEmpty
	}
	cfg.MaxSteps = cmp.Or(max(cfg.MaxSteps, 0), 16)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, loop.Unlimited)
	cfg.MaxConsecutiveToolErrors = cmp.Or(cfg.MaxConsecutiveToolErrors, loop.Disabled)
	cfg.ToolTimeout = max(cmp.Or(cfg.ToolTimeout, 30*time.Second), 0)
	return cfg
}

// Config is the configuration of an agent. The zero value configures an agent without
// tools.
type Config struct {
	// ID is the id of the conversation if History is nil; empty means agentloop. Agents that
	// share a Checkpoint need different ids.
	ID string
	// System is the system prompt of the agent. SystemFunc, if not nil, returns a new
	// prompt before each run and replaces System then.
	System     string
	SystemFunc func(context.Context) (string, error)
	Context    string // description of the task
	// Tools are identified by name, and those with a Builtin by its type, which becomes their
	// name. The last tool with a name replaces earlier ones.
	Tools []loop.Tool
	// History is owned by the agent; nil means an empty history.
	History *history.History
	Hooks   *Bus // nil means a new bus
	Settings
	Model string // model name of the provider; empty means that of the model's ModelID method, if it has one
	// OneTool runs the calls of a step sequentially (parallelToolCalls: false). The hooks, the
	// Policy and the approval of a call follow the completion of the call before it.
	OneTool bool
	// ToolTimeout ends the context of each tool after this time. 0 means 30
	// seconds; a negative value means no timeout.
	ToolTimeout time.Duration
	MaxSteps    int // 0 or less means 16
	// Guardrails check requests and responses. If a guardrail of the output fails, the
	// run has an error and its Response omits the model's output.
	Guardrails []middleware.Guardrail
	Policy     middleware.PermissionPolicy                                                    // nil allows all calls
	Approve    func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) // nil denies all requests
	// Checkpoint, if not nil, stores the snapshot of an agent with calls that wait for a
	// decision. The key is "agent-loop:" and the id of the agent.
	Checkpoint func(ctx context.Context, key string, s Snapshot) error
	// Reject makes a failed run return its error. Otherwise only the Response contains
	// it.
	Reject bool
	// DropPending drops a response with calls that wait for a decision when the next run
	// begins. Otherwise the next run runs these calls first.
	DropPending bool

	// Middleware runs after the hooks and the guardrails of the output. It runs before
	// the guardrails of the input, the Policy and the approvals, which check the messages
	// and arguments that it has changed.
	Middleware []loop.Middleware
	Retry      loop.Retry // how failed model calls are retried
	Clock      loop.Clock // nil means loop.SystemClock
	// NewID returns the id of each run, which must be unique; nil means random UUIDs.
	NewID func() string
	Sink  trace.Sink // receives the trace of each run
}

// Settings are the generation parameters of a model call. Nil and zero fields use the
// default of the provider.
type Settings struct {
	MaxTokens   int
	Temperature *float64
	Thinking    string // reasoning effort, a value of the provider
	// Cache marks the stable layers of the system prompt for the cache of the provider; see
	// layers.Registry.System. The value is the JSON {"type":"ephemeral"}. JSON null, as
	// nothing, means no mark, also if the settings of the agent have a value. Another value is an
	// error of [New] or of the run, before a model call.
	Cache json.RawMessage
}

// marksCache reports whether Cache is set.
func (s Settings) marksCache() (bool, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, s.Cache); s.Cache != nil && err != nil {
		return false, fmt.Errorf("agentloop: the cache setting %q is not JSON: %w", s.Cache, err)
	}
	switch compact.String() {
	case "", "null":
		return false, nil
	case `{"type":"ephemeral"}`:
		return true, nil
	}
	return false, fmt.Errorf(`agentloop: unknown cache setting %s: want {"type":"ephemeral"}, or null for no cache mark`, compact.Bytes())
}

// Errors of an agent. Use errors.Is to test for them.
var (
	// ErrRunning means that a run was started while another run was active.
	ErrRunning = errors.New("AgentLoop is already running")
	// ErrNoModel means that the model is nil.
	ErrNoModel = errors.New("agentloop: New: missing model: set it")
	// ErrStopped is the cancel cause of a model call when the agent is stopped.
	// errors.Is(ErrStopped, context.Canceled) is true.
	ErrStopped error = stopped{}
)

type stopped struct{}

func (stopped) Error() string { return "the agent was stopped" }

// Unwrap returns [context.Canceled].
func (stopped) Unwrap() error { return context.Canceled }

// Input is the input of a run: one of its fields, or Text if no field is set.
type Input struct {
	Text     string
	Parts    []llm.Part
	Messages []llm.Message
}

// messages returns the messages to append to the history.
func (in Input) messages() []llm.Message {
	switch {
	case in.Messages != nil:
		return in.Messages
	case in.Parts != nil:
		return []llm.Message{{Role: llm.RoleUser, Parts: in.Parts}}
	}
	return []llm.Message{llm.User(in.Text)}
}

// MarshalJSON encodes the input in its original form.
func (in Input) MarshalJSON() ([]byte, error) {
	switch {
	case in.Messages != nil:
		return json.Marshal(in.Messages)
	case in.Parts != nil:
		return llm.AppendParts(nil, in.Parts), nil
	}
	return json.Marshal(in.Text)
}

// UnmarshalJSON implements [json.Unmarshaler]. In a list, elements with a role are
// messages; all other elements are parts.
func (in *Input) UnmarshalJSON(b []byte) error {
	*in = Input{}
	if json.Unmarshal(b, &in.Text) == nil {
		return nil
	}
	var list []struct {
		Role llm.Role `json:"role"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) > 0 && list[0].Role == "" {
		var m llm.Message
		err := json.Unmarshal(slices.Concat([]byte(`{"role":"user","parts":`), b, []byte("}")), &m)
		in.Parts = m.Parts
		return err
	}
	return json.Unmarshal(b, &in.Messages)
}

// Options are the options of one run.
type Options struct {
	// Tools are sent in addition to the agent's tools. A tool with the name of an agent's
	// tool replaces its definition. Only the agent's tools run calls.
	Tools []llm.Tool
	// Signal, if not nil, ends model calls. Stop does not end them then.
	Signal context.Context
	// Settings override the settings of the agent.
	Settings
}
