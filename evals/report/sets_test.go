package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
)

func TestSetTable(t *testing.T) {
	base := whole(t, of("m", 1, 1, 0, 0)...)
	one := of("m", 1, 0, 0, 0)
	one[0].Steps, one[0].Calls = 2, byName(map[string]evals.Calls{"find": {N: 1}})
	last := whole(t, append(of("m", 1, 1, 1), row("c3", 0, scores{"n": .5}))...)
	rep := reported(t, last, &report.Options{Base: base, More: []*evals.Result{whole(t, one...)}, Names: []string{"one", "last"}})
	want := report.Table{Header: []string{"", "BASE", "one", "last"}, Rows: [][]string{
		{"cases in both", "", "4", "3"},
		{"m", "0.5000", "0.2500: -0.2500 (-0.6994 to 0.3624), p 1.0000", "1.0000: +0.3333 (-0.4153 to 0.7923), p 1.0000"},
		{"m: worse, better", "", "1, 0", "0, 1"},
	}}
	if diff := cmp.Diff(want, rep.SetTable()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := reported(t, last, &report.Options{Base: base}).SetTable(); len(got.Rows) > 0 {
		t.Errorf("two sets: got %q", got.Rows)
	}
}

// TestUnchangedResources checks that tables name resources without a change only by their number, if this is wanted.
func TestUnchangedResources(t *testing.T) {
	a, b := row("a", 0, scores{"m": 1}), row("a", 0, scores{"m": 1})
	a.Steps, a.Cost, b.Steps, b.Cost = 2, 1, 2, 3
	c := reported(t, whole(t, b), &report.Options{Base: whole(t, a)}).Comparison
	for hide, want := range map[string][]string{"": {"cost", "steps"}, "--zeros": {"cost", "1 unchanged; --zeros"}} {
		var got []string
		for _, row := range report.ChangeTables(c, report.Lists{HideZero: hide})[2].Rows {
			got = append(got, row[0])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", hide, diff)
		}
	}
}
