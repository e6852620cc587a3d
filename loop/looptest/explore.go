package looptest

import (
	"cmp"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
)

// ExploreOptions are the options of [Explore]. The zero value explores two steps of two calls, in each order and with
// each single fault.
type ExploreOptions struct {
	// Script is what the models and the tools do; nil is two steps of two calls. A tool without a Text returns
	// its name and its arguments. Delays, gates and Cancel have no effect: the order of answers and a cancel are choices.
	Script *fake.Script
	// Faults is the highest number of faults of a run; 0 means 1, and a negative number none.
	Faults int
	// Runs is the highest number of runs, for a caller who accepts that not all are made; 0 means [explore.DefaultRuns].
	Runs int
	// Panics lets tools panic. A loop that does not recover the panic ends the process.
	Panics bool
	// Exceptions are invariants that the loop may violate, each with the reason, such as "INV-05=it summarizes its history". A run
	// that violates others too fails for these. The test logs the first accepted run of each invariant.
	// It fails if an exception is invalid, or if all runs were made without another failure and none needs it.
	Exceptions []string
	// Choices, if not empty, repeats the one run with these choices, as the report of a failure names them.
	Choices []explore.Choice
}

// Explore runs the loop in each order in which answers can come, and with each fault of the models and tools, a cancel and
// the end of the context by a deadline at each moment at which all goroutines wait, and after each event of a response,
// included. The context has no Deadline. Explore fails t for each invariant that is violated, with the fewest choices that
// violate it, and returns what was explored. Its failures do not include what [ExploreOptions.Exceptions] accept. The loop is
// subject to the same conditions as in [Check], and it must be deterministic apart from the order in which its goroutines run between two calls: a
// run that differs when it is repeated fails t, such as that of a loop whose goroutines compete for a lock.
//
// A run that does not end in the limit of real time of [Check] ends the test. Explore also fails t if it does not make all
// runs, unless ExploreOptions.Runs is set; then it logs this. It ends before the -timeout of go test, with the failures so far.
//
// Explore calls Run concurrently: a run for each processor. Between two answers the goroutines of the loop run in an order
// that the Go scheduler chooses. The race detector finds what that order changes.
func Explore(t *testing.T, loop Loop, opts *ExploreOptions) *explore.Result {
	t.Helper()
	if opts != nil && len(opts.Choices) > 0 {
		return replayed(t, loop, opts)
	}
	x := newExploration(t, loop, opts)
	r := x.explore(opts)
	x.report(opts, r)
	return r
}

// report fails the test for what an exploration found.
func (x *exploration) report(opts *ExploreOptions, r *explore.Result) {
	t := x.t
	t.Helper()
	t.Log(r.Summary())
	unfinished := t.Errorf
	if opts != nil && opts.Runs > 0 {
		unfinished = t.Logf
	}
	for _, u := range r.Unfinished {
		unfinished("not all orders and faults were explored: %s; explore fewer faults or a smaller script, or set ExploreOptions.Runs to accept that", u)
	}
	x.accepted.log(t)
	if opts != nil && r.Complete && len(r.Failures) == 0 {
		checkNeeded(t, opts.Exceptions, x.accepted.runs)
	}
	for _, f := range r.Failures {
		text := f.Error()
		if f.Shown == f.Repeated && x.over(true) == "" {
			text += "\n" + x.repeatTest(f)
		}
		t.Error(text)
	}
	for _, u := range r.Unstable {
		t.Errorf("the loop is not deterministic: %s", u)
	}
}

// Explored explores the loop as [Explore] does. It does not fail t for what it finds, except for a run that does not end in
// the limit of real time.
func Explored(t *testing.T, loop Loop, opts *ExploreOptions) *explore.Result {
	t.Helper()
	return newExploration(t, loop, opts).explore(opts)
}

func (x *exploration) explore(opts *ExploreOptions) *explore.Result {
	return explore.ExhaustUntil(x.program, opts.bounds(), x.over)
}

