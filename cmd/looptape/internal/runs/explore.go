package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/program"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
)

// NewExplore returns the command explore.
func NewExplore(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "explore SCENARIO… [-- CMD ARG…]",
		Short: "Run a scenario in every order and with every fault",
		Long: `explore runs a scenario again and again, each time with other choices: in which
order the answers of models and tools come, whether and how a model call or a
tool fails, and when the run is canceled. It checks the invariants of each run.
A run that violates one is reduced to the choices that it needs.

A delay and a gate of the scenario take no time: their order is a choice. Each
response can have each error at each point and each quirk that looptape knows.
Each tool call can fail, panic, hang or end its goroutine. The run can be
canceled after each event and while it waits.

Without --seed, explore makes all runs with at most --faults faults, and with
each order of answers. Orders that no event distinguishes are run once. With
--seed, it makes --runs random runs, whose orders are drawn by priorities (PCT).

--choice repeats a run: it takes the given choices, and no other fault, and
prints the events of the run.

With a program after --, explore runs the program instead of the loop of
looptape, with the server of looptape serve and its environment variables. The
choices are its responses: their order, errors, quirks, interrupted and stalled
connections, and pauses, and when the run is canceled. The program is started
again for each run, or with --keep once: then it reads a line "run N" for each
run from its standard input and writes a line "done", or "done STATUS", when the
run has ended. A failure is repeated --repeat times, and reported as unstable if
not all of these runs show it. GOMAXPROCS is the number of programs that run
concurrently.

--write writes two files for each failure to a folder: a scenario that is as
small as the failure permits, and a Go test that repeats the failure with it.
For a program it writes only the scenario, whose first lines have the command
that repeats the failure.

Exit status: 0 if no run violates an invariant, 1 if one does or if a run
differs when it is repeated, 2 if a file cannot be read, if the program cannot
be started or makes no request, or if not all runs were made.`,
		Example: "  looptape explore weather.yaml\n  looptape explore --faults 2 --runs 100000 weather.yaml\n  looptape explore --seed 7 --faults 3 --runs 20000 weather.yaml\n" +
			"  looptape explore --choice 'tool call c1: panics' weather.yaml\n  looptape explore weather.yaml -- python3 agent.py",
		Args: cli.NeedFiles,
	}
	x := explorer{w: w}
	f := c.Flags()
	f.IntVar(&x.bounds.Faults, "faults", 1, "explore runs with at most `n` faults")
	f.IntVar(&x.bounds.Preemptions, "preemptions", 0, "also let at most `n` goroutines or answers come earlier than the loop waits for them")
	f.IntVar(&x.bounds.Runs, "runs", 0, "make at most `n` runs (default: 1000000, or 1000 with --seed)")
	f.Uint64Var(&x.seed, "seed", 0, "make random runs from this `number`")
	f.IntVar(&x.depth, "depth", 3, "with --seed: the `number` of events whose order a fault may depend on")
	f.IntVar(&x.only, "run", 0, "with --seed: make only run `n`")
	f.StringArrayVar(&x.choices, "choice", nil, "repeat the run with this `choice`, as a report prints it; can be repeated")
	f.StringVar(&x.folder, "write", "", "write a smaller scenario, and a Go test, of each failure to this `folder`")
	x.program.add(c)
	x.format = cli.FormatFlag(c, "text", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		x.random, x.c = f.Changed("seed"), c
		if n := c.ArgsLenAtDash(); n >= 0 {
			args, x.program.args = args[:n], args[n:]
		}
		if err := x.program.validate(&x, f.Changed, len(args)); err != nil {
			return err
		}
		if err := x.validate(f.Changed); err != nil {
			return err
		}
		if err := x.makeFolder(args); err != nil {
			return err
		}
		failed, incomplete := false, false
		for _, name := range args {
			bad, cut := x.file(name)
			failed, incomplete = failed || bad, incomplete || cut
		}
		return cli.Result(failed, incomplete)
	}
	return c
}

// explorer explores scenario files.
type explorer struct {
	w       *cli.World
	c       *cobra.Command
	bounds  explore.Bounds
	random  bool
	seed    uint64
	depth   int
	only    int
	choices []string
	folder  string
	format  *string
	program programFlags

	adjust func(*loop.Config) // of a test
}

func (x *explorer) validate(changed func(string) bool) error {
	for _, v := range []struct {
		name string
		n    int
	}{{"faults", x.bounds.Faults}, {"preemptions", x.bounds.Preemptions}, {"runs", x.bounds.Runs}, {"run", x.only}} {
		if v.n < 0 {
			return cli.UsageError(x.c, "--%s %d: want a number from 0", v.name, v.n)
		}
	}
	if changed("run") && changed("runs") {
		return cli.UsageError(x.c, "--runs has no effect with --run, which makes one run")
	}
	if x.depth < 1 {
		return cli.UsageError(x.c, "--depth %d: want a number from 1", x.depth)
	}
	for _, name := range []string{"depth", "run"} {
		if changed(name) && !x.random {
			return cli.UsageError(x.c, "--%s has an effect only with --seed", name)
		}
	}
	for _, name := range []string{"faults", "preemptions", "runs", "seed", "write"} {
		if changed(name) && len(x.choices) > 0 {
			return cli.UsageError(x.c, "--%s has no effect with --choice, which makes one run", name)
		}
	}
	return nil
}

