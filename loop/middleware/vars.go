package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/loop"
)

// Vars are variables that a run uses and that outlive it. Instructions read them, and tools
// use them with the middleware [Variables]. Use a [Var] to read or write one. The zero value
// is ready to use. It is safe for use by many goroutines. Concurrent runs may share it.
type Vars struct {
	mu     sync.Mutex
	values map[string]any

	// The following fields are set in a view of other variables.
	parent *Vars
	own    []string // names in values; all other names are in parent
	call   bool     // true for the view of a call, which collects its writes
	index  int      // of the call
	writes []write
}

// write is a change of a variable that takes effect when the step ends.
type write struct {
	name string
	f    func(old any) any
}

// NewVars returns variables with a copy of these values.
func NewVars(values map[string]any) *Vars { return &Vars{values: maps.Clone(values)} }

// Isolate returns variables that share all values of v except those with these names, which
// they store themselves. Use it for a nested run with its own active agent.
func (v *Vars) Isolate(names ...string) *Vars {
	return &Vars{parent: v, own: names}
}

// Values returns a copy of the values by name.
func (v *Vars) Values() map[string]any {
	values := map[string]any{}
	if v.parent != nil {
		values = v.parent.Values()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, name := range v.own {
		delete(values, name)
	}
	maps.Copy(values, v.values)
	for _, w := range v.writes {
		values[w.name] = w.f(values[w.name])
	}
	return values
}

func (v *Vars) load(name string) (x any, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.parent == nil || slices.Contains(v.own, name) {
		x, ok = v.values[name]
		return x, ok
	}
	x, ok = v.parent.load(name)
	for _, w := range v.writes {
		if w.name == name {
			x, ok = w.f(x), true
		}
	}
	return x, ok
}

func (v *Vars) update(name string, f func(old any) any) {
	if v.parent != nil && !v.call && !slices.Contains(v.own, name) {
		v.parent.update(name, f)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.call {
		v.writes = append(v.writes, write{name, f})
		return
	}
	if v.values == nil {
		v.values = map[string]any{}
	}
	v.values[name] = f(v.values[name])
}

// Var is the name of a variable with the type of its values.
type Var[T any] string

// Get returns the value of the variable; ok is false if it has no value or one of another
// type.
func (v Var[T]) Get(vars *Vars) (value T, ok bool) {
	x, _ := vars.load(string(v))
	value, ok = x.(T)
	return value, ok
}

// Set sets the value of the variable.
func (v Var[T]) Set(vars *Vars, value T) { vars.update(string(v), func(any) any { return value }) }

// Update replaces the value of the variable with f(old). The old value is the zero value if
// the variable has no value or one of another type. In a tool, f is called again when the step
// ends, so it must have no side effects.
func (v Var[T]) Update(vars *Vars, f func(old T) T) {
	vars.update(string(v), func(x any) any {
		old, _ := x.(T)
		return f(old)
	})
}

// Variables lets tools read and write variables; see [VarsFromContext]. The writes of a step
// take effect when the step ends, in the order of its calls. A tool reads the values from
// before the step and its own writes. If a step wrote variables and did not end the run, the
// event [EventVariables] contains their values by name, with the type's name for a value that
// is not JSON.
//
// A nested run may use the variables of the tool that started it.
func Variables(vars *Vars) loop.Middleware {
	return loop.Middleware{Name: "variables", New: func(loop.RunInfo) loop.Hooks {
		p := &variables{vars: vars}
		return loop.Hooks{WrapTool: p.wrap, AfterStep: p.after, End: func(_ context.Context, res loop.Result) (loop.Result, error) {
			p.apply() // the writes of a last step after which no hook was called
			return res, nil
		}}
	}}
}

// VarsFromContext returns the variables of a tool from its context; ok is false without the
// middleware [Variables]. They drop what is written after the end of the step.
func VarsFromContext(ctx context.Context) (vars *Vars, ok bool) {
	vars, ok = ctx.Value(varsKey{}).(*Vars)
	return vars, ok
}

type varsKey struct{}

type variables struct {
	vars  *Vars
	mu    sync.Mutex
	calls []*Vars
}

func (p *variables) wrap(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		view := &Vars{parent: p.vars, call: true, index: call.Index}
		p.mu.Lock()
		p.calls = append(p.calls, view)
		p.mu.Unlock()
		return next(context.WithValue(ctx, varsKey{}, view), call)
	}
}

// apply applies the writes of the step and returns the names.
func (p *variables) apply() (names []string) {
	p.mu.Lock()
	calls := p.calls
	p.calls = nil
	p.mu.Unlock()
	slices.SortFunc(calls, func(a, b *Vars) int { return a.index - b.index })
	for _, view := range calls {
		view.mu.Lock()
		writes := view.writes
		view.mu.Unlock()
		for _, w := range writes {
			p.vars.update(w.name, w.f)
			names = append(names, w.name)
		}
	}
	return names
}

func (p *variables) after(_ context.Context, s *loop.StepInfo, _ *loop.Step) (loop.Decision, error) {
	names := p.apply()
	if len(names) == 0 {
		return loop.Decision{}, nil
	}
	values := map[string]json.RawMessage{}
	for _, name := range names {
		value, _ := p.vars.load(name)
		line, err := jsonval.Line(value)
		if err != nil {
			line = jsonio.AppendString(nil, fmt.Sprintf("%T", value))
		}
		values[name] = line
	}
	return loop.Decision{}, emitJSON(s, EventVariables, values)
}
