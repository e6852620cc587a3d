package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptape/looptape/evals/stats"
)

// TestPlanFindsDifference draws the planned number of pairs: McNemar's mid-p test finds the difference
// with the planned power, and not with much more.
func TestPlanFindsDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, p := range []stats.PairedRates{{OnlyBase: 0.1, OnlyOther: 0.2}, {OnlyBase: 0.05, OnlyOther: 0}, {OnlyBase: 0.02, OnlyOther: 0.3}, {OnlyBase: 0.3, OnlyOther: 0.25}} {
		n := must(p.CasesNeeded(stats.Test{}))(t)
		found := 0
		const plans = 4000
		for range plans {
			changed := distuv.Binomial{N: float64(n), P: p.OnlyBase + p.OnlyOther, Src: rng}.Rand()
			lost := int(changed)
			if p.OnlyOther > 0 && changed > 0 {
				lost = int(distuv.Binomial{N: changed, P: p.OnlyBase / (p.OnlyBase + p.OnlyOther), Src: rng}.Rand())
			}
			won := int(changed) - lost
			_, midP, err := stats.McNemar(lost, won)
			if err != nil {
				t.Fatal(err)
			}
			if midP < 0.05 && (lost > won) == (p.OnlyBase > p.OnlyOther) {
				found++
			}
		}
		if power := float64(found) / plans; power < 0.78 || power > 0.86 {
			t.Errorf("%+v: %d cases have the power %.3f", p, n, power)
		}
	}
}

// TestPlanExact compares with the sum over all outcomes of a few cases.
func TestPlanExact(t *testing.T) {
	p, n := stats.PairedRates{OnlyBase: 0.1, OnlyOther: 0.6}, 12
	choose := func(n, k int) float64 { return math.Exp(logChoose(n, k)) }
	power := 0.0
	for lost := range n + 1 {
		for won := range n + 1 - lost {
			_, midP, err := stats.McNemar(lost, won)
			if err != nil {
				t.Fatal(err)
			}
			if midP < 0.05 && won > lost {
				power += choose(n, lost) * choose(n-lost, won) * math.Pow(0.1, float64(lost)) * math.Pow(0.6, float64(won)) * math.Pow(0.3, float64(n-lost-won))
			}
		}
	}
	// The cases are enough for a power just below, and not for one just above.
	if got := must(p.CasesNeeded(stats.Test{Power: power - 1e-6}))(t); got > n {
		t.Errorf("a power of %.4f needs %d cases, want %d at most", power, got, n)
	}
	if got := must(p.CasesNeeded(stats.Test{Power: power + 1e-6}))(t); got <= n {
		t.Errorf("a power above %.4f needs %d cases, want more than %d", power, got, n)
	}
}

// TestPlanMany compares the normal distribution, which more than 3,000 changed cases have, with the exact
// one of a few less.
func TestPlanMany(t *testing.T) {
	for _, power := range []float64{0.5, 0.8, 0.95} {
		var needed []int
		for _, d := range []float64{0.02, 0.0195, 0.019, 0.0185} {
			needed = append(needed, int(float64(must(stats.Changing(0.3, d).CasesNeeded(stats.Test{Power: power}))(t))*d*d*1000))
		}
		// In units of the square of the difference, the numbers are equal for small differences.
		for _, n := range needed[1:] {
			near(t, "cases", float64(n), float64(needed[0]), 0.01)
		}
	}
}

// TestPlanDetectable checks that what cases find is what they are needed for, and no impossible value.
func TestPlanDetectable(t *testing.T) {
	d, ok, err := stats.Changing(0.3, 0.1).Detectable(200, stats.Test{})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if n := must(stats.Changing(0.3, d*1.001).CasesNeeded(stats.Test{}))(t); n > 220 || n < 190 {
		t.Errorf("a difference of %v needs %d cases, want about 200", d, n)
	}
	if d, ok, err := stats.Changing(0.3, 0.1).Detectable(4, stats.Test{}); ok || err != nil {
		t.Errorf("four cases: got %v, %v, want none", d, err)
	}
	if d, ok, err := stats.Changing(0.3, 0.1).Detectable(5, stats.Test{}); !ok || d > 1 || err != nil {
		t.Errorf("five cases: got %v, %v, %v", d, ok, err)
	}
}

