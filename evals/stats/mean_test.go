package stats_test

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// TestByHand is worked out on paper. Three cases of 2, 2 and 1 runs:
//
//	a: 1, 1   b: 0, 1   c: 0
//
// N = 5, C = 3, x̄ = 3/5. The squares are 2·.16 + .36 + .16 + .36 = 1.2, so that the
// variance is 1.2/4 = .3 and the naive error √(.3/5) = √.06. The residuals add up to .8
// in a, −.2 in b and −.6 in c, their squares to 1.04: CR0 is √1.04/5 = √.0416, and times
// √(3/2) it is √.0624.
func TestByHand(t *testing.T) {
	s := sample(t, []float64{1, 1}, []float64{0, 1}, []float64{0})
	near(t, "mean", s.Mean(), 0.6, 1e-15)
	near(t, "naive", must(s.Naive())(t), stats.Estimate{Value: 0.6, SE: math.Sqrt(0.06), DF: 4}, 1e-15)
	near(t, "CR0", must(s.ClusterCR0())(t), stats.Estimate{Value: 0.6, SE: math.Sqrt(0.0416), DF: 2}, 1e-15)
	near(t, "cluster", must(s.Cluster())(t), stats.Estimate{Value: 0.6, SE: math.Sqrt(0.0624), DF: 2}, 1e-15)
}

// TestStudentT compares with Student's table and with his first example: by how many
// hours ten patients slept longer with one drug than with another, 1.58 on average with
// a standard deviation of 1.17 by N ("The probable error of a mean", 1908), which with
// N−1 is an error of .38894 and a t of 4.0621.
func TestStudentT(t *testing.T) {
	e := must(singles(t, 1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4).Naive())(t)
	near(t, "sleep", []float64{e.Value, e.SE, e.DF, e.Value / e.SE}, []float64{1.58, 0.38894, 9, 4.0621}, 2e-5)

	for _, c := range []struct{ df, level, t float64 }{
		{1, 0.95, 12.7062}, {2, 0.95, 4.3027}, {4, 0.95, 2.7764}, {9, 0.95, 2.2622}, {9, 0.99, 3.2498}, {30, 0.9, 1.697},
		{120, 0.95, 1.980}, {1e8, 0.95, 1.960}, {1.1e8, 0.95, 1.960}, {1e15, 0.95, 1.960}, {math.Inf(1), 0.99, 2.576},
	} {
		got := must(stats.Estimate{Value: 10, SE: 2, DF: c.df}.T(c.level))(t)
		near(t, "t interval", got, stats.Interval{Low: 10 - 2*c.t, High: 10 + 2*c.t}, 1e-4)
	}
}

// TestEqualValues checks that equal values have no error at all, also
// if they are not exact in binary.
func TestEqualValues(t *testing.T) {
	for n := 1; n < 20; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = 0.1
		}
		s := sample(t, values, []float64{0.1})
		for what, e := range map[string]stats.Estimate{"naive": must(s.Naive())(t), "cluster": must(s.Cluster())(t)} {
			if e.Value != 0.1 || e.SE != 0 {
				t.Errorf("%s of %d values: got %v, want 0.1 and no error", what, n+1, e)
			}
		}
	}
}

// TestSums adds what plain addition loses.
func TestSums(t *testing.T) {
	if got := singles(t, 1e16, 1, -1e16, 1).Mean(); got != 0.5 {
		t.Errorf("mean: got %v, want 0.5", got)
	}
	if got := singles(t, 1, 1e16, 1, -1e16).Mean(); got != 0.5 {
		t.Errorf("mean: got %v, want 0.5", got)
	}
	// Both cases add up to 1, which is as far from 0 as two of four ways.
	got := must(sample(t, []float64{1e16, 1, -1e16}, []float64{1}).SignFlip(stats.Resampling{}))(t)
	if got.P != 0.5 {
		t.Errorf("P: got %v, want 0.5", got.P)
	}
}

