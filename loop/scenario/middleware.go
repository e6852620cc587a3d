package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
)

// middlewareKind is an entry of the option middleware, whose documentation in
// [loop.Options] describes the values.
type middlewareKind struct {
	name string
	make func(r *reader, arg fake.Value) (loop.Middleware, error)
}

// middlewareKinds returns the kinds in the order of an error that lists them.
func middlewareKinds() []middlewareKind {
	return []middlewareKind{
		{"leaked_calls", func(*reader, fake.Value) (loop.Middleware, error) { return middleware.LeakedCalls(), nil }},
		{"keep_last", keepLast},
		{"answer_tool", answerTool},
		{"output", output},
		{"repair", repair},
		{"variables", variables},
		{"handoff", handoff},
		{"prepare_end", prepareEnd},
		{"permissions", permissions},
		{"guardrail", guardrail},
		{"todos", func(*reader, fake.Value) (loop.Middleware, error) { return middleware.Todos(), nil }},
		{"files", func(*reader, fake.Value) (loop.Middleware, error) {
			return middleware.Files(func(loop.RunInfo) files.Backend { return &files.Memory{} })
		}},
		{"ask_user", askUser},
		{"human_in_the_loop", humanInTheLoop},
		{"summarize", summarize},
		{"truncate_results", func(_ *reader, arg fake.Value) (loop.Middleware, error) {
			n, err := integer(arg, 1)
			return middleware.TruncateResults(n), err
		}},
	}
}

// setMiddleware appends the middleware of the script. Middleware of the preset with the
// same name is replaced.
func setMiddleware(r *reader, v fake.Value) error {
	if err := kind(v, fake.List); err != nil {
		return err
	}
	presets := r.cfg.Middleware
	for i, item := range v.Items {
		p, err := newMiddleware(r, item)
		if err := at(item.Pos, err); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
		same := func(other loop.Middleware) bool { return other.Name == p.Name }
		if n := slices.IndexFunc(presets, same); n >= 0 {
			r.cfg.Middleware[n] = p
			continue
		}
		if p.Name == "handoff" {
			r.cfg.Middleware = append(r.cfg.Middleware, r.agents.middleware())
		}
		r.cfg.Middleware = append(r.cfg.Middleware, p)
	}
	return nil
}

func newMiddleware(r *reader, item fake.Value) (loop.Middleware, error) {
	name, arg, err := single(item)
	if err != nil {
		return loop.Middleware{}, err
	}
	var names []string
	for _, k := range middlewareKinds() {
		if r.name(k.name) == name {
			pos := item.Pos
			if item.Kind == fake.Map {
				pos = item.Fields[0].Pos
			}
			r.rename(pos, name, k.name)
			m, err := k.make(r, arg)
			return m, at(arg.Pos, err)
		}
		names = append(names, r.name(k.name))
	}
	return loop.Middleware{}, fmt.Errorf("unknown middleware %q: want one of %s", name, strings.Join(names, ", "))
}

func answerTool(r *reader, arg fake.Value) (loop.Middleware, error) {
	if err := kind(arg, fake.Text); err != nil {
		return loop.Middleware{}, err
	}
	if slices.Contains(r.tools, arg.Text) {
		return loop.Middleware{}, fmt.Errorf("duplicate tool %q: choose another name for the answer tool", arg.Text)
	}
	m, err := middleware.AnswerTool(arg.Text, "", []byte(`{"type":"object"}`))
	if err != nil {
		err = errors.New(shortError(err))
	}
	return m, err
}

func keepLast(r *reader, arg fake.Value) (loop.Middleware, error) {
	var keep, limit int
	limitPos := arg.Pos
	err := r.fields(arg, map[string]func(fake.Value) error{
		"keep": setInteger(&keep, 1),
		"limit": func(v fake.Value) error {
			limitPos = v.Pos
			return setInteger(&limit, 1)(v)
		},
	})
	switch {
	case err != nil:
	case keep == 0:
		err = errors.New("missing key keep: set the number of messages to keep")
	case limit != 0 && limit <= keep:
		err = at(limitPos, fmt.Errorf("limit: expected more than keep (%d), got %d", keep, limit))
	}
	return middleware.KeepLast(keep, limit), err
}

func output(r *reader, arg fake.Value) (loop.Middleware, error) {
	var o *middleware.Output
	var maxRetries int
	err := r.fields(arg, map[string]func(fake.Value) error{
		"schema": func(v fake.Value) (err error) {
			if o, err = middleware.NewOutput([]byte(v.Text)); err != nil {
				err = errors.New(shortError(err))
			}
			return err
		},
		"max_retries": setInteger(&maxRetries, 0),
	})
	if err == nil && o == nil {
		err = errors.New("missing key schema: set the JSON Schema of the answer, as a string")
	}
	if err != nil {
		return loop.Middleware{}, err
	}
	return o.Middleware(maxRetries), nil
}
