package assertions

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// knownCases returns the cases of the known differences.
func knownCases() (cases []Case) {
	for _, c := range KnownDifferences {
		cases = append(cases, c.Case)
	}
	return cases
}

// results returns the results of looptape.
func results(t *testing.T, cases []Case) []Result {
	t.Helper()
	o, err := Looptape(cases, 1)
	if err != nil {
		t.Fatal(err)
	}
	return o.Results
}

// TestCasesAreStable checks that the cases are always the same, and that half of each kind pass.
func TestCasesAreStable(t *testing.T) {
	cases := Cases()
	if diff := cmp.Diff(cases, Cases()); diff != "" {
		t.Fatalf("Cases is not stable (-first +second):\n%s", diff)
	}
	got := map[string]map[Result]int{}
	for i, v := range results(t, cases) {
		if got[cases[i].Kind] == nil {
			got[cases[i].Kind] = map[Result]int{}
		}
		got[cases[i].Kind][v]++
	}
	want := map[string]map[Result]int{}
	for _, kind := range Kinds {
		want[kind] = map[Result]int{Pass: each / 2, Fail: each / 2}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results by kind (-want +got):\n%s", diff)
	}
}

// TestKnownDifferences checks the results of looptape in the known differences.
func TestKnownDifferences(t *testing.T) {
	for i, got := range results(t, knownCases()) {
		if c := KnownDifferences[i]; got != c.Ours || got == c.Theirs {
			t.Errorf("%+v: got %s from looptape", c, got)
		}
	}
}

// TestPromptfooResults checks that promptfoo has the same results in all cases, and the listed ones in
// the known differences.
func TestPromptfooResults(t *testing.T) {
	for _, c := range []struct {
		cases []Case
		find  func(ours, theirs Outcomes) []string
	}{
		{Cases(), func(ours, theirs Outcomes) []string { return UnknownDifferences(Cases(), ours, theirs) }},
		{knownCases(), Obsolete},
	} {
		theirs, err := Promptfoo(t.Context(), filepath.Join("..", "promptfoo"), c.cases, 1)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		for _, line := range c.find(Outcomes{Results: results(t, c.cases)}, theirs) {
			t.Error(line)
		}
	}
}

// TestTableCountsDifferences checks that different results are counted and reported.
func TestTableCountsDifferences(t *testing.T) {
	cases := []Case{{"equals", "a", "a"}, {"equals", "a", "b"}}
	ours := Outcomes{[]Result{Pass, Fail}, map[string]float64{"equals": 2000}}
	theirs := Outcomes{[]Result{Pass, Error}, map[string]float64{"equals": 5000}}
	var b strings.Builder
	if err := Table(&b, cases, ours, theirs); err != nil {
		t.Fatal(err)
	}
	if want := "\n| equals | 2 | 1 | 1 | 2.0 µs | 5.0 µs | 2.5 |\n"; !strings.Contains(b.String(), want) {
		t.Errorf("want the row %q in\n%s", want, &b)
	}
	if diff := cmp.Diff([]string{"{Kind:equals Answer:a Value:b}: looptape fail, promptfoo error"}, UnknownDifferences(cases, ours, theirs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := Obsolete(Outcomes{Results: make([]Result, len(KnownDifferences))}, Outcomes{Results: make([]Result, len(KnownDifferences))}); len(lines) != len(KnownDifferences) {
		t.Errorf("got %d obsolete differences without results, want all %d", len(lines), len(KnownDifferences))
	}
}
