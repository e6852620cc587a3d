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

// Scope is where variables are: a Vars, or what a tool has of one (VarsFromContext).
type Scope interface {
	load(name string) (any, bool)
	update(name string, f func(old any) any)
}

// Vars are the variables that go along with a run and that outlive it: instructions
// are made of them, and tools read and write them under the policy Variables. The
// zero value is empty and ready, and it is safe for use by many goroutines. Runs
// that are under way at the same time share what they share of it.
type Vars struct {
	mu     sync.Mutex
	values map[string]any
}

// NewVars returns variables with these values, of which it keeps a copy.
func NewVars(values map[string]any) *Vars { return &Vars{values: maps.Clone(values)} }

// Values returns a copy of the values by their names.
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

// Var is the name of a variable, with the type of its values.
type Var[T any] string

// Get returns the variable's value; ok is false if it has none, or one of another
// type.
func (v Var[T]) Get(s Scope) (value T, ok bool) {
	x, _ := s.load(string(v))
	value, ok = x.(T)
	return value, ok
}

// Set gives the variable a value.
func (v Var[T]) Set(s Scope, value T) { s.update(string(v), func(any) any { return value }) }

// Update gives the variable a value that is made of the one it has, the zero value
// if it has none or one of another type. In a tool, f is called once more when the
// step ends, so it must do nothing else.
func (v Var[T]) Update(s Scope, f func(old T) T) {
	s.update(string(v), func(x any) any {
		old, _ := x.(T)
		return f(old)
	})
}

// Apart is the scope s but for the variables of these names, which it has for itself.
// A nested run gets such a one where what is active in it is not what is active
// around it.
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

// Variables lets tools read and write variables; see VarsFromContext. What the tools of a
// step write is there when the step is over, in the order of their calls and not in
// that in which they happened to finish: a tool reads what was there before the step
// and what it wrote itself. A step that wrote something, and did not end the run,
// leaves the event
// "variables" with the values of what was written, by name; a value that is not JSON
// stands as the name of its type.
//
// A nested run is given the Scope of the tool that it serves.
func Variables(scope Scope) loop.Middleware {
	return loop.Middleware{Name: "variables", New: func(loop.RunInfo) loop.Hooks {
		p := &variables{scope: scope}
		return loop.Hooks{WrapTool: p.wrap, AfterStep: p.after, End: p.end}
	}}
}

// VarsFromContext returns the variables that a tool has, by the context that it was called
// with; ok is false where there is no policy Variables. What it returns is good
// until the tool has returned.
func VarsFromContext(ctx context.Context) (s Scope, ok bool) {
	s, ok = ctx.Value(varsKey{}).(Scope)
	return s, ok
}

type varsKey struct{}

// variables are the variables as the calls of a step have them.
type variables struct {
	scope Scope
	mu    sync.Mutex
	calls []*callVars
}

// callVars are the variables as one call has them.
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

// written returns what the call wrote.
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

// settle writes what the calls of the step wrote, and returns its names, sorted. What
// a call writes after that is written by nobody.
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

// end writes what came of a step after which no policy was asked.
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
