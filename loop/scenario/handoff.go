package scenario

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

type agents struct {
	vars  *middleware.Vars
	root  *middleware.HandoffAgent
	tools map[*middleware.HandoffAgent][]string
}

func (r *reader) variables() *middleware.Vars {
	if r.agents.vars == nil {
		r.agents.vars = middleware.NewVars(nil)
	}
	return r.agents.vars
}

func (r *reader) setModel(to *string) func(fake.Value) error {
	return func(v fake.Value) error {
		*to = v.Text
		return checkName("model", v, v.Text, r.models)
	}
}

func repair(r *reader, arg fake.Value) (_ loop.Middleware, err error) {
	var m middleware.Repair
	if r.version == 1 {
		m.Prompt = repairPromptV1
	}
	if arg.Kind != fake.Null {
		err = r.fields(arg, map[string]func(fake.Value) error{"model": r.setModel(&m.ModelName)})
	}
	return m.Middleware(), err
}

func variables(r *reader, arg fake.Value) (m loop.Middleware, err error) {
	if err := kind(arg, fake.Map); arg.Kind != fake.Null && err != nil {
		return m, err
	}
	for _, f := range arg.Fields {
		if err := kind(f.Value, fake.Text); err != nil {
			return m, at(f.Value.Pos, fmt.Errorf("%s: %w", f.Name, err))
		}
		middleware.Var[string](f.Name).Set(r.variables(), f.Value.Text)
	}
	return middleware.Variables(r.variables()), nil
}

// handoff reads the agents. The first one is the root.
func handoff(r *reader, arg fake.Value) (m loop.Middleware, err error) {
	var agentNames []string
	byName := map[string]*middleware.HandoffAgent{}
	for _, f := range arg.Fields {
		agentNames = append(agentNames, f.Name)
		byName[f.Name] = &middleware.HandoffAgent{Name: f.Name}
	}
	if agentNames == nil {
		return m, errors.New("missing agents: name at least the first agent")
	}
	r.agents.root, r.agents.tools = byName[agentNames[0]], map[*middleware.HandoffAgent][]string{}
	for _, f := range arg.Fields {
		agent := byName[f.Name]
		err := r.fields(f.Value, map[string]func(fake.Value) error{
			"description":  setText(&agent.Description),
			"instructions": func(v fake.Value) error { agent.Instructions = instructions(v.Text); return kind(v, fake.Text) },
			"model":        r.setModel(&agent.ModelName),
			"tools": func(v fake.Value) (err error) {
				r.agents.tools[agent], err = names("tool", v, r.tools)
				return err
			},
			"handoffs": func(v fake.Value) error {
				to, err := names("agent", v, agentNames)
				for _, n := range to {
					agent.Handoffs = append(agent.Handoffs, byName[n])
				}
				return err
			},
		})
		if err := at(f.Value.Pos, err); err != nil {
			return m, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	m, err = middleware.Handoff(r.agents.root, r.variables())
	return m, shortError(err)
}

func names(what string, v fake.Value, known []string) (out []string, err error) {
	if err := kind(v, fake.List); err != nil {
		return nil, err
	}
	for _, item := range v.Items {
		if err := at(item.Pos, checkName(what, item, item.Text, known)); err != nil {
			return nil, err
		}
		out = append(out, item.Text)
	}
	return out, nil
}

var variable = regexp.MustCompile(`\{\w+\}`)

// instructions returns instructions in which {name} is replaced by a variable.
func instructions(text string) func(*middleware.Vars) string {
	return func(vars *middleware.Vars) string {
		return variable.ReplaceAllStringFunc(text, func(name string) string {
			value, _ := middleware.Var[string](name[1 : len(name)-1]).Get(vars)
			return value
		})
	}
}

// middleware assigns the tools, which are known only in a run, to the agents before the first
// step.
func (a *agents) middleware() loop.Middleware {
	return loop.Middleware{Name: "handoff", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, _ error) {
			if s.Step == 0 {
				c.Tools = append([]loop.Tool{}, a.assign(s.Tools())...)
			}
			return c, nil
		}}
	}}
}

// assign assigns the tools to the agents. It returns the tools of all agents.
func (a *agents) assign(tools []loop.Tool) (common []loop.Tool) {
	for agent := range a.tools {
		agent.Tools = nil
	}
	for _, tool := range tools {
		owned := false
		for agent, names := range a.tools {
			if slices.Contains(names, tool.Name) {
				agent.Tools, owned = append(agent.Tools, tool), true
			}
		}
		if !owned {
			common = append(common, tool)
		}
	}
	return common
}

// prepareEnd reads the messages that follow the final answers of the other agents.
func prepareEnd(r *reader, arg fake.Value) (m loop.Middleware, err error) {
	switch {
	case r.agents.root == nil:
		return m, errors.New("missing agents: put handoff before prepare_end")
	case len(arg.Items) == 0:
		return m, errors.New("missing text: add one for each time that the root continues")
	}
	for _, item := range arg.Items {
		if err := at(item.Pos, kind(item, fake.Text)); err != nil {
			return m, err
		}
	}
	left := arg.Items
	return middleware.PrepareEnd(r.agents.root, r.variables(), func(context.Context, middleware.Ended) ([]llm.Message, error) {
		next := left[0]
		left = left[1:]
		return []llm.Message{llm.User(next.Text)}, nil
	}, len(left))
}
