package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// policyKind is a name that may stand under `policies` in a scenario.
type policyKind struct {
	name string
	arg  string // what its value is; empty if it has none
	make func(r *reader, arg fake.Value) (loop.Middleware, error)
}

func policyKinds() []policyKind {
	return append([]policyKind{
		{"leaked_calls", "", func(*reader, fake.Value) (loop.Middleware, error) { return middleware.LeakedCalls(), nil }},
		{"keep_last", "{keep, limit}", func(_ *reader, arg fake.Value) (loop.Middleware, error) { return keepLast(arg) }},
		{"answer_tool", "NAME", answerTool},
		{"output", "{schema, re_asks}", func(_ *reader, arg fake.Value) (loop.Middleware, error) { return output(arg) }},
		{"repair", "{model}", repair},
		{"variables", "{NAME: TEXT}", variables},
		{"handoff", "{AGENT: {instructions, tools, to, model, description}}", handoff},
		{"prepare_end", "[TEXT]", prepareEnd},
	}, slices.Concat(gateKinds(), deepKinds())...)
}

// policiesDoc says what may stand under `policies`.
func policiesDoc() string {
	var list []string
	for _, k := range policyKinds() {
		if k.arg != "" {
			k.name += ": " + k.arg
		}
		list = append(list, k.name)
	}
	return "a list of " + strings.Join(list, ", ")
}

func policies(r *reader, v fake.Value) error {
	if err := kind(v, fake.List); err != nil {
		return err
	}
	presets := r.cfg.Middleware
	for i, item := range v.Items {
		p, err := policy(r, item)
		if err := at(item.Pos, err); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
		same := func(other loop.Middleware) bool { return other.Name == p.Name }
		if n := slices.IndexFunc(presets, same); n >= 0 {
			r.cfg.Middleware[n] = p // instead of the preset's
			continue
		}
		if p.Name == "handoff" {
			r.cfg.Middleware = append(r.cfg.Middleware, r.team.middleware())
		}
		r.cfg.Middleware = append(r.cfg.Middleware, p)
	}
	return nil
}

func policy(r *reader, item fake.Value) (loop.Middleware, error) {
	name, arg, err := single(item)
	if err != nil {
		return loop.Middleware{}, err
	}
	var names []string
	for _, k := range policyKinds() {
		if k.name == name {
			return k.make(r, arg)
		}
		names = append(names, k.name)
	}
	return loop.Middleware{}, fmt.Errorf("there is no policy %q; there are %s", name, strings.Join(names, ", "))
}

func answerTool(r *reader, arg fake.Value) (loop.Middleware, error) {
	if err := kind(arg, fake.Text); err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	if slices.Contains(r.tools, arg.Text) {
		return loop.Middleware{}, at(arg.Pos, fmt.Errorf("there is a tool %q already; name the answer's otherwise", arg.Text))
	}
	p, err := middleware.AnswerTool(arg.Text, "", []byte(`{"type":"object"}`))
	if err != nil {
		err = at(arg.Pos, errors.New(unprefixed(err)))
	}
	return p, err
}

func keepLast(arg fake.Value) (loop.Middleware, error) {
	var keep, limit int
	limitPos := arg.Pos
	err := fields(arg, map[string]func(fake.Value) error{
		"keep": func(v fake.Value) (err error) { keep, err = integer(v, 1); return err },
		"limit": func(v fake.Value) (err error) {
			limitPos = v.Pos
			limit, err = integer(v, 1)
			return err
		},
	})
	switch {
	case err != nil:
	case keep == 0:
		err = errors.New("keep is missing: how many messages are kept")
	case limit != 0 && limit <= keep:
		err = at(limitPos, fmt.Errorf("limit: expected more than the %d that are kept, got %d", keep, limit))
	}
	return middleware.KeepLast(keep, limit), at(arg.Pos, err)
}

func output(arg fake.Value) (loop.Middleware, error) {
	var o *middleware.Output
	var reAsks int
	err := fields(arg, map[string]func(fake.Value) error{
		"schema": func(v fake.Value) (err error) {
			if o, err = middleware.NewOutput([]byte(v.Text)); err != nil {
				err = errors.New(unprefixed(err))
			}
			return err
		},
		"re_asks": func(v fake.Value) (err error) { reAsks, err = integer(v, 0); return err },
	})
	if err == nil && o == nil {
		err = errors.New("schema is missing: the JSON Schema of the answer, as a text")
	}
	if err != nil {
		return loop.Middleware{}, at(arg.Pos, err)
	}
	return o.Middleware(reAsks), nil
}
