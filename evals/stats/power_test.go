package stats_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// TestCasesNeededPublished compares with tables that others computed: for a paired t
// test at .05 two-sided, R's package pwr gives n = 198.15, 33.37 and 14.30 at power .8
// for the effects .2, .5 and .8 that Cohen (1988) calls small, medium and large, and
// 44 for .5 at power .9.
func TestCasesNeededPublished(t *testing.T) {
	for _, c := range []struct {
		effect float64
		test   stats.Test
		want   int
	}{
		{0.2, stats.Test{}, 199},
		{0.5, stats.Test{Alpha: 0.05, Power: 0.8}, 34},
		{0.8, stats.Test{}, 15},
		{0.5, stats.Test{Power: 0.9}, 44},
		{20, stats.Test{}, 2},
		{1e300, stats.Test{}, 2},
	} {
		// The effect is the difference in standard deviations.
		for _, sd := range []float64{1, 0.4} {
			if got := must(stats.CasesNeeded(-c.effect*sd, sd*sd, c.test))(t); got != c.want {
				t.Errorf("effect %v, %+v: got %d cases, want %d", c.effect, c.test, got, c.want)
			}
		}
	}
}

// TestCasesNeededMany compares with the normal distribution, which many cases are close
// to, (z₁+z₂)²·v/d² + z₁²/2 (Guenther, "Sample size formulas for normal theory t
// tests", The American Statistician 35, 1981): two points at a variance of .1 are
// 7.848880·250 + 1.92 = 1964.1. At level .01 half a standard deviation is
// 11.67894·4 + 3.32 = 50.03.
func TestCasesNeededMany(t *testing.T) {
	if got := must(stats.CasesNeeded(0.02, 0.1, stats.Test{}))(t); got != 1965 {
		t.Errorf("two points: got %d cases, want 1965", got)
	}
	if got := must(stats.CasesNeeded(0.5, 1, stats.Test{Alpha: 0.01}))(t); got != 51 {
		t.Errorf("half a standard deviation: got %d cases, want 51", got)
	}
	near(t, "a tenth of a point", float64(must(stats.CasesNeeded(0.001, 0.1, stats.Test{}))(t)), 784890.0, 1e-5)
}

// TestPowerIsFound tests drawn samples with a planned difference: the planned share finds it.
func TestPowerIsFound(t *testing.T) {
	const cases = 8
	plan := stats.Test{Alpha: 0.1, Power: 0.7}
	difference := must(stats.DetectableDifference(cases, 4, plan))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	const tries = 5_000
	found := 0
	for range tries {
		values := make([]float64, cases)
		for i := range values {
			values[i] = difference + 2*rng.NormFloat64()
		}
		interval := must(must(singles(t, values...).Naive())(t).T(1 - plan.Alpha))(t)
		if interval.Low > 0 {
			found++
		}
	}
	near(t, "power", float64(found)/tries, plan.Power, 0.02) // three standard errors
}

// TestPowerInverse checks that the difference that n cases detect needs n cases, and that
// a larger one needs no more.
func TestPowerInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5_000).Draw(t, "cases")
		variance := rapid.Float64Range(0.001, 100).Draw(t, "variance")
		plan := stats.Test{Alpha: rapid.SampledFrom([]float64{0, 0.01, 0.2}).Draw(t, "alpha"), Power: rapid.SampledFrom([]float64{0, 0.5, 0.9}).Draw(t, "power")}
		d, err := stats.DetectableDifference(n, variance, plan)
		if errors.Is(err, stats.ErrTooFew) && n == 2 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := must(stats.CasesNeeded(d*(1+1e-7), variance, plan))(t); got != n {
			t.Errorf("%d cases find %v, which needs %d", n, d, got)
		}
		if got := must(stats.CasesNeeded(d*(1-1e-7), variance, plan))(t); got != n+1 {
			t.Errorf("%d cases find no less than %v, which needs %d", n, d, got)
		}
	})
}

func TestPowerRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, plan := range []stats.Test{{Alpha: -1}, {Alpha: 0.8}, {Power: 1}, {Power: 0.05}, {Alpha: nan}, {Power: nan}} {
		_, err := stats.CasesNeeded(1, 1, plan)
		fails(t, "test", err, "test of level", "the power above the level")
		_, err = stats.DetectableDifference(9, 1, plan)
		fails(t, "test", err, "test of level")
	}
	for _, variance := range []float64{0, -1, nan, inf} {
		_, err := stats.CasesNeeded(1, variance, stats.Test{})
		fails(t, "variance", err, "power at a variance of", "above 0")
	}
	for _, difference := range []float64{0, nan, inf, -inf} {
		_, err := stats.CasesNeeded(difference, 1, stats.Test{})
		fails(t, "difference", err, "a difference of", "not 0")
	}
	least := must(stats.DetectableDifference(stats.MaxCases, 1, stats.Test{}))(t)
	if got := must(stats.CasesNeeded(least*(1+1e-7), 1, stats.Test{}))(t); got != stats.MaxCases {
		t.Errorf("a difference for which %d cases are enough needs %d", stats.MaxCases, got)
	}
	_, err := stats.CasesNeeded(least*(1-1e-7), 1, stats.Test{})
	fails(t, "too many", err, "more than 1000000", "look for a larger one")
	for _, n := range []int{1, stats.MaxCases + 1} {
		_, err = stats.DetectableDifference(n, 1, stats.Test{})
		fails(t, "cases", err, "from 2 to 1000000")
	}
	_, err = stats.DetectableDifference(2, 1, stats.Test{Alpha: 0.001})
	fails(t, "two cases", err, "2 cases", "level 0.001", "power 0.8")
	if !errors.Is(err, stats.ErrTooFew) {
		t.Errorf("got %v, want ErrTooFew", err)
	}
}
