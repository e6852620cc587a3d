package evals_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/stats"
)

// TestSequentialOrder checks that pairs are in the order of the new runs, by file and line, so that runs that
// are added later come last.
func TestSequentialOrder(t *testing.T) {
	base := rowsOf(t, "a m=1", "a m=1", "b m=1", "b m=0", "c m=1")
	now := rowsOf(t, "b m=0", "b m=1", "a m=0", "a m=1", "z m=1")
	now.Change(func(_ int, row *evals.Row) {
		row.File = "part-" + map[bool]string{true: "9", false: "10"}[row.Line <= 2]
	})
	got, err := base.Sequential(now, stats.Sequential{Effect: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	// b: −1, b: 1, a: −1, a: 0.
	one, err := stats.Sequential{Effect: 0.25}.Test([]float64{-1, 1, -1, 0})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]evals.SequentialChange{"m": {Decision: evals.DecisionUndecided, Pairs: 4, Base: 0.75, New: 0.5, E: one.E, P: one.P}}
	unpaired := want["m"]
	unpaired.Unpaired.Base, unpaired.Unpaired.New = 1, 1
	want["m"] = unpaired
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
}

// TestSequentialDecision checks the decisions and that added runs do not change a decision.
func TestSequentialDecision(t *testing.T) {
	lines := func(score string, n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("c%d %s", i, score))
		}
		return list
	}
	base := rowsOf(t, lines("m=0 n=1 o=0.5 p=7", 60)...)
	few, err := base.Sequential(rowsOf(t, lines("m=1 n=0 o=0.5 p=8", 20)...), stats.Sequential{Effect: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	all, err := base.Sequential(rowsOf(t, lines("m=1 n=0 o=0.5 p=8", 60)...), stats.Sequential{Effect: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{few["m"].Decision, few["n"].Decision, few["o"].Decision, all["m"].Decision, all["n"].Decision, all["o"].Decision}
	if want := []string{"better", "worse", "undecided", "better", "worse", "undecided"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if few["m"].Decided != all["m"].Decided || few["m"].Decided == 0 || all["m"].P > few["m"].P {
		t.Errorf("got %+v, then %+v", few["m"], all["m"])
	}
	if _, ok := all["p"]; ok {
		t.Error("scores above 1 have a decision")
	}
	// Less is better for n.
	turned, err := base.Sequential(rowsOf(t, lines("m=1 n=0 o=0.5 p=8", 20)...), stats.Sequential{Effect: 0.2}, "n", "o")
	if err != nil || turned["m"].Decision != "better" || turned["n"].Decision != "better" || turned["o"].Decision != "undecided" {
		t.Errorf("got %+v, %v, want better for m and for n", turned, err)
	}
	// Runs that are in no pair are counted.
	counted, err := rowsOf(t, "a m=1", "b m=1", "c m=!no", "d").Sequential(rowsOf(t, "a m=1", "b", "c m=1", "d m=1"), stats.Sequential{Effect: 0.2})
	if c := counted["m"]; err != nil || fmt.Sprint(c.Pairs, c.Unpaired, c.Missing, c.Errors) != "1 {1 2} {1 1} {1 0}" {
		t.Errorf("got %+v, %v", c, err)
	}
	exact, err := rowsOf(t, lines("m=1", 60)...).Sequential(rowsOf(t, lines("m=0.1", 60)...), stats.Sequential{Effect: 0.2})
	if c := exact["m"]; err != nil || c.Base != 1 || c.New != 0.1 {
		t.Errorf("got the means %v and %v, want 1 and 0.1 exactly", c.Base, c.New)
	}
	// Three metrics share the level.
	single, err := rowsOf(t, lines("m=0", 60)...).Sequential(rowsOf(t, lines("m=1", 60)...), stats.Sequential{Effect: 0.2})
	if err != nil || single["m"].Decided >= all["m"].Decided || single["m"].P*2.99 > all["m"].P && all["m"].P > 1e-9 {
		t.Errorf("one metric: got %+v, %v, with three %+v", single["m"], err, all["m"])
	}
	for name, now := range map[string]*evals.Result{"no common case": rowsOf(t, "z m=1"), "no rates": rowsOf(t, "c0 p=8")} {
		if _, err := base.Sequential(now, stats.Sequential{Effect: 0.2}); err == nil || !strings.Contains(err.Error(), "no metric with scores from 0 to 1") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err = base.Sequential(base, stats.Sequential{})
	fails(t, err, `metric "m"`, "an effect of 0")
}

// TestSequentialOfSomeCases checks that a case without a run is in no pair, also where missing scores count as 0,
// because its run may be still to come.
func TestSequentialOfSomeCases(t *testing.T) {
	var before, after []string
	for i := range 60 {
		before = append(before, fmt.Sprintf("c%d m=1", i))
	}
	after = append(append(after, before[:9]...), "c9 m=0")
	now := rowsOf(t, after...)
	for i := 10; i < 60; i++ {
		now.Rows.Add(&evals.Row{Case: fmt.Sprint("c", i), NoRun: true, Scores: evals.NewByName(map[string]float64{"m": 0}), Errors: evals.NewByName(map[string]string{"m": "no score"})})
	}
	got, err := rowsOf(t, before...).Sequential(now, stats.Sequential{Effect: 0.2})
	if c := got["m"]; err != nil || c.Pairs != 10 || c.Decision != evals.DecisionUndecided || c.New != 0.9 || fmt.Sprint(c.Unpaired, c.Missing, c.Errors) != "{50 0} {0 0} {0 0}" {
		t.Errorf("got %+v, %v, want 10 pairs", c, err)
	}
}

// TestSequentialClusters checks that cases of a cluster, whose runs may change together by chance, have no decision.
func TestSequentialClusters(t *testing.T) {
	sets := [2]*evals.Result{rowsOf(t, "a m=0", "b m=0", "c m=0"), rowsOf(t, "a m=1", "b m=1", "c m=1")}
	for name, c := range map[string]struct {
		clusters [3]string
		want     string
	}{"alone": {clusters: [3]string{"x", "", "y"}}, "shared": {[3]string{"", "x", "x"}, `the cases "b" and "c" share the cluster "x"`}} {
		for in := range sets {
			sets[in].Change(func(i int, row *evals.Row) { row.Cluster = c.clusters[i] })
			_, err := sets[0].Sequential(sets[1], stats.Sequential{Effect: 0.2})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s in set %d: got %v, want %q", name, in, err, c.want)
			}
			sets[in].Change(func(_ int, row *evals.Row) { row.Cluster = "" })
		}
	}
}
