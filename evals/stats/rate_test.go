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
	_, err := s.Wilson(0.95)
	fails(t, "no successes", err, `case "001", epoch 1`, "0.5 is not 0 or 1")
	if !errors.Is(err, stats.ErrNotBinary) {
		t.Errorf("got %v, want ErrNotBinary", err)
	}
	s = sample(t, []float64{1, 0}, []float64{0, 1.5})
	_, err = s.ClusterWilson(0.95)
	fails(t, "no rate", err, `case "001", epoch 1`, "1.5 is not between 0 and 1")
	if !errors.Is(err, stats.ErrNotRate) {
		t.Errorf("got %v, want ErrNotRate", err)
	}
	s = singles(t, 1, 0)
	for _, f := range []func(float64) (stats.Interval, error){s.Wilson, s.ClusterWilson} {
		_, err := f(1)
		fails(t, "level", err, "interval of level 1")
	}
}

func TestClusterWilson(t *testing.T) {
	wilson := func(n, c int) stats.Interval { return must(singles(t, runs(n, c)...).Wilson(0.95))(t) }
	got := func(s *stats.Sample) stats.Interval { return must(s.ClusterWilson(0.95))(t) }
	equal := make([][]float64, 20)
	for i := range equal {
		v := 0.0
		if i < 5 {
			v = 1
		}
		equal[i] = []float64{v, v, v, v}
	}
	near(t, "equal runs count once", got(sample(t, equal...)), wilson(20, 5), 1e-9)
	near(t, "each row a cluster", got(singles(t, runs(20, 5)...)), wilson(20, 5), 1e-12)

	// The mean is 5/8 over cases. On paper: case means 1, 1/4 and 5/8 more and less than that by
	// 3/8 have the squared error 2·(3/8)²/(2·3), so that there are 1 + (15/64)/(3/64) = 6 trials, and
	// with Student's t of 5 and 2 degrees of freedom fewer.
	ratio := 2.5705818 / 4.3026527
	n, p, z := 1+5*ratio*ratio, 0.625, 1.9599640
	mid, half := p+z*z/2/n, z*math.Sqrt(p*(1-p)/n+z*z/4/n/n)
	want := stats.Interval{Low: (mid - half) / (1 + z*z/n), High: (mid + half) / (1 + z*z/n)}
	near(t, "unequal runs", got(sample(t, runs(2, 2), runs(4, 1), runs(8, 5))), want, 1e-6)

	// Runs of a case that are more different than those of two cases count as independent.
	opposite := got(sample(t, []float64{0, 1}, []float64{1, 0}, []float64{0, 1}))
	n = 1 + 5*ratio*ratio
	half = z * math.Sqrt(0.25/n+z*z/4/n/n) / (1 + z*z/n)
	near(t, "opposites", opposite, stats.Interval{Low: 0.5 - half, High: 0.5 + half}, 1e-6)
	for _, v := range []float64{0, 1} {
		near(t, "all equal", got(sample(t, []float64{v, v}, []float64{v, v, v}, []float64{v})), wilson(3, int(3*v)), 1e-12)
	}

	// Graded values vary less than 0 and 1, so that the interval is narrower.
	graded := singles(t, 0.4, 0.5, 0.6, 0.5)
	in, e := got(graded), must(must(graded.Cluster())(t).T(0.95))(t)
	near(t, "graded values", in, e, 0.02)
	near(t, "equal graded values", got(singles(t, 0.005, 0.005)), stats.Interval{Low: 0.005, High: 0.005}, 1e-12)

	// pass^1 is the mean.
	s := sample(t, runs(4, 1), runs(4, 4), runs(4, 0), runs(4, 3))
	near(t, "pass^1", must(must(s.PassHatK(1))(t).ClusterWilson(0.95))(t), got(s), 1e-12)
}

