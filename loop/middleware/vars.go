package middleware

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// Scope provides variables. It is a [Vars] or the Scope of a tool from [VarsFromContext].
type Scope interface {
	load(name string) (any, bool)
	update(name string, f func(old any) any)
}

// Vars are variables that a run uses and that outlive it. Instructions read them, and tools
// read and write them with the middleware [Variables]. The zero value is empty and ready to
// use. It is safe for use by many goroutines. Concurrent runs may share it.
type Vars struct {
	mu     sync.Mutex
	values map[string]any
}

// NewVars returns variables with a copy of these values.
func NewVars(values map[string]any) *Vars { return &Vars{values: maps.Clone(values)} }

// Values returns a copy of the values by name.
func (v *Vars) Values() map[string]any {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.values)
}

func (v *Vars) load(name string) (any, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	x, ok := v.values[name]
	return x, ok
}

func (v *Vars) update(name string, f func(any) any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values == nil {
		v.values = map[string]any{}
	}
	v.values[name] = f(v.values[name])
}

// Var is the name of a variable with the type of its values.
type Var[T any] string

// Get returns the value of the variable; ok is false if it has no value or one of another
// type.
func (v Var[T]) Get(s Scope) (value T, ok bool) {
	x, _ := s.load(string(v))
	value, ok = x.(T)
	return value, ok
}

// Set sets the value of the variable.
func (v Var[T]) Set(s Scope, value T) { s.update(string(v), func(any) any { return value }) }

// Update replaces the value of the variable with f(old). The old value is the zero value if
// the variable has no value or one of another type. In a tool, f is called again when the step
// ends, so it must have no side effects.
func (v Var[T]) Update(s Scope, f func(old T) T) {
	s.update(string(v), func(x any) any {
		old, _ := x.(T)
		return f(old)
	})
}

// Isolate returns a scope that shares all variables of s except those with these names, which
// it stores itself. Use it for a nested run with its own active agent.
func Isolate(s Scope, names ...string) Scope {
	own := map[string]bool{}
	for _, n := range names {
		own[n] = true
	}
	return &apart{Scope: s, names: own}
}

type apart struct {
	Scope
	names map[string]bool
	own   Vars
}

func (a *apart) load(name string) (any, bool) { return a.of(name).load(name) }

func (a *apart) update(name string, f func(any) any) { a.of(name).update(name, f) }

func (a *apart) of(name string) Scope {
	if a.names[name] {
		return &a.own
	}
	return a.Scope
}

// Variables lets tools read and write variables; see [VarsFromContext]. The writes of a step
// take effect when the step ends, in the order of its calls. A tool reads the values from
// before the step and its own writes. If a step wrote variables and did not end the run, the
// event "variables" contains their values by name. A value that is not JSON is replaced by the
// name of its type.
//
// A nested run receives the Scope of the tool that started it.
func Variables(scope Scope) loop.Middleware {
	return loop.Middleware{Name: "variables", New: func(loop.RunInfo) loop.Hooks {
		p := &variables{scope: scope}
		return loop.Hooks{WrapTool: p.wrap, AfterStep: p.after, End: p.end}
	}}
}

// VarsFromContext returns the variables of a tool from its context; ok is false without the
// middleware [Variables]. The Scope is valid until the tool returns.
func VarsFromContext(ctx context.Context) (s Scope, ok bool) {
	s, ok = ctx.Value(varsKey{}).(Scope)
	return s, ok
}

type varsKey struct{}

// variables is the state of the variables during a step.
type variables struct {
	scope Scope
	mu    sync.Mutex
	calls []*callVars
}

// callVars is the state of the variables for one call.
type callVars struct {
	scope   Scope
	index   int
	mu      sync.Mutex
	updates []update
}

type update struct {
	name string
	f    func(any) any
}

func (c *callVars) load(name string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.scope.load(name)
	for _, u := range c.updates {
		if u.name == name {
			x, ok = u.f(x), true
		}
	}
	return x, ok
}

func (c *callVars) update(name string, f func(any) any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = append(c.updates, update{name, f})
}

// written returns the writes of the call.
func (c *callVars) written() []update {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.updates
}

func (p *variables) wrap(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		c := &callVars{scope: p.scope, index: call.Index}
		p.mu.Lock()
		p.calls = append(p.calls, c)
		p.mu.Unlock()
		return next(context.WithValue(ctx, varsKey{}, c), call)
	}
}

// settle applies the writes of the step and returns the sorted names. Later writes of its
// calls are dropped.
func (p *variables) settle() []string {
	p.mu.Lock()
	calls := p.calls
	p.calls = nil
	p.mu.Unlock()
	slices.SortFunc(calls, func(a, b *callVars) int { return a.index - b.index })
	var names []string
	for _, c := range calls {
		for _, u := range c.written() {
			p.scope.update(u.name, u.f)
			names = append(names, u.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *variables) after(_ context.Context, s *loop.StepInfo, _ *loop.Step) (loop.Decision, error) {
	names := p.settle()
	if len(names) == 0 {
		return loop.Decision{}, nil
	}
	data := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(jsonio.AppendString(data, name), ':')
		value, _ := p.scope.load(name)
		data = append(data, valueJSON(value)...)
	}
	return loop.Decision{}, s.Emit("variables", append(data, '}'))
}

// end applies the writes of a last step after which no hook was called.
func (p *variables) end(context.Context, *loop.Result) error {
	p.settle()
	return nil
}

func valueJSON(value any) []byte {
	out, err := loop.JSONOutput(value)
	if err != nil {
		return jsonio.AppendString(nil, fmt.Sprintf("%T", value))
	}
	return []byte(out.Content[0].(llm.Text).Text)
}
