package looptest

import (
	"cmp"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/loop/explore"
)

// ExploreOptions are the options of [Explore]. The zero value explores two steps of two calls, in each order and with
// each single fault.
type ExploreOptions struct {
	// Script is what the models and the tools do; nil is two steps of two calls. A tool without a Text returns
	// its name and its arguments.
	Script *fake.Script
	// Faults is the highest number of faults of a run; 0 means 1, and a negative number none.
	Faults int
	// Runs is the highest number of runs; 0 means [explore.DefaultRuns].
	Runs int
	// Panics lets tools panic. A loop that does not recover the panic ends the process.
	Panics bool
	// Choices, if not empty, repeats the one run with these choices, as the report of a failure names them.
	Choices []explore.Choice
}

// Explore runs the loop in each order in which answers can come, and with each fault of the models and tools, a
// cancel and the end of the context by a deadline at each moment at which all goroutines wait included. The context has no Deadline. It fails t for each invariant that is violated, with
// the fewest choices that violate it, and returns what was explored. The loop is subject to the same conditions as in
// [Check], and it must be deterministic apart from the order of its goroutines: a run that differs when it is repeated
// fails t.
//
// Explore calls Run concurrently: a run for each processor. Between two answers the goroutines of the loop run in an order that the Go scheduler chooses. The race detector
// finds what that order changes.
func Explore(t *testing.T, loop Loop, opts *ExploreOptions) *explore.Result {
	t.Helper()
	if opts != nil && len(opts.Choices) > 0 {
		return replayed(t, loop, opts)
	}
	r := Explored(t, loop, opts)
	t.Log(r.Summary())
	for _, u := range r.Unfinished {
		t.Logf("not all orders and faults were explored: %s", u)
	}
	x := newExploration(t, loop, opts)
	for _, f := range r.Failures {
		t.Errorf("%s\n%s", f, x.repeatTest(f))
	}
	for _, u := range r.Unstable {
		t.Errorf("the loop is not deterministic: %s", u)
	}
	return r
}

// Explored explores the loop as [Explore] does. It does not fail t for what it finds.
func Explored(t *testing.T, loop Loop, opts *ExploreOptions) *explore.Result {
	t.Helper()
	return explore.Exhaust(newExploration(t, loop, opts).program, opts.bounds())
}

// bounds returns the bounds of an exploration; o may be nil.
func (o *ExploreOptions) bounds() explore.Bounds {
	switch {
	case o == nil:
		return explore.Bounds{Faults: 1}
	case o.Faults == 0:
		return explore.Bounds{Faults: 1, Runs: o.Runs}
	}
	return explore.Bounds{Faults: max(o.Faults, 0), Runs: o.Runs}
}

// exploration is what is explored.
type exploration struct {
	t      *testing.T
	loop   Loop
	script *fake.Script
	panics bool
	served *wire.World // of a loop that calls an HTTP server
}

func newExploration(t *testing.T, loop Loop, opts *ExploreOptions) *exploration {
	t.Helper()
	if opts == nil {
		opts = &ExploreOptions{}
	}
	x := &exploration{t: t, loop: loop, panics: opts.Panics}
	x.use(cmp.Or(opts.Script, exploredScript()))
	return x
}

// use sets the script.
func (x *exploration) use(script *fake.Script) {
	x.script = script
	if _, is := x.loop.(HTTPLoop); is {
		initResolver()
		x.served = wire.NewWorld(wire.Config{Script: script})
	}
}

// exploredScript is a script with two steps of two calls.
func exploredScript() *fake.Script {
	return &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: script(calls(`c1 a {"n":1}`, `c2 b {"n":2}`), calls(`c3 a {"n":3}`, `c4 a {"n":4}`))}},
		Tools:  []fake.Tool{{Name: "a"}, {Name: "b"}},
		Input:  user("go"),
	}
}

func (x *exploration) program() explore.Program {
	var served *wire.World
	var world *fake.World
	if x.served != nil {
		served = x.served.Copy()
		world = served.World
	} else {
		world = fake.NewWorld(x.script)
	}
	memory := &memory{}
	return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
		r := &exploredRun{exploration: x, world: world, wire: served, c: c, memory: memory}
		if !bubble.Run(x.t, r.run) && len(r.found) == 0 {
			r.add("INV-16", "the run returned, but a goroutine cannot end")
		}
		return explore.Outcome{Digest: r.digest(), Violations: r.found, Text: r.describe}
	})
}
