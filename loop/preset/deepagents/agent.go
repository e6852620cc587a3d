package deepagents

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Agent is an agent of a handoff graph, which may have cycles. Runs do not change it. It
// is safe for use by concurrent runs.
type Agent struct {
	// Name is unique in the graph. It has at most 52 characters: letters, digits, _ and
	// -.
	Name string
	// Description describes the purpose of the agent to the agents that may hand over to
	// it or have it as a tool.
	Description string
	// Model is the model of the agent, and ModelName its name at the provider. The root
	// needs a Model. An agent without a Model uses that of the root.
	Model     llm.Model
	ModelName string
	// Instructions returns the system prompt. The run calls it before each step of the
	// agent.
	Instructions func(vars *middleware.Vars) string
	Tools        []loop.Tool
	// Handoffs are the agents that it may hand over to, with the tool transfer_to_NAME.
	Handoffs []*Agent

	// The following fields apply only to the root.

	// Output is the schema of the final answer of any agent; nil allows any text.
	Output *middleware.Output
	// MaxSteps is the step limit of a run; 0 means DefaultMaxSteps.
	MaxSteps int
	// PrepareEnd is called by [Swarm] where a run would end with the answer of another
	// agent.
	PrepareEnd func(context.Context, middleware.Ended) ([]llm.Message, error)
}

// Options are the options of one run.
type Options struct {
	// OutputMode selects the messages of the result.
	OutputMode OutputMode
	// Loop contains options of the loop, such as a sink, a clock and a step limit that
	// overrides the agent's. All agents have its Tools. Its Middleware wraps the
	// preset's. Middleware with the name "repair" replaces that of the preset. Model,
	// System and Preset are ignored.
	Loop loop.Config
}

// OutputMode selects the messages of a result.
type OutputMode string

// Output modes. Empty means FullHistory.
const (
	FullHistory OutputMode = "full_history" // all messages that the run added
	LastMessage OutputMode = "last_message" // the last message of an assistant
)

// run is a configured run.
type run struct {
	ctx   context.Context
	root  *Agent
	scope *middleware.Vars
	opts  Options
	steps []loop.Step
}

// start configures a run and starts it. The hook may be nil.
func (r *run) start(ctx context.Context, in loop.Input, hook func(context.Context, middleware.Ended) ([]llm.Message, error)) (*loop.Run, error) {
	r.ctx = ctx
	fail := func(err error) (*loop.Run, error) { return nil, fmt.Errorf("deepagents: %w", err) }
	switch {
	case r.root == nil:
		return fail(errors.New("there is no agent"))
	case r.root.Model == nil:
		return fail(fmt.Errorf("the agent %q has no Model, which the first one needs", r.root.Name))
	case r.opts.OutputMode != "" && r.opts.OutputMode != FullHistory && r.opts.OutputMode != LastMessage:
		return fail(fmt.Errorf("the OutputMode %q is neither FullHistory nor LastMessage", r.opts.OutputMode))
	}
	cfg := r.opts.Loop
	cfg.Model, cfg.System = r.root.ModelName, ""
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = r.root.MaxSteps
	}
	onStep := cfg.OnStep
	cfg.OnStep = func(s loop.Step) {
		r.steps = append(r.steps, s)
		if onStep != nil {
			onStep(s)
		}
	}
	policies, err := r.policies(hook)
	if err != nil {
		return fail(err)
	}
	cfg.Middleware = append(cfg.Middleware[:len(cfg.Middleware):len(cfg.Middleware)], policies...)
	cfg = Fill(cfg)
	agent, err := loop.New(r.root.Model, &cfg)
	if err != nil {
		return fail(err)
	}
	return agent.Start(ctx, in), nil
}

// policies returns the middleware that implements the handoff graph.
func (r *run) policies(hook func(context.Context, middleware.Ended) ([]llm.Message, error)) ([]loop.Middleware, error) {
	root := member(r.root, map[*Agent]*middleware.HandoffAgent{})
	handoff, err := middleware.Handoff(root, r.scope)
	if err != nil {
		return nil, err
	}
	list := []loop.Middleware{middleware.Variables(r.scope), handoff}
	if hook != nil {
		end, err := middleware.PrepareEnd(root, r.scope, hook, 0)
		return append(list, end), err
	}
	if r.root.Output != nil {
		list = append(list, r.root.Output.Middleware(0))
	}
	return list, nil
}

// member returns the handoff agent for an agent, with all agents that it can reach.
func member(a *Agent, known map[*Agent]*middleware.HandoffAgent) *middleware.HandoffAgent {
	if a == nil {
		return nil
	}
	if m := known[a]; m != nil {
		return m
	}
	m := &middleware.HandoffAgent{
		Name: a.Name, Description: a.Description, Instructions: a.Instructions, Tools: a.Tools, Model: a.Model, ModelName: a.ModelName,
	}
	known[a] = m
	for _, to := range a.Handoffs {
		m.Handoffs = append(m.Handoffs, member(to, known))
	}
	return m
}