// explored is the output of --format json.
type explored struct {
	File        string   `json:"file"`
	Looptape    string   `json:"looptape,omitempty"`   // the version of the command
	OK          bool     `json:"ok"`                   // no failure, nothing unstable, and all runs that were asked for
	Complete    bool     `json:"complete"`             // all runs within the bounds were made
	Unfinished  []string `json:"unfinished,omitempty"` // why they were not
	Faults      int      `json:"faults"`
	Preemptions int      `json:"preemptions"`
	Seed        *uint64  `json:"seed,omitempty"`
	Runs        int      `json:"runs"`
	Different   int      `json:"different"`
	Orders      int      `json:"orders"` // different runs without a fault
	// Interleavings is the number of all interleavings of goroutines and answers without a fault, if it is known.
	Interleavings int `json:"interleavings,omitempty"`

	Set      string            `json:"set"` // identifies the set of different runs
	Chance   float64           `json:"chance,omitempty"`
	Failures []exploredFailure `json:"failures"`
	Unstable []string          `json:"unstable,omitempty"`
	Unused   []string          `json:"unused,omitempty"` // choices that the run did not have
	Trace    string            `json:"trace,omitempty"`
	Error    string            `json:"error,omitempty"`
}

type exploredFailure struct {
	violation
	Hint  string `json:"hint"`
	Found int    `json:"found"` // the number of the run
	Count int    `json:"count"` // of runs
	// ByFault is Count by the faults of these runs, without the names of answers; "" has the runs without a fault.
	ByFault map[string]int `json:"by_fault"`
	Choices []string       `json:"choices"`
	Minimal bool           `json:"minimal"`
	Without string         `json:"without,omitempty"` // the choice without which the run passes
	Command string         `json:"command"`           // repeats the run
	Trace   string         `json:"trace"`
	Passing string         `json:"passing,omitempty"`
	// Shown is how many of Repeated runs with the choices show the failure of a program.
	Shown    int `json:"shown,omitempty"`
	Repeated int `json:"repeated,omitempty"`

	Files []string `json:"files,omitempty"` // that --write wrote
}

var exploreJSON = cli.NewJSON("explore", 1, "explore --format json, one object for each scenario", explored{})

// file explores a scenario. bad reports a failure, and cut that the exploration is not complete.
func (x *explorer) file(name string) (bad, cut bool) {
	out := explored{File: name, Looptape: x.w.Version(), Faults: x.bounds.Faults, Preemptions: x.bounds.Preemptions, Failures: []exploredFailure{}}
	fail := func(err error) (bad, cut bool) {
		if out.Error = err.Error(); *x.format == "json" {
			x.w.JSON(exploreJSON.Of(out))
		} else {
			x.w.PrintError(err)
		}
		return false, true
	}
	_, f, err := x.w.ReadScenario(name)
	if err != nil {
		return fail(err)
	}
	if !slices.ContainsFunc(f.Script.Models, func(m fake.ModelScript) bool { return len(m.Responses) > 0 }) {
		return fail(fmt.Errorf("%s: the scenario has no response of a model: add one under models", name))
	}
	ctx := context.Background()
	var start func() explore.Program
	var e *program.Explorer // nil without a program
	failed := func() error {
		if e == nil {
			return nil
		}
		return e.Err()
	}
	if len(x.program.args) > 0 {
		var stop func()
		ctx, stop = x.w.Interrupted(x.c.Context())
		defer stop()
		x.bounds.Repeat = x.program.repeat
		if e, err = x.startProgram(ctx, f.Script); err == nil {
			start = e.Program
		}
	} else {
		start, err = scenario.Program(f.Script, x.adjust)
	}
	if err != nil {
		return fail(err)
	}
	if len(x.choices) > 0 {
		return x.replay(&out, start(), failed, fail)
	}
	var r *explore.Result
	if x.random {
		out.Seed = &x.seed
		r = explore.Random(start, explore.RandomOptions{Seed: x.seed, Bounds: x.bounds, Depth: x.depth, Only: x.only})
		out.Chance = r.Random.Chance()
	} else {
		r = explore.ExhaustUntil(start, x.bounds, func(bool) string {
			if err := failed(); err != nil {
				return err.Error()
			}
			return ""
		})
		const limit = 2000
		if len(x.program.args) == 0 && x.bounds.Preemptions == 0 && len(r.Failures) == 0 && r.Orders > 1 {
			if all := explore.Exhaust(start, explore.Bounds{Preemptions: limit, Runs: limit}); all.Complete {
				r.Interleavings = all.Runs
			}
		}
	}
	if err := failed(); err != nil {
		if len(r.Failures) == 0 {
			return fail(err)
		}
		r.Complete, r.Unfinished, r.Unstable = false, []string{err.Error()}, nil // the last runs did not end
	}
	out.take(r, x.program.command(name))
	if e != nil && e.Parallel() {
		for i := range out.Unstable {
			out.Unstable[i] += fmt.Sprintf("\nIf the program's concurrent requests come slowly, set --settle higher than %s.", x.program.settle)
		}
	}
	if x.folder != "" {
		for i, failure := range r.Failures {
			if out.Failures[i].Files, err = x.write(ctx, name, f.Script, failure); err != nil {
				return fail(err)
			}
		}
	}
	if *x.format == "json" {
		x.w.JSON(exploreJSON.Of(out))
	} else {
		x.print(&out, r)
	}
	return len(r.Failures)+len(r.Unstable) > 0, !x.random && !r.Complete
}