// TestTangoInverts compares the ends with their definition: the differences from which the observed
// one is z standard errors away, at the most likely shares with that difference, found by search.
func TestTangoInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lost, won, same := rapid.IntRange(0, 20).Draw(t, "lost"), rapid.IntRange(0, 20).Draw(t, "won"), rapid.IntRange(2, 40).Draw(t, "same")
		n := float64(lost + won + same)
		base := append(repeat(lost, 1, won, 0), repeat(same, 1, 0, 0)...)
		other := append(repeat(lost, 0, won, 1), repeat(same, 1, 0, 0)...)
		i := must(stats.Tango(singles(t, base...), singles(t, other...), 0.95))(t)
		observed := float64(won-lost) / n
		if i.Low < -1 || i.High > 1 || i.Low > observed || i.High < observed {
			t.Fatalf("%v is not an interval of the difference %v", i, observed)
		}
		for _, d := range []float64{i.Low, i.High} {
			likelihood := func(q float64) float64 { // of the share of lost pairs
				term := func(k int, p float64) float64 {
					if k == 0 {
						return 0
					}
					return float64(k) * math.Log(p)
				}
				return term(lost, q) + term(won, q+d) + term(same, 1-2*q-d)
			}
			low, high := max(0, -d), (1-d)/2
			for range 200 { // ternary search
				a, b := low+(high-low)/3, high-(high-low)/3
				if likelihood(a) < likelihood(b) {
					low = a
				} else {
					high = b
				}
			}
			variance := (2*low + d - d*d) / n
			near(t, "squared distance", (observed-d)*(observed-d), 1.9599640*1.9599640*variance, 1e-5)
		}
	})
}

func TestTango(t *testing.T) {
	tango := func(base, other *stats.Sample) stats.Interval { return must(stats.Tango(base, other, 0.95))(t) }
	lost := tango(singles(t, 1, 1, 1, 0, 0, 1, 1, 1), singles(t, 0, 0, 1, 1, 0, 1, 1, 1))
	won := tango(singles(t, 0, 0, 1, 1, 0, 1, 1, 1), singles(t, 1, 1, 1, 0, 0, 1, 1, 1))
	near(t, "the other direction", stats.Interval{Low: -won.High, High: -won.Low}, lost, 1e-12)

	// Equal runs of a case count once.
	twice := tango(sample(t, runs(3, 3), runs(2, 2), runs(4, 0), runs(2, 0)), sample(t, runs(2, 0), runs(2, 2), runs(2, 0), runs(3, 3)))
	near(t, "equal runs", twice, tango(singles(t, 1, 1, 0, 0), singles(t, 0, 1, 0, 1)), 1e-9)

	// Without any change, the interval is as wide as that of no event.
	same := tango(singles(t, runs(20, 10)...), singles(t, runs(20, 10)...))
	z2 := 1.9599640 * 1.9599640
	near(t, "no change", same, stats.Interval{Low: -z2 / (20 + z2), High: z2 / (20 + z2)}, 1e-6)

	_, err := stats.Tango(singles(t, 2, 1), singles(t, 1, 1), 0.95)
	fails(t, "no rate", err, "not between 0 and 1")
	_, err = stats.Tango(singles(t, 1), singles(t, 1), 0.95)
	fails(t, "one cluster", err, "too few")
	_, err = stats.Tango(singles(t, 1), must(stats.New([]stats.Row{{Case: "z"}}))(t), 0.95)
	fails(t, "no common case", err, "no case is in both")
}

// TestUnpairedRates compares with table II of Newcombe, "Interval estimation for the difference
// between independent proportions: comparison of eleven methods", Statistics in Medicine 17, 1998,
// method 10.
func TestUnpairedRates(t *testing.T) {
	for _, c := range []struct {
		a, m, b, n int
		want       stats.Interval
	}{
		{56, 70, 48, 80, stats.Interval{Low: 0.0524, High: 0.3339}},
		{9, 10, 3, 10, stats.Interval{Low: 0.1705, High: 0.8090}},
		{10, 10, 0, 20, stats.Interval{Low: 0.6791, High: 1}},
		{5, 56, 0, 29, stats.Interval{Low: -0.0381, High: 0.1926}},
	} {
		near(t, "interval", must(stats.UnpairedRates(c.b, c.n, c.a, c.m, 0.95))(t), c.want, 5e-5)
	}
	_, err := stats.UnpairedRates(3, 2, 0, 0, 0.95)
	fails(t, "successes", err, "3 successes in 2 trials")
	_, err = stats.UnpairedRates(1, 2, 1, 2, 0)
	fails(t, "level", err, "interval of level 0")
}
