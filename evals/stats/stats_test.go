package stats_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

func TestNew(t *testing.T) {
	given := []stats.Row{
		{Case: "b", Epoch: 1, Value: 1},
		{Case: "z", Epoch: 0, Cluster: "a", Value: 2},
		{Case: "b", Epoch: 0, Value: 3},
		{Case: "y", Epoch: 7, Cluster: "a", Value: 4},
		{Case: "c", Epoch: -1, Value: -stats.MaxValue},
	}
	s := must(stats.New(given))(t)
	want := []stats.Row{
		{Case: "y", Epoch: 7, Cluster: "a", Value: 4},
		{Case: "z", Epoch: 0, Cluster: "a", Value: 2},
		{Case: "b", Epoch: 0, Cluster: "b", Value: 3},
		{Case: "b", Epoch: 1, Cluster: "b", Value: 1},
		{Case: "c", Epoch: -1, Cluster: "c", Value: -stats.MaxValue},
	}
	if diff := cmp.Diff(want, s.Rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if given[0].Cluster != "" {
		t.Error("New changed the rows that it was given")
	}
	s.Rows()[0].Value = 99
	if got := s.Rows()[0].Value; got != 4 {
		t.Errorf("a change of what Rows returned changed the sample: got %v", got)
	}
	if diff := cmp.Diff([]int{5, 4, 3, 1}, []int{s.Len(), s.Cases(), s.Clusters(), s.FewestEpochs()}); diff != "" {
		t.Errorf("rows, cases, clusters, fewest epochs (-want +got):\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		rows  []stats.Row
		parts []string
	}{
		"no rows":       {nil, []string{"too few", "score at least one run"}},
		"NaN":           {[]stats.Row{{Case: "a", Epoch: 3, Value: math.NaN()}}, []string{`case "a", epoch 3`, "NaN", "count the score as missing"}},
		"infinity":      {[]stats.Row{{Case: "a", Value: math.Inf(-1)}}, []string{"-Inf"}},
		"too large":     {[]stats.Row{{Case: "a", Value: 1.01e100}}, []string{"1.01e+100", "±1e+100"}},
		"twice":         {[]stats.Row{{Case: "b"}, {Case: "a", Epoch: 2}, {Case: "b", Value: 1}}, []string{`case "b" has two rows of epoch 0`, "pass each once"}},
		"two clusters":  {[]stats.Row{{Case: "a", Epoch: 1, Cluster: "y"}, {Case: "a", Cluster: "x"}}, []string{`case "a" is in the clusters "x" and "y"`, "give it one"}},
		"half clusters": {[]stats.Row{{Case: "a", Cluster: "x"}, {Case: "a", Epoch: 1}}, []string{`"x" and "a"`}},
	} {
		_, err := stats.New(c.rows)
		fails(t, name, err, c.parts...)
	}
	if _, err := stats.New(nil); !errors.Is(err, stats.ErrTooFew) {
		t.Errorf("no rows: got %v, want ErrTooFew", err)
	}
}

func TestCaseMeans(t *testing.T) {
	s := must(stats.New([]stats.Row{
		{Case: "a", Epoch: 5, Cluster: "x", Value: 1},
		{Case: "a", Epoch: 6, Cluster: "x", Value: 2},
		{Case: "b", Epoch: 1, Cluster: "x", Value: 7},
	}))(t)
	want := []stats.Row{{Case: "a", Cluster: "x", Value: 1.5}, {Case: "b", Cluster: "x", Value: 7}}
	if diff := cmp.Diff(want, s.CaseMeans().Rows()); diff != "" {
		t.Errorf("case means (-want +got):\n%s", diff)
	}
	if got := s.CaseMeans().Clusters(); got != 1 {
		t.Errorf("clusters of the case means: got %d, want 1", got)
	}
}

// TestOrder hands in the same rows in two orders: no value may differ by a bit.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		value      *rapid.Generator[float64]
		statistics func(tb, []stats.Row) []uint64
	}{{value(), statistics}, {rapid.SampledFrom([]float64{0, 1}), rates}} {
		rapid.Check(t, func(t *rapid.T) {
			given := rows(t, c.value)
			other := rapid.Permutation(given).Draw(t, "other order")
			if diff := cmp.Diff(c.statistics(t, given), c.statistics(t, other)); diff != "" {
				t.Errorf("the order of rows changes statistics (-one +other):\n%s", diff)
			}
		})
	}
}

// statistics returns the bits of statistics of the rows.
func statistics(t tb, rows []stats.Row) []uint64 {
	t.Helper()
	r := stats.Resampling{Resamples: 50, Seed: 3}
	s := must(stats.New(rows))(t)
	cr0, cluster := must(s.ClusterCR0())(t), must(s.Cluster())(t)
	boot := must(s.Bootstrap(0.9, r))(t)
	interval := must(cluster.T(0.9))(t)
	diff := must(stats.Pair(s, s.CaseMeans()))(t).Difference
	return bits(
		s.Mean(), must(s.Naive())(t).SE, cr0.SE, cluster.SE,
		boot.Low, boot.High, interval.Low, interval.High,
		must(s.SignFlip(r))(t).P, must(s.CaseMeans().Naive())(t).SE, diff.Mean(),
	)
}

// rates returns the bits of statistics of rows that succeed or fail.
func rates(t tb, rows []stats.Row) []uint64 {
	t.Helper()
	s := must(stats.New(rows))(t)
	wilson := must(s.ClusterWilson(0.95))(t)
	at, hat := must(s.PassAtK(s.FewestEpochs()))(t), must(s.PassHatK(s.FewestEpochs()))(t)
	return bits(wilson.Low, wilson.High, at.Mean(), hat.Mean(), must(at.Cluster())(t).SE)
}
