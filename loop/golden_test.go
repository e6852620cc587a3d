package loop_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"

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

func id(path string) string { return strings.TrimSuffix(filepath.Base(path), ".txtar") }

// TestGoldens runs each scenario and compares the file with what it would be:
// go test ./loop -run TestGoldens -update rewrites the expected traces.
func TestGoldens(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(id(path), func(t *testing.T) {
			f := parse(t, path)
			o, err := scenario.Run(t.Context(), f.Script, nil)
			if err != nil {
				t.Fatal(err)
			}
			g := goldie.New(t, goldie.WithFixtureDir(filepath.Dir(path)), goldie.WithNameSuffix(".txtar"), goldie.WithDiffEngine(goldie.ColoredDiff))
			g.Assert(t, id(path), f.With(o))
			checkOutcome(t, o)
		})
	}
}

// checkOutcome holds the run against the invariants.
func checkOutcome(t *testing.T, o *scenario.Outcome) {
	t.Helper()
	c := check.New(nil)
	for _, ev := range o.Events {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	if len(o.Changed) > 0 {
		t.Errorf("INV-06: %q", o.Changed)
	}
	if n := len(abandoned(o.Events)); o.Live != n {
		t.Errorf("INV-16: %d tasks live after the run, %d were abandoned", o.Live, n)
	}
	text := o.Trace()
	back, err := trace.ParseText(text)
	if err != nil {
		t.Errorf("the golden cannot be read back: %v", err)
	} else if again := trace.FormatText(back); again != text {
		t.Errorf("the golden, read back and written, differs:\n%s", again)
	}
}

func abandoned(events []trace.Event) []trace.Abandoned { return of[trace.Abandoned](events) }

// TestGoldensRepeat gives the same canonical trace each time: 50 times here, as
// often as -repeats says elsewhere.
func TestGoldensRepeat(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(id(path), func(t *testing.T) {
			t.Parallel()
			f := parse(t, path)
			var first []byte
			times := *repeats
			if quick {
				times = 2
			}
			for n := range times {
				o, err := scenario.Run(t.Context(), f.Script, nil)
				if err != nil {
					t.Fatal(err)
				}
				got := []byte(o.Trace() + o.Parts())
				if n == 0 {
					first = got
				} else if !bytes.Equal(first, got) {
					t.Fatalf("repeat %d differs:\n%s\nthe first was:\n%s", n, got, first)
				}
			}
		})
	}
}