// TestPlanAllChange plans for cases that all change: the number for the worse is binomial.
func TestPlanAllChange(t *testing.T) {
	n := must(stats.Changing(1, 0.3).CasesNeeded(stats.Test{Alpha: 0.01}))(t)
	d, ok, err := stats.Changing(1, 0).Detectable(20, stats.Test{})
	if err != nil || n != 130 || !ok {
		t.Errorf("got %d cases, %v, %v; want 130 and a difference", n, ok, err)
	}
	near(t, "difference that 20 cases find", d, 0.5974409975458173, 1e-12)
}

// TestPlannedRates draws cases with rates of a beta distribution.
func TestPlannedRates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ rate, icc, difference float64 }{{0.8, 0.5, -0.1}, {0.3, 0.2, 0.2}, {0.9, 0.7, -0.9}} {
		k := 1/c.icc - 1
		rates := distuv.Beta{Alpha: c.rate * k, Beta: (1 - c.rate) * k, Src: rng}
		var lost, won, sum, square float64
		const cases, trials = 100_000, 3
		for range cases {
			x := rates.Rand()
			y := x * (1 + c.difference/c.rate)
			if c.difference > 0 {
				y = 1 - (1-x)*(1-c.difference/(1-c.rate))
			}
			lost += x * (1 - y)
			won += y * (1 - x)
			d := 0.0
			for range trials {
				d += (flip(rng, y) - flip(rng, x)) / trials
			}
			sum += d
			square += d * d
		}
		p := must(stats.PlannedRates(c.rate, c.icc, c.difference))(t)
		near(t, "shares", []float64{p.OnlyBase, p.OnlyOther}, []float64{lost / cases, won / cases}, 0.01)
		near(t, "variance", must(stats.PlannedVariance(c.rate, c.icc, c.difference, trials))(t), square/cases-sum/cases*sum/cases, 0.03)
	}
	// Without a correlation all cases have the same rate; with a full one, cases only get worse.
	p := must(stats.PlannedRates(0.5, 0, -0.25))(t)
	near(t, "no correlation", p, stats.PairedRates{OnlyBase: 0.375, OnlyOther: 0.125}, 1e-12)
	p = must(stats.PlannedRates(0.5, 1, -0.25))(t)
	near(t, "full correlation", p, stats.PairedRates{OnlyBase: 0.25}, 1e-12)
}

// TestPlannedCasesFind draws cases with rates of a beta distribution: the permutation test of the planned number
// of them finds the difference with the planned power, and one that needs few cases is found at all.
func TestPlannedCasesFind(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, p := range []population{
		{0.9, 0.5, -0.5, 4}, {0.8, 0.5, -0.4, 4}, {0.8, 0.5, -0.3, 8}, {0.5, 0.5, 0.3, 2}, {0.95, 0.2, -0.2, 8},
		{1, 0, -0.05, 4}, {1, 1, -0.2, 2}, {0, 0.5, 0.02, 50},
	} {
		n := must(stats.Test{}.PlannedCases(p.rate, p.icc, p.difference, p.trials))(t)
		if power := p.power(t, rng, n, 500); power < 0.76 || power > 0.88 {
			t.Errorf("%+v: %d cases have the power %.3f", p, n, power)
		}
	}
}

