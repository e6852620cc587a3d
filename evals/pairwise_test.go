package evals_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/trace/importer"
)

// preferred scores one row for each value, which belong to a case of that number of runs each.
func preferred(t *testing.T, runs int, values ...float64) evals.Metric {
	t.Helper()
	var text strings.Builder
	for i, v := range values {
		fmt.Fprintf(&text, `{"case":"%02d","epoch":%d,"b":%v,"f":0.5,"s":0}`+"\n", i/runs, i%runs, v)
	}
	r := must(evals.ScoreFiles(t.Context(), []evals.Input{file("rows.jsonl", text.String())}, &evals.Options{Rows: &importer.Mapping{
		Scores: map[string]string{"better": "/b", "better.first": "/f", "better.split": "/s"},
	}}))(t)
	return must(r.Summary(nil))(t).Metrics["better"]
}

// TestPairwiseByHand counts wins, ties and losses, and compares the probability with the sign test by hand.
func TestPairwiseByHand(t *testing.T) {
	m := preferred(t, 1, 1, 1, 0.5, 1, 0, 1)
	// Of 5 cases without a tie 1 is lost: P = (1 + 5)/32 for 0 or 1 losses, of which 1 counts by half, twice.
	if p := m.Pairwise; p.Wins != 4 || p.Ties != 1 || p.Losses != 1 || math.Abs(p.P-7.0/32) > 1e-12 {
		t.Errorf("%+v", *p)
	}
	// The interval is Tango's of 1 and 4 of 6 pairs.
	var rows [2][]stats.Row
	for i, lost := range []float64{1, 0, 0, 0, 0, 0} {
		won := 0.0
		if i > 1 {
			won = 1
		}
		rows[0] = append(rows[0], stats.Row{Case: fmt.Sprint(i), Value: lost})
		rows[1] = append(rows[1], stats.Row{Case: fmt.Sprint(i), Value: won})
	}
	ci := must(stats.Tango(must(stats.New(rows[0]))(t), must(stats.New(rows[1]))(t), 0.95))(t)
	got := m.CI95.Best()
	if math.Abs(got[0]-(1+ci.Low)/2) > 1e-12 || math.Abs(got[1]-(1+ci.High)/2) > 1e-12 {
		t.Errorf("the interval is %v, want half of 1 + %v", got, ci)
	}

	// With two runs, a case counts by its mean: a win, a loss of a half, and a tie of a win and a loss.
	m = preferred(t, 2, 1, 1, 0.5, 0, 1, 0)
	// The signs of .5 and -.25 give sums as far from 0 as .25 always.
	if p := m.Pairwise; p.Wins != 1 || p.Ties != 1 || p.Losses != 1 || p.P != 1 {
		t.Errorf("two runs for a case: %+v", *p)
	}

	m = preferred(t, 1, 0.5, 0.5)
	if in := m.CI95.Best(); m.Pairwise.P != 1 || in[1]-in[0] < 0.5 {
		t.Errorf("two ties: p %v, interval %v", m.Pairwise.P, in)
	}
	if one := preferred(t, 1, 1); one.Pairwise.Wins != 1 || one.CI95.Pairs != nil {
		t.Errorf("a single case: %+v, interval %v", *one.Pairwise, one.CI95.Pairs)
	}
}
