package stats_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// TestWilson compares with table I of Newcombe, "Two-sided confidence intervals for the
// single proportion: comparison of seven methods", Statistics in Medicine 17, 1998,
// method 3.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		successes, n int
		want         stats.Interval
	}{
		{81, 263, stats.Interval{Low: 0.2553, High: 0.3662}},
		{15, 148, stats.Interval{Low: 0.0624, High: 0.1605}},
		{0, 20, stats.Interval{Low: 0, High: 0.1611}},
		{1, 29, stats.Interval{Low: 0.0061, High: 0.1718}},
		{20, 20, stats.Interval{Low: 0.8389, High: 1}},
	} {
		got := must(singles(t, runs(c.n, c.successes)...).Wilson(0.95))(t)
		near(t, "Wilson", got, c.want, 5e-5)
	}
}

// TestWilsonInverts compares the ends with their definition: the rates p from which
// p̂ is z standard errors away.
func TestWilsonInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		c := rapid.IntRange(0, n).Draw(t, "successes")
		level := rapid.Float64Range(0.5, 0.999).Draw(t, "level")
		z := distuv.UnitNormal.Quantile((1 + level) / 2)
		i := must(singles(t, runs(n, c)...).Wilson(level))(t)
		rate := float64(c) / float64(n)
		for _, end := range []float64{i.Low, i.High} {
			if end < 0 || end > 1 {
				t.Errorf("%v is not an interval of a rate", i)
			}
			near(t, "squared distance", (rate-end)*(rate-end), z*z*end*(1-end)/float64(n), 1e-9)
		}
		if i.Low > rate || i.High < rate {
			t.Errorf("%v does not hold %v", i, rate)
		}
	})
}

func TestWilsonRefuses(t *testing.T) {
	s := sample(t, []float64{1, 0}, []float64{0, 0.5})
	for _, f := range []func(float64) (stats.Interval, error){s.Wilson, s.ClusterWilson} {
		_, err := f(0.95)
		fails(t, "no rate", err, `case "001", epoch 1`, "0.5 is not 0 or 1")
		if !errors.Is(err, stats.ErrNotBinary) {
			t.Errorf("got %v, want ErrNotBinary", err)
		}
	}
	s = singles(t, 1, 0)
	for _, f := range []func(float64) (stats.Interval, error){s.Wilson, s.ClusterWilson} {
		_, err := f(1)
		fails(t, "level", err, "interval of level 1")
	}
}

// TestClusterWilson is worked out on paper where the clusters are of 4 equal runs: the
// design effect is 4·(N−1)/N · C/(C−1) with N = 4·C; here C = 20 and N = 80, so that
// it is 79/19. The rate is 5/20.
func TestClusterWilson(t *testing.T) {
	equal := make([][]float64, 20)
	single := make([]float64, 20)
	for i := range equal {
		if i < 5 {
			single[i] = 1
		}
		equal[i] = []float64{single[i], single[i], single[i], single[i]}
	}
	ratio := 1.990450 / 2.093024 // Student's t of 79 and 19 degrees of freedom
	n := 80.0 / (79.0 / 19.0) * ratio * ratio
	z := 1.959964
	mid, half := 0.25+z*z/2/n, z*math.Sqrt(0.25*0.75/n+z*z/4/n/n)
	want := stats.Interval{Low: (mid - half) / (1 + z*z/n), High: (mid + half) / (1 + z*z/n)}
	near(t, "equal runs", must(sample(t, equal...).ClusterWilson(0.95))(t), want, 1e-6)

	s := singles(t, single...)
	near(t, "each row a cluster", must(s.ClusterWilson(0.95))(t), must(s.Wilson(0.95))(t), 1e-12)

	// Runs of a case that are more different than those of two cases count as independent.
	s = sample(t, []float64{0, 1}, []float64{1, 0}, []float64{0, 1})
	near(t, "opposites", must(s.ClusterWilson(0.95))(t), must(singles(t, runs(6, 3)...).Wilson(0.95))(t), 1e-12)

	for _, v := range []float64{0, 1} {
		s = sample(t, []float64{v, v}, []float64{v, v, v}, []float64{v})
		near(t, "all equal", must(s.ClusterWilson(0.9))(t), must(singles(t, runs(3, int(3*v))...).Wilson(0.9))(t), 1e-12)
	}
}
