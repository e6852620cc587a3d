// Package agentloop is the AgentLoop of that name's document as a configuration of
// the one loop: an agent that outlives its runs, with a history of its own, layers of
// a system prompt, guardrails, permissions, approvals, hooks, reports, and snapshots
// from which it goes on in another process.
//
// A run takes 16 steps at most, looked at after the tools of a step have run. All
// tools of a turn run at once, each for half a minute at most, and what cannot be
// read of a call's arguments becomes an empty object. There is no guard against a
// loop that gets nowhere. Runs of one agent follow one another.
package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// Name is the name of the preset.
const Name = "agentloop"

// The document's default, and one that it leaves open.
const (
	DefaultMaxSteps    = 16
	DefaultToolTimeout = 30 * time.Second
)

// Fill sets what the caller left at zero; a negative ToolTimeout is none.
func Fill(cfg loop.Config) loop.Config {
	cfg.Preset = Name
	if cfg.BadArguments == loop.BadArgumentsError {
		cfg.BadArguments = loop.BadArgumentsEmpty
	}
	if cfg.MaxSteps <= 0 {
		cfg.MaxSteps = DefaultMaxSteps
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = loop.Unlimited
	}
	if cfg.MaxConsecutiveToolErrors == 0 {
		cfg.MaxConsecutiveToolErrors = loop.Disabled
	}
	if cfg.ToolTimeout == 0 {
		cfg.ToolTimeout = DefaultToolTimeout
	}
	cfg.ToolTimeout = max(cfg.ToolTimeout, 0)
	return cfg
}

// Config is an agent's configuration. Its zero value is one without tools.
type Config struct {
	// ID is the identity of the conversation, where History is nil; empty stands for
	// Name. Agents that share a Checkpoint need one of their own each.
	ID string
	// System is what the agent is. SystemFunc, if not nil, tells it anew before each
	// run, and System counts until then.
	System     string
	SystemFunc func(context.Context) (string, error)
	Context    string // what the task is about
	// Tools are known by their names; of two with one name the last counts.
	Tools []loop.Tool
	// History is taken over; nil is an empty one.
	History *history.History
	Hooks   *Bus // nil is one of the agent's own
	Settings
	Model string // the provider's name of the model
	// OneTool runs the calls of a step one after another (parallelToolCalls: false).
	OneTool bool
	// ToolTimeout ends the context of a tool; 0 is DefaultToolTimeout, below 0 is none.
	ToolTimeout time.Duration
	MaxSteps    int // 0 or less is DefaultMaxSteps
	// Guardrails look at what is sent and at the answers. A run in which one that looks at
	// an answer fails has an error, and not that answer in its Response.
	Guardrails []middleware.Guardrail
	Policy     middleware.PermissionPolicy // nil allows all
	Approve    middleware.Approver         // nil denies
	Checkpoint Checkpoint                  // nil saves nothing
	// Reject makes a run that fails return its error as well; otherwise the Response
	// alone has it.
	Reject bool
	// DropPending drops a turn whose calls wait for a decision when the next run
	// begins, instead of running them first.
	DropPending bool

	// Policies stand behind the hooks and the guardrails of the output, and before the
	// guardrails of the input, the Policy and the approvals, which look at what they have
	// made of messages and arguments.
	Middleware []loop.Middleware
	Clock      loop.Clock // nil is loop.SystemClock
	Sink       trace.Sink // gets the trace of every run
}

// Settings are what a model call is asked with; nil and zero leave it to the provider.
type Settings struct {
	MaxTokens   int
	Temperature *float64
	Thinking    string // how hard, in the provider's words
	// Cache is what the provider is told of caching the prompt: the request's member
	// cache_control, as JSON.
	Cache json.RawMessage
}

// over returns the settings with those of a call in front.
func (s Settings) over(base Settings) Settings {
	if s.MaxTokens == 0 {
		s.MaxTokens = base.MaxTokens
	}
	if s.Temperature == nil {
		s.Temperature = base.Temperature
	}
	if s.Thinking == "" {
		s.Thinking = base.Thinking
	}
	if s.Cache == nil {
		s.Cache = base.Cache
	}
	return s
}

// Checkpoint keeps snapshots of agents whose calls wait for a decision.
type Checkpoint interface {
	Set(ctx context.Context, key string, s Snapshot) error
}

// CheckpointFunc makes a function a Checkpoint.
type CheckpointFunc func(ctx context.Context, key string, s Snapshot) error

// Set calls f.
func (f CheckpointFunc) Set(ctx context.Context, key string, s Snapshot) error { return f(ctx, key, s) }

// CheckpointKey is the key under which the agent of this id is kept.
func CheckpointKey(id string) string { return "agent-loop:" + id }

// Errors of an agent, for errors.Is.
var (
	// ErrRunning: a run was begun while another one was under way.
	ErrRunning = errors.New("AgentLoop is already running")
	// ErrNoModel: there is no model.
	ErrNoModel = errors.New("agentloop: New needs a model, got nil")
	// ErrStopped is what ends the model call of an agent that was stopped. It is a
	// cancel: errors.Is(err, context.Canceled) holds as well.
	ErrStopped error = stopped{}
)

type stopped struct{}

func (stopped) Error() string { return "the agent was stopped" }

// Unwrap says that it is a cancel.
func (stopped) Unwrap() error { return context.Canceled }

// Input is what a run is given: one of its fields, or Text if none is set.
type Input struct {
	Text     string
	Parts    []llm.Part
	Messages []llm.Message
}

// messages are what goes into the history.
func (in Input) messages() []llm.Message {
	switch {
	case in.Messages != nil:
		return in.Messages
	case in.Parts != nil:
		return []llm.Message{{Role: llm.RoleUser, Parts: in.Parts}}
	}
	return []llm.Message{llm.User(in.Text)}
}

// MarshalJSON spells the input in the form in which it was given.
func (in Input) MarshalJSON() ([]byte, error) {
	switch {
	case in.Messages != nil:
		return json.Marshal(in.Messages)
	case in.Parts != nil:
		return llm.AppendParts(nil, in.Parts), nil
	}
	return json.Marshal(in.Text)
}

// UnmarshalJSON implements json.Unmarshaler. Of a list, members with a role are
// messages, others parts.
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
		parts, err := readParts(b)
		in.Parts = parts
		return err
	}
	return json.Unmarshal(b, &in.Messages)
}

func readParts(b []byte) ([]llm.Part, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	parts := make([]llm.Part, len(list))
	for i, raw := range list {
		p, err := llm.UnmarshalPart(raw)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	return parts, nil
}

// Options are for one run.
type Options struct {
	// Tools are offered besides the agent's; one of a name that the agent has stands
	// in its place. Calls are looked up among the agent's alone.
	Tools []llm.Tool
	// Signal, if not nil, ends model calls in the place of Stop.
	Signal context.Context
	// Settings go before the agent's.
	Settings
}