// TestPlannedCases checks that no plan has fewer cases than a significant result needs, that the numbers of many
// cases are close to those of the t test, and the ends of what can be planned.
func TestPlannedCases(t *testing.T) {
	plan := func(rate, icc, difference float64, trials int, test stats.Test) int {
		return must(test.PlannedCases(rate, icc, difference, trials))(t)
	}
	for _, icc := range []float64{0, 0.5, 1} {
		if n := plan(0.99, icc, -0.99, 4, stats.Test{}); n < 6 || n > 7 {
			t.Errorf("icc %v: got %d cases, but P of 5 is 1/16 or more", icc, n)
		}
	}
	// 1−0.9 and 1−0.8 are less than 0.1 and 0.2.
	for _, rate := range []float64{0.1, 0.2} {
		rise, drop := must(stats.PlannedRates(1-rate, 0.2, rate))(t), must(stats.PlannedRates(rate, 0.2, -rate))(t)
		near(t, "shares of a rise to 1", []float64{rise.OnlyOther, rise.OnlyBase}, []float64{drop.OnlyBase, drop.OnlyOther}, 1e-12)
		if got, want := plan(1-rate, 0.2, rate, 4, stats.Test{}), plan(rate, 0.2, -rate, 4, stats.Test{}); got != want {
			t.Errorf("a rise of %v to 1 needs %d cases, want the %d of a drop to 0", rate, got, want)
		}
	}
	if n := plan(0.5, 0.5, -0.5, 100, stats.Test{Alpha: 0.01}); n < 8 || n > 11 {
		t.Errorf("got %d cases at the level 0.01, but P of 7 is 1/64 or more", n)
	}
	for _, c := range []struct {
		rate, icc, difference float64
		trials                int
	}{{0.8, 0.5, -0.1, 4}, {0.5, 0, 0.1, 3}, {0.5, 0.5, 0.01, 2}} {
		many := must(stats.CasesNeeded(c.difference, must(stats.PlannedVariance(c.rate, c.icc, c.difference, c.trials))(t), stats.Test{}))(t)
		near(t, "many cases", float64(plan(c.rate, c.icc, c.difference, c.trials, stats.Test{})), float64(many), 0.15)
	}
	for want, c := range map[string]struct {
		rate   float64
		trials int
		test   stats.Test
	}{
		"want 2 or more":     {0.5, 1, stats.Test{}},
		"0 trials":           {0.5, 0, stats.Test{}},
		"rate 2":             {2, 2, stats.Test{}},
		"test of level":      {0.5, 2, stats.Test{Alpha: 2}},
		"more than 1000000:": {0.5, 2, stats.Test{}},
	} {
		difference := 0.1
		if want == "more than 1000000:" {
			want, difference = "more than 1000000", 1e-5
		}
		_, err := c.test.PlannedCases(c.rate, 0.5, difference, c.trials)
		fails(t, want, err, want)
	}
}

func TestPlanRefuses(t *testing.T) {
	for want, c := range map[string][3]float64{
		"rate -0.1: want 0 to 1":                   {-0.1, 0.5, 0.2},
		"rate 1.1: want 0 to 1":                    {1.1, 0.5, -0.2},
		"would become -0.1: want a change from 0 ": {0, 0.5, -0.1},
		"would become 1.1: want a change from -1":  {1, 0.5, 0.1},
		"icc 2:":                          {0.5, 2, 0.1},
		"a change of 0 of the rate 0.5":   {0.5, 0.5, 0},
		"a change of 0.3 of the rate 0.8": {0.8, 0.5, 0.3},
		"a change of -0.9":                {0.8, 0.5, -0.9},
	} {
		_, err := stats.PlannedRates(c[0], c[1], c[2])
		fails(t, fmt.Sprint(c), err, want)
		_, err = stats.PlannedVariance(c[0], c[1], c[2], 1)
		fails(t, fmt.Sprint(c), err, want)
	}
	_, err := stats.PlannedVariance(0.5, 0.5, 0.1, 0)
	fails(t, "trials", err, "0 trials")
	_, err = stats.PairedRates{OnlyBase: 0.1, OnlyOther: 0.1}.CasesNeeded(stats.Test{})
	fails(t, "no difference", err, "want different shares")
	_, err = stats.PairedRates{OnlyBase: 0.9, OnlyOther: 0.2}.CasesNeeded(stats.Test{})
	fails(t, "more than all", err, "together at most 1")
	_, err = stats.PairedRates{OnlyBase: 0.1, OnlyOther: 0.2}.CasesNeeded(stats.Test{Power: 0.01})
	fails(t, "power", err, "the power above the level")
	_, err = stats.PairedRates{OnlyBase: 0.3, OnlyOther: 0.3001}.CasesNeeded(stats.Test{})
	fails(t, "too small", err, "more than 1000000")
	_, _, err = stats.PairedRates{OnlyBase: 0.1, OnlyOther: 0.2}.Detectable(0, stats.Test{})
	fails(t, "no case", err, "from 1 to 1000000")
}