func TestTooFew(t *testing.T) {
	one := singles(t, 1)
	cluster := sample(t, []float64{1, 0})
	for what, f := range map[string]func() error{
		"naive of 1":          func() error { _, err := one.Naive(); return err },
		"CR0 of 1":            func() error { _, err := cluster.ClusterCR0(); return err },
		"cluster of 1":        func() error { _, err := cluster.Cluster(); return err },
		"wilson of 1 cluster": func() error { _, err := cluster.ClusterWilson(0.95); return err },
		"wilson of 1":         func() error { _, err := one.ClusterWilson(0.95); return err },
		"bootstrap":           func() error { _, err := cluster.Bootstrap(0.95, stats.Resampling{}); return err },
	} {
		if err := f(); !errors.Is(err, stats.ErrTooFew) {
			t.Errorf("%s: got %v, want ErrTooFew", what, err)
		}
	}
}

func TestTRefuses(t *testing.T) {
	for _, level := range []float64{0, 1e-20, 1, -1, 95, math.NaN()} {
		_, err := stats.Estimate{SE: 1, DF: 1}.T(level)
		fails(t, "level", err, "interval of level", "between 0 and 1")
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, e := range []stats.Estimate{
		{}, {SE: 1}, {SE: 1, DF: -1}, {SE: -1, DF: 1}, {SE: nan, DF: 1}, {SE: 1, DF: nan}, {SE: inf, DF: 1},
		{Value: nan, SE: 1, DF: 1}, {Value: inf, SE: 1, DF: 1}, {Value: -inf, SE: 1, DF: 1},
	} {
		_, err := e.T(0.95)
		fails(t, "estimate", err, "standard error", "degrees of freedom")
	}
}

// TestClusterOfRows checks that clusters of one row change nothing, and that repeating a row
// k times changes no clustered error but makes the naive one too small.
func TestClusterOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value(), 2, 20).Draw(t, "values")
		k := rapid.IntRange(1, 4).Draw(t, "times")
		cases := make([][]float64, len(values))
		for i, v := range values {
			for range k {
				cases[i] = append(cases[i], v)
			}
		}
		want := must(singles(t, values...).Naive())(t)
		near(t, "cluster", must(sample(t, cases...).Cluster())(t), want, 1e-12)
		near(t, "case means", must(sample(t, cases...).CaseMeans().Naive())(t), want, 1e-12)
	})
}

// TestShiftAndScale checks that other units give the same values in those units.
func TestShiftAndScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := rows(t, rapid.Float64Range(-100, 100))
		shift := rapid.Float64Range(-100, 100).Draw(t, "shift")
		scale := rapid.SampledFrom([]float64{0.001, 0.5, 2, 1000}).Draw(t, "scale")
		r := stats.Resampling{Resamples: 39}
		statistics := func(rows []stats.Row) []float64 {
			s := must(stats.New(rows))(t)
			naive, cluster := must(s.Naive())(t), must(s.Cluster())(t)
			interval, boot := must(cluster.T(0.95))(t), must(s.Bootstrap(0.95, r))(t)
			return []float64{naive.SE, cluster.SE, s.Mean(), interval.Low, interval.High, boot.Low, boot.High}
		}
		want := statistics(given)
		for i := range want {
			want[i] *= scale
			if i > 1 {
				want[i] += shift
			}
		}
		for i := range given {
			given[i].Value = given[i].Value*scale + shift
		}
		got := statistics(given)
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9*(1+scale) {
				t.Errorf("value %d (-want +got):\n%s", i, cmp.Diff(want, got))
			}
		}
	})
}

// Clusters with equal means have no error, also if rounding makes their means differ.
func TestEqualClusters(t *testing.T) {
	var rows []stats.Row
	for i, v := range []float64{0.57, 0.63, 0.33, 0.51} {
		rows = append(rows, stats.Row{Case: strconv.Itoa(i), Cluster: strconv.Itoa(i / 3), Value: v})
	}
	if e := must(must(stats.New(rows))(t).Cluster())(t); e.SE != 0 {
		t.Errorf("got the error %v, want 0", e.SE)
	}
}