// repeats is the number of times that a failure is repeated.
const repeats = 5

// bounds returns the bounds of an exploration; o may be nil.
func (o *ExploreOptions) bounds() explore.Bounds {
	switch {
	case o == nil:
		return explore.Bounds{Faults: 1, Repeat: repeats}
	case o.Faults == 0:
		return explore.Bounds{Faults: 1, Runs: o.Runs, Repeat: repeats}
	}
	return explore.Bounds{Faults: max(o.Faults, 0), Runs: o.Runs, Repeat: repeats}
}

// exploration is what is explored.
type exploration struct {
	t            *testing.T
	loop         Loop
	accepted     *accepted
	script       *fake.Script
	panics       bool
	maxToolCalls int          // of a run
	stalls       bool         // a tool or a model of the script never answers
	errors       bool         // a response of the script is an error
	served       *wire.World  // of a loop that calls an HTTP server
	hung         *atomic.Bool // a run was over the limit of real time, so no other run is made

	over func(explored bool) string // why the time is over, or ""
}

func newExploration(t *testing.T, loop Loop, opts *ExploreOptions) *exploration {
	t.Helper()
	if opts == nil {
		opts = &ExploreOptions{}
	}
	x := &exploration{t: t, loop: loop, accepted: newAccepted(parseExceptions(t, opts.Exceptions)), panics: opts.Panics, hung: &atomic.Bool{}, over: timeOver(t)}
	script := cmp.Or(opts.Script, exploredScript())
	if !slices.ContainsFunc(script.Models, func(m fake.ModelScript) bool { return len(m.Responses) > 0 }) {
		t.Fatal("looptest: the script has no response of a model: add one to Models")
	}
	if opts.Runs < 0 {
		t.Fatalf("looptest: ExploreOptions.Runs is %d: want a number from 1, or 0 for all runs", opts.Runs)
	}
	x.use(script)
	return x
}

// use sets the script.
func (x *exploration) use(script *fake.Script) {
	x.script, x.maxToolCalls, x.stalls, x.errors = script, maxModelCalls, false, false
	for _, m := range script.Models {
		for i := range m.Responses {
			x.maxToolCalls += 2 * len(m.Responses[i].Calls)
			x.stalls = x.stalls || m.Responses[i].Stall
			x.errors = x.errors || m.Responses[i].Error != nil || m.Responses[i].Err != nil || m.Responses[i].Attempts != nil
		}
	}
	for _, t := range script.Tools {
		for _, b := range slices.Concat([]fake.Behavior{t.Behavior}, t.Calls, t.ByArguments) {
			x.stalls = x.stalls || b.Stall
		}
	}
	if _, is := x.loop.(HTTPLoop); is {
		initResolver()
		x.served = wire.NewWorld(wire.Config{Script: script})
	}
}

// exploredScript is a script with two steps of a text and two calls, with usage.
func exploredScript() *fake.Script {
	list := script(calls(`c1 a {"n":1}`, `c2 b {"n":2}`), calls(`c3 a {"n":3}`, `c4 a {"n":4}`))
	for i := range list {
		list[i].Usage = llm.Usage{InputTokens: 10, OutputTokens: 5}
	}
	list[0].Text, list[1].Text = "I call a and b.", "I call a again."
	return &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: list}},
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
	memory, limit := &memory{}, newRealTime(x.t)
	return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
		if x.hung.Load() {
			x.t.FailNow()
		}
		r := &exploredRun{exploration: x, world: world, wire: served, c: c, memory: memory}
		limit.restart()
		ended, stacks, locked := bubble.RunUntil(x.t, limit.expired, r.run)
		if stacks != "" {
			r.abandon(overLimit(locked), stacks)
		}
		if !ended && x.accepted.all(r.found) {
			r.add("INV-16", "the run returned, but a goroutine cannot end")
		}
		return explore.Outcome{Digest: r.digest(), Violations: r.others(), Text: r.describe}
	})
}