// take takes a result. command is the end of the commands that repeat runs.
func (o *explored) take(r *explore.Result, command string) {
	o.Unfinished = r.Unfinished
	o.Complete, o.Runs, o.Different, o.Orders, o.Set, o.Unstable = r.Complete, r.Runs, r.Traces, r.Orders, r.Hash, r.Unstable
	o.Interleavings = r.Interleavings
	for _, f := range r.Failures {
		o.Failures = append(o.Failures, failureOf(f, command))
	}
	o.OK = len(r.Failures) == 0 && len(r.Unstable) == 0 && (r.Complete || r.Random != nil)
}

// failureOf returns a failure for the output. command is the end of the command that repeats it.
func failureOf(f *explore.Failure, command string) exploredFailure {
	e := exploredFailure{
		violation: violation{Invariant: f.Invariant, Level: "error", Run: f.Violation.Run, Event: f.Event, Message: f.Message},
		Hint:      f.Hint, Found: f.Run, Count: f.Count, ByFault: map[string]int{}, Minimal: f.Minimal, Trace: f.Text, Passing: f.Neighbor, Choices: choiceTexts(f.Choices),
		Command: repeatCommand(command, f.Choices), Shown: f.Shown, Repeated: f.Repeated,
	}
	maps.Copy(e.ByFault, f.ByFault)
	if f.Flipped != nil {
		e.Without = f.Flipped.String()
	}
	return e
}

func choiceTexts(list []explore.Choice) []string {
	texts := []string{}
	for _, c := range list {
		texts = append(texts, c.String())
	}
	return texts
}

// print prints the result for people.
func (x *explorer) print(out *explored, r *explore.Result) {
	w := x.w
	word := "ok      "
	switch {
	case len(r.Failures)+len(r.Unstable) > 0:
		word = "FAIL    "
	case !out.OK:
		word = "partial "
	}
	w.Printf("%s %s: %s\n", word, out.File, r.Summary())
	for i, f := range r.Failures {
		w.Printf("\n%s\n", f.Error())
		if out.Seed != nil {
			w.Printf("found in run %d with the seed %d by looptape %s\n", f.Run, *out.Seed, out.Looptape)
		} else {
			w.Printf("found in run %d by looptape %s\n", f.Run, out.Looptape)
		}
		w.Printf("To repeat this run: %s\n", out.Failures[i].Command)
		for _, name := range out.Failures[i].Files {
			w.Printf("wrote %s\n", name)
		}
	}
	for _, u := range out.Unstable {
		w.Printf("\nunstable: %s\n", u)
	}
	for _, u := range r.Unfinished {
		w.Warn("%s: not all orders and faults were explored: %s", out.File, u)
	}
}

// repeatCommand is the command that repeats a run. scenario is its end, from the name of the scenario on.
func repeatCommand(scenario string, list []explore.Choice) string {
	var b strings.Builder
	b.WriteString("looptape explore")
	for _, c := range list {
		b.WriteString(" --choice " + quoted(c.String()))
	}
	if len(list) == 0 {
		b.WriteString(" --faults 0 --runs 1")
	}
	return b.String() + " " + scenario
}

// quoted quotes an argument for a shell, if it needs that.
func quoted(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("./_-,", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// replay repeats the run with the given choices.
func (x *explorer) replay(out *explored, p explore.Program, failed func() error, fail func(error) (bad, cut bool)) (bad, cut bool) {
	defer p.Close()
	var list []explore.Choice
	var errs []error
	for _, s := range x.choices {
		c, err := explore.ParseChoice(s)
		list, errs = append(list, c), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fail(err)
	}
	o, unused := explore.Replay(p, list)
	if err := failed(); err != nil {
		return fail(err)
	}
	out.Runs, out.Trace, out.Unused = 1, o.Text(), choiceTexts(unused)
	for _, v := range o.Violations {
		out.Failures = append(out.Failures, failureOf(&explore.Failure{Violation: v, Choices: list}, x.program.command(out.File)))
	}
	out.OK = len(out.Failures) == 0 && len(unused) == 0
	if *x.format == "json" {
		x.w.JSON(exploreJSON.Of(*out))
		return len(out.Failures) > 0, len(unused) > 0
	}
	x.w.Printf("%s", out.Trace)
	for _, v := range o.Violations {
		x.w.Printf("%s\n%s\n", v, v.Hint)
	}
	for _, c := range unused {
		x.w.Warn("%s: the run has no such choice: %q", out.File, c)
	}
	return len(out.Failures) > 0, len(unused) > 0
}
