package deepagents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
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
	// MaxSteps is the step limit of a run; 0 means 25, or no limit with StopWhen.
	MaxSteps int
	// StopWhen are conditions. Any one of them stops the run after a step that ran tools. They
	// replace the default step limit.
	StopWhen []loop.StopCondition
	// RepairModel repairs arguments that a tool rejects, a fast model; nil means the model that
	// made the call. RepairModelName is its name at the provider; empty means gpt-oss-20b.
	RepairModel     llm.Model
	RepairModelName string
	// PrepareEnd is called by [Swarm] where a run would end with the answer of another
	// agent.
	PrepareEnd func(context.Context, middleware.Ended) ([]llm.Message, error)
}

// Options are the options of one run.
type Options struct {
	// LastMessage limits the messages of the result to the last one of an assistant. Otherwise
	// the result has all messages that the run added.
	LastMessage bool
	// Loop contains options of the loop, such as a sink, a clock, and a step limit or stop
	// conditions that override the agent's limit and conditions. All agents have its Tools. Its Middleware wraps the
	// preset's. Middleware with the name "repair" replaces that of the preset. Model,
	// System and Preset are ignored.
	Loop loop.Config
}

type run struct {
	ctx   context.Context
	root  *Agent
	scope *middleware.Vars
	opts  Options
	loop  *loop.Run
	steps []loop.Step
}

type endHook = func(context.Context, middleware.Ended) ([]llm.Message, error)

// start configures a run and starts it. vars, opts and hook may be nil.
func start(ctx context.Context, agent *Agent, in loop.Input, vars *middleware.Vars, opts *Options, hook endHook) (*run, error) {
	fail := func(err error) (*run, error) { return nil, fmt.Errorf("deepagents: %w", err) }
	switch {
	case agent == nil:
		return fail(errors.New("missing agent: set it"))
	case agent.Model == nil:
		return fail(fmt.Errorf("the agent %q has no Model: set it, because the root needs one", agent.Name))
	}
	r := &run{ctx: ctx, root: agent, scope: cmp.Or(vars, new(middleware.Vars)), opts: *cmp.Or(opts, &Options{})}
	cfg := r.opts.Loop
	cfg.Model, cfg.System = agent.ModelName, ""
	if cfg.MaxSteps == 0 && len(cfg.StopWhen) == 0 {
		cfg.MaxSteps, cfg.StopWhen = agent.MaxSteps, agent.StopWhen
	}
	onStep := cfg.OnStep
	cfg.OnStep = func(s loop.Step) {
		r.steps = append(r.steps, s)
		if onStep != nil {
			onStep(s)
		}
	}
	list, err := r.middleware(hook)
	if err != nil {
		return fail(err)
	}
	cfg.Middleware = append(slices.Clip(cfg.Middleware), list...)
	if agent.RepairModel != nil {
		cfg.Middleware = withRepair(cfg.Middleware, middleware.Repair{Model: agent.RepairModel, ModelName: cmp.Or(agent.RepairModelName, "gpt-oss-20b")})
	}
	cfg = Fill(cfg)
	kernel, err := loop.New(agent.Model, &cfg)
	if err != nil {
		return fail(err)
	}
	r.loop = kernel.Start(ctx, in)
	return r, nil
}

func (r *run) middleware(hook endHook) ([]loop.Middleware, error) {
	root := handoffAgent(r.root, map[*Agent]*middleware.HandoffAgent{})
	handoff, err := middleware.Handoff(root, r.scope)
	if err != nil {
		return nil, err
	}
	list := []loop.Middleware{middleware.Variables(r.scope), handoff}
	continues := false // the hook continues after the response
	if hook != nil {
		end, err := middleware.PrepareEnd(root, r.scope, hook, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, afterModel(end, func(after afterModelHook) afterModelHook {
			return func(ctx context.Context, s *loop.StepInfo, response *llm.Response) (loop.Decision, error) {
				d, err := after(ctx, s, response)
				continues = d.Action == trace.Continue
				return d, err
			}
		}))
	}
	if r.root.Output != nil { // of the response that ends the run
		list = append(list, afterModel(r.root.Output.Middleware(0), func(after afterModelHook) afterModelHook {
			return func(ctx context.Context, s *loop.StepInfo, response *llm.Response) (d loop.Decision, err error) {
				if continues {
					return d, nil
				}
				return after(ctx, s, response)
			}
		}))
	}
	return list, nil
}

type afterModelHook = func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error)

// afterModel returns the middleware with another AfterModel hook.
func afterModel(m loop.Middleware, wrap func(afterModelHook) afterModelHook) loop.Middleware {
	hooks := m.New
	m.New = func(info loop.RunInfo) loop.Hooks {
		h := hooks(info)
		h.AfterModel = wrap(h.AfterModel)
		return h
	}
	return m
}

// handoffAgent returns the handoff agent for an agent, with all agents that it can reach.
func handoffAgent(a *Agent, known map[*Agent]*middleware.HandoffAgent) *middleware.HandoffAgent {
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
		m.Handoffs = append(m.Handoffs, handoffAgent(to, known))
	}
	return m
}
