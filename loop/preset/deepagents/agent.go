package deepagents

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Agent is an agent of a tree, whose branches may lead back. It is not changed, and
// may serve many runs at once.
type Agent struct {
	// Name is unique in the tree: letters, digits, _ and -, 52 of them at most.
	Name string
	// Description tells those who may hand over to it, or have it as a tool, what it is
	// good for.
	Description string
	// Model answers, under the provider's name ModelName. The root needs one; others
	// without are answered by the root's.
	Model     llm.Model
	ModelName string
	// Instructions make the system prompt, before each of its steps.
	Instructions func(vars middleware.Scope) string
	Tools        []loop.Tool
	// Handoffs are those that it may hand over to, by the tool transfer_to_NAME.
	Handoffs []*Agent

	// What follows is the root's to say.

	// Output is the shape of the answer, of whichever agent it is; nil is any text.
	Output *middleware.Output
	// MaxSteps is how many steps a run takes; 0 is DefaultMaxSteps.
	MaxSteps int
	// PrepareEnd is asked by Swarm, where a run would end with another's answer.
	PrepareEnd middleware.EndHook
}

// Options are of one run.
type Options struct {
	// OutputMode says which messages the result has.
	OutputMode OutputMode
	// Loop are options of the loop: a cap that stands for the agent's, a sink, a clock.
	// Its Tools are every agent's, and its Policies go around the preset's; one that is
	// called "repair" takes the place of the preset's. Its Model, System and Preset are
	// not looked at.
	Loop loop.Config
}

// OutputMode is which messages a result has.
type OutputMode string

// The output modes; none is FullHistory.
const (
	FullHistory OutputMode = "full_history" // all that came of the run
	LastMessage OutputMode = "last_message" // the last of an assistant
)

// run is a run that was put together.
type run struct {
	ctx   context.Context
	root  *Agent
	scope middleware.Scope
	opts  Options
	steps []loop.Step
}

// start puts a run together and starts it. The hook may be nil.
func (r *run) start(ctx context.Context, in loop.Input, hook middleware.EndHook) (*loop.Run, error) {
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

// policies are those that make a tree of agents of the loop.
func (r *run) policies(hook middleware.EndHook) ([]loop.Middleware, error) {
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

// member is an agent as one that hands over, with all that it leads to.
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
