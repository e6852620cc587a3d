package loop_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// The scenarios of the project: what each must come to is in its own file.
var repeats = flag.Int("repeats", 50, "how often each golden scenario is repeated")

// quick makes the tests that repeat things do so a few times only, where they are
// run once for each mutant.
var quick = os.Getenv("LOOPTAPE_QUICK") != ""

const testdata = "../testdata"

func scenarioFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "*", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", testdata, err)
	}
	return files
}

func parse(t testing.TB, path string) *scenario.File {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Parse(path, src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pinned returns the scenario of a file that contains the expected trace.
func pinned(t testing.TB, path string) *scenario.File {
	t.Helper()
	f := parse(t, path)
	if !f.HasTrace || f.Trace == "" {
		t.Errorf("%s expects no trace; run go test ./loop -run TestGoldens -update and read it", path)
	}
	return f
}

// play runs a scenario. The script must succeed.
func play(t testing.TB, s *fake.Script, opts *scenario.Options) *scenario.Result {
	t.Helper()
	o, err := scenario.Run(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// each runs a subtest for each scenario. A failure prints the command that repeats it.
func each(t *testing.T, paths []string, test func(t *testing.T, path string)) {
	t.Helper()
	for _, path := range paths {
		t.Run(id(path), func(t *testing.T) {
			repeatable(t)
			test(t, path)
		})
	}
}

// repeatable makes a failing test print the command that repeats it.
func repeatable(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat this alone: go test ./loop -count=1 -run '^%s$'", strings.ReplaceAll(t.Name(), "/", "$/^"))
		}
	})
}

func id(path string) string { return strings.TrimSuffix(filepath.Base(path), ".txtar") }

// TestGoldens runs each scenario and compares the file with what it would be:
// go test ./loop -run TestGoldens -update rewrites the expected traces.
func TestGoldens(t *testing.T) {
	each(t, scenarioFiles(t), func(t *testing.T, path string) {
		f := parse(t, path)
		o := play(t, f.Script, nil)
		g := goldie.New(t, goldie.WithFixtureDir(filepath.Dir(path)), goldie.WithNameSuffix(".txtar"), goldie.WithDiffEngine(goldie.ColoredDiff))
		g.Assert(t, id(path), f.With(o))
		checkOutcome(t, o)
	})
}

// checkOutcome checks the invariants of a run.
func checkOutcome(t *testing.T, o *scenario.Result) {
	t.Helper()
	c := check.New(nil)
	for _, ev := range o.Events {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	if len(o.MutatedRequests) > 0 {
		t.Errorf("INV-06: %q", o.MutatedRequests)
	}
	if n := len(abandoned(o.Events)); o.Live != n {
		t.Errorf("INV-16: %d tasks live after the run, %d were abandoned", o.Live, n)
	}
}

func abandoned(events []trace.Event) []trace.Abandoned { return of[trace.Abandoned](events) }

// TestGoldensRepeat checks that each repetition has the canonical trace of the file, at any
// GOMAXPROCS. The flag -repeats sets the number of repetitions.
func TestGoldensRepeat(t *testing.T) {
	each(t, scenarioFiles(t), func(t *testing.T, path string) {
		t.Parallel()
		f := pinned(t, path)
		first := ""
		times := *repeats
		if quick {
			times = 2
		}
		for n := range times {
			o := play(t, f.Script, nil)
			if diff := f.Compare(o); diff != "" {
				t.Fatalf("repeat %d is not what the file expects:\n%s", n, diff)
			}
			parts := o.Parts()
			if n == 0 {
				first = parts
			}
			if diff := cmp.Diff(first, parts); diff != "" {
				t.Fatalf("repeat %d shows other parts (-first +this):\n%s", n, diff)
			}
		}
	})
}
