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
	"github.com/looptape/looptape/loop/preset/agentier"
)

// middlewareKind is an entry of the option middleware, whose documentation in
// [loop.Options] describes the values.
type middlewareKind struct {
	name  string
	value fake.ValueKind // of its argument; Null means that make checks it
	make  func(r *reader, arg fake.Value) (loop.Middleware, error)
}

func middlewareKinds() []middlewareKind {
	return []middlewareKind{
		{"leaked_calls", fake.Null, func(*reader, fake.Value) (loop.Middleware, error) { return middleware.LeakedCalls(), nil }},
		{"keep_last", fake.Map, keepLast},
		{"answer_tool", fake.Text, answerTool},
		{"output", fake.Map, output},
		{"repair", fake.Null, repair},
		{"variables", fake.Null, variables},
		{"handoff", fake.Map, handoff},
		{"prepare_end", fake.List, prepareEnd},
		{"permissions", fake.Map, permissions},
		{"guardrail", fake.Map, guardrail},
		{"todos", fake.Null, func(*reader, fake.Value) (loop.Middleware, error) { return middleware.Todos(), nil }},
		{"files", fake.Null, func(*reader, fake.Value) (loop.Middleware, error) {
			return middleware.Files(func(loop.RunInfo) files.Backend { return &files.Memory{} })
		}},
		{"ask_user", fake.Text, askUser},
		{"human_in_the_loop", fake.List, humanInTheLoop},
		{"summarize", fake.Map, summarize},
		{"truncate_results", fake.Number, func(_ *reader, arg fake.Value) (loop.Middleware, error) {
			n, err := integer(arg, 1)
			return middleware.TruncateResults(n), err
		}},
		{"retry", fake.Map, retry},
	}
}

// setMiddleware appends middleware, or replaces that of the preset with the same name.
func setMiddleware(r *reader, v fake.Value) error {
	presets := r.cfg.Middleware
	return items(v, func(item fake.Value) error {
		m, err := newMiddleware(r, item)
		if err != nil {
			return err
		}
		same := func(other loop.Middleware) bool { return other.Name == m.Name }
		if n := slices.IndexFunc(presets, same); n >= 0 {
			r.cfg.Middleware[n] = m
			return nil
		}
		if m.Name == "handoff" {
			r.cfg.Middleware = append(r.cfg.Middleware, r.agents.middleware())
		}
		r.cfg.Middleware = append(r.cfg.Middleware, m)
		return nil
	})
}

func newMiddleware(r *reader, item fake.Value) (m loop.Middleware, err error) {
	name, arg, err := single(item)
	if err != nil {
		return m, err
	}
	var names []string
	for _, k := range middlewareKinds() {
		if r.name(k.name) == name {
			pos := item.Pos
			if item.Kind == fake.Map {
				pos = item.Fields[0].Pos
			}
			r.rename(pos, name, k.name)
			if k.value != fake.Null {
				err = kind(arg, k.value)
			}
			if err == nil {
				m, err = k.make(r, arg)
			}
			return m, at(arg.Pos, err)
		}
		names = append(names, r.name(k.name))
	}
	return m, fmt.Errorf("unknown middleware %q: want one of %s", name, strings.Join(names, ", "))
}

func answerTool(r *reader, arg fake.Value) (m loop.Middleware, err error) {
	if slices.Contains(r.tools, arg.Text) {
		return m, fmt.Errorf("duplicate tool %q: choose another name for the answer tool", arg.Text)
	}
	m, err = middleware.AnswerTool(arg.Text, "", []byte(`{"type":"object"}`))
	return m, shortError(err)
}

func retry(r *reader, arg fake.Value) (loop.Middleware, error) {
	var settings loop.Retry
	err := r.fields(arg, map[string]func(fake.Value) error{
		"max":    setInteger(&settings.Max, 0),
		"factor": func(v fake.Value) (err error) { settings.Factor, err = number(v); return err },
	})
	return agentier.Retry(settings), err
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

func output(r *reader, arg fake.Value) (m loop.Middleware, err error) {
	var o *middleware.Output
	var maxRetries int
	err = r.fields(arg, map[string]func(fake.Value) error{
		"schema": func(v fake.Value) (err error) {
			o, err = middleware.NewOutput([]byte(v.Text))
			return shortError(err)
		},
		"max_retries": setInteger(&maxRetries, 0),
	})
	switch {
	case err != nil:
		return m, err
	case o == nil:
		return m, errors.New("missing key schema: set the JSON Schema of the answer, as a string")
	}
	return o.Middleware(maxRetries), nil
}
