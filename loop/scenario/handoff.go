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

// team is what a script says of agents that hand over to each other.
type team struct {
	vars  *middleware.Vars
	root  *middleware.HandoffAgent
	tools map[*middleware.HandoffAgent][]string
}

// shared returns the variables of the script.
func (r *reader) shared() *middleware.Vars {
	if r.team.vars == nil {
		r.team.vars = middleware.NewVars(nil)
	}
	return r.team.vars
}

func repair(r *reader, arg fake.Value) (loop.Middleware, error) {
	var opts middleware.RepairOptions
	if arg.Kind == fake.Null {
		return middleware.Repair(opts), nil
	}
	err := fields(arg, map[string]func(fake.Value) error{
		"model": func(v fake.Value) error {
			opts.ModelName = v.Text
			return refers("model", v, v.Text, r.lanes)
		},
	})
	return middleware.Repair(opts), at(arg.Pos, err)
}

func variables(r *reader, arg fake.Value) (loop.Middleware, error) {
	if arg.Kind != fake.Null && arg.Kind != fake.Map {
		return loop.Middleware{}, at(arg.Pos, kind(arg, fake.Map))
	}
	for _, f := range arg.Fields {
		if err := kind(f.Value, fake.Text); err != nil {
			return loop.Middleware{}, at(f.Value.Pos, fmt.Errorf("%s: %w", f.Name, err))
		}
		middleware.Var[string](f.Name).Set(r.shared(), f.Value.Text)
	}
	return middleware.Variables(r.shared()), nil
}

// handoff reads the agents, the first of which is the root.
func handoff(r *reader, arg fake.Value) (loop.Middleware, error) {
	if err := kind(arg, fake.Map); err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	var names []string
	members := map[string]*middleware.HandoffAgent{}
	for _, f := range arg.Fields {
		names = append(names, f.Name)
		members[f.Name] = &middleware.HandoffAgent{Name: f.Name}
	}
	if names == nil {
		return loop.Middleware{}, at(arg.Pos, errors.New("there are no agents; name at least the one that begins"))
	}
	r.team.root, r.team.tools = members[names[0]], map[*middleware.HandoffAgent][]string{}
	for _, f := range arg.Fields {
		m := members[f.Name]
		err := fields(f.Value, map[string]func(fake.Value) error{
			"description":  func(v fake.Value) error { m.Description = v.Text; return kind(v, fake.Text) },
			"instructions": func(v fake.Value) error { m.Instructions = worded(v.Text); return kind(v, fake.Text) },
			"model": func(v fake.Value) error {
				m.ModelName = v.Text
				return refers("model", v, v.Text, r.lanes)
			},
			"tools": func(v fake.Value) (err error) {
				r.team.tools[m], err = words("tool", v, r.tools)
				return err
			},
			"to": func(v fake.Value) error {
				to, err := words("agent", v, names)
				for _, n := range to {
					m.Handoffs = append(m.Handoffs, members[n])
				}
				return err
			},
		})
		if err := at(f.Value.Pos, err); err != nil {
			return loop.Middleware{}, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	p, err := middleware.Handoff(r.team.root, r.shared())
	if err != nil {
		return loop.Middleware{}, at(arg.Pos, errors.New(unprefixed(err)))
	}
	return p, nil
}

// words reads a list of names.
func words(what string, v fake.Value, known []string) (out []string, err error) {
	if err := kind(v, fake.List); err != nil {
		return nil, err
	}
	for _, item := range v.Items {
		if err := at(item.Pos, refers(what, item, item.Text, known)); err != nil {
			return nil, err
		}
		out = append(out, item.Text)
	}
	return out, nil
}

var variable = regexp.MustCompile(`\{\w+\}`)

// worded makes a text instructions: {name} stands for a variable.
func worded(text string) func(middleware.Scope) string {
	return func(vars middleware.Scope) string {
		return variable.ReplaceAllStringFunc(text, func(name string) string {
			value, _ := middleware.Var[string](name[1 : len(name)-1]).Get(vars)
			return value
		})
	}
}

// middleware gives the agents their tools before the first step of a run, which makes
// them. It comes before the middleware of the handoff.
func (t *team) middleware() loop.Middleware {
	return loop.Middleware{Name: "handoff", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, _ error) {
			if s.Step == 0 {
				c.Tools = append([]loop.Tool{}, t.share(s.Tools())...)
			}
			return c, nil
		}}
	}}
}

// share gives the agents their tools and returns those that are everybody's.
func (t *team) share(tools []loop.Tool) (common []loop.Tool) {
	for m := range t.tools {
		m.Tools = nil
	}
	for _, tool := range tools {
		owned := false
		for m, names := range t.tools {
			if slices.Contains(names, tool.Name) {
				m.Tools, owned = append(m.Tools, tool), true
			}
		}
		if !owned {
			common = append(common, tool)
		}
	}
	return common
}

// prepareEnd reads what is said behind the answers of others than the root.
func prepareEnd(r *reader, arg fake.Value) (loop.Middleware, error) {
	if r.team.root == nil {
		return loop.Middleware{}, at(arg.Pos, errors.New("there are no agents; put handoff before it"))
	}
	if err := kind(arg, fake.List); err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	if len(arg.Items) == 0 {
		return loop.Middleware{}, at(arg.Pos, errors.New("there is nothing to say; give a text for each time that the root goes on"))
	}
	for _, item := range arg.Items {
		if err := at(item.Pos, kind(item, fake.Text)); err != nil {
			return loop.Middleware{}, err
		}
	}
	left := arg.Items
	return middleware.PrepareEnd(r.team.root, r.shared(), func(context.Context, middleware.Ended) ([]llm.Message, error) {
		next := left[0]
		left = left[1:]
		return []llm.Message{llm.User(next.Text)}, nil
	}, len(left))
}
