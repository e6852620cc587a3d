package assertions

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// corners are the cases of the known differences.
func corners() (cases []Case) {
	for _, c := range Corners {
		cases = append(cases, c.Case)
	}
	return cases
}

// verdicts are those of looptape.
func verdicts(t *testing.T, cases []Case) []Verdict {
	t.Helper()
	o, err := Looptape(cases, 1)
	if err != nil {
		t.Fatal(err)
	}
	return o.Verdicts
}

// The cases are the same each time, and of each kind half of them hold.
func TestCases(t *testing.T) {
	cases := Cases()
	if diff := cmp.Diff(cases, Cases()); diff != "" {
		t.Fatalf("the second time there are others (-first +second):\n%s", diff)
	}
	got := map[string]map[Verdict]int{}
	for i, v := range verdicts(t, cases) {
		if got[cases[i].Kind] == nil {
			got[cases[i].Kind] = map[Verdict]int{}
		}
		got[cases[i].Kind][v]++
	}
	want := map[string]map[Verdict]int{}
	for _, kind := range Kinds {
		want[kind] = map[Verdict]int{Pass: each / 2, Fail: each / 2}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts by kind (-want +got):\n%s", diff)
	}
}

// looptape judges the corners as they tell.
func TestCorners(t *testing.T) {
	for i, got := range verdicts(t, corners()) {
		if c := Corners[i]; got != c.Ours || got == c.Theirs {
			t.Errorf("%+v: looptape says %s", c, got)
		}
	}
}

// promptfoo says the same of all cases, and of the corners what they tell.
func TestPromptfoo(t *testing.T) {
	for _, c := range []struct {
		cases []Case
		wrong func(ours, theirs Outcome) []string
	}{
		{Cases(), func(ours, theirs Outcome) []string { return Unexplained(Cases(), ours, theirs) }},
		{corners(), Unfounded},
	} {
		theirs, err := Promptfoo(t.Context(), filepath.Join("..", "promptfoo"), c.cases, 1)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		for _, line := range c.wrong(Outcome{Verdicts: verdicts(t, c.cases)}, theirs) {
			t.Error(line)
		}
	}
}

// Verdicts that differ are counted and told.
func TestTable(t *testing.T) {
	cases := []Case{{"equals", "a", "a"}, {"equals", "a", "b"}}
	ours := Outcome{[]Verdict{Pass, Fail}, map[string]float64{"equals": 2000}}
	theirs := Outcome{[]Verdict{Pass, Error}, map[string]float64{"equals": 5000}}
	var b strings.Builder
	if err := Table(&b, cases, ours, theirs); err != nil {
		t.Fatal(err)
	}
	if want := "\n| equals | 2 | 1 | 1 | 2.0 µs | 5.0 µs | 2.5 |\n"; !strings.Contains(b.String(), want) {
		t.Errorf("want the row %q in\n%s", want, &b)
	}
	if diff := cmp.Diff([]string{"{Kind:equals Answer:a Value:b}: looptape fail, promptfoo error"}, Unexplained(cases, ours, theirs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := Unfounded(Outcome{Verdicts: make([]Verdict, len(Corners))}, Outcome{Verdicts: make([]Verdict, len(Corners))}); len(lines) != len(Corners) {
		t.Errorf("%d corners are unfounded without a verdict, want all %d", len(lines), len(Corners))
	}
}
