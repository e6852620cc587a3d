package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptape/looptape/evals/stats"
)

// population draws cases whose rates have a beta distribution.
type population struct {
	rate, icc, difference float64
	trials                int
}

// beforeAfter draws the rates of a case.
func (p population) beforeAfter(rng *rand.Rand) (x, y float64) {
	switch {
	case p.icc == 0 || p.rate == 0 || p.rate == 1:
		x = p.rate
	case p.icc == 1:
		x = flip(rng, p.rate)
	default:
		k := 1/p.icc - 1
		x = distuv.Beta{Alpha: p.rate * k, Beta: (1 - p.rate) * k, Src: rng}.Rand()
	}
	if p.difference > 0 {
		return x, 1 - (1-x)*(1-p.difference/(1-p.rate))
	}
	return x, x * (1 + p.difference/p.rate)
}

// samples draws the runs of both samples.
func (p population) samples(t *testing.T, rng *rand.Rand, cases int) (base, other *stats.Sample) {
	t.Helper()
	var rows [2][]stats.Row
	for i := range cases {
		x, y := p.beforeAfter(rng)
		for j := range p.trials {
			for k, rate := range []float64{x, y} {
				rows[k] = append(rows[k], stats.Row{Case: fmt.Sprint(i), Epoch: j, Value: flip(rng, rate)})
			}
		}
	}
	return must(stats.New(rows[0]))(t), must(stats.New(rows[1]))(t)
}

// power draws samples of this number of cases, and returns how often [stats.Sample.SignFlip] finds the difference.
func (p population) power(t *testing.T, rng *rand.Rand, cases, plans int) float64 {
	t.Helper()
	found := 0.0
	values := make([]float64, cases)
	for range plans {
		sum := 0.0
		for i := range values {
			x, y := p.beforeAfter(rng)
			values[i] = 0
			for range p.trials {
				values[i] += flip(rng, y) - flip(rng, x)
			}
			sum += values[i]
		}
		if sum*p.difference > 0 && must(singles(t, values...).SignFlip(stats.Resampling{Resamples: 999}))(t).P < 0.05 {
			found++
		}
	}
	return found / float64(plans)
}

// TestPairedCasesFind plans with samples before and after a change, or without a change: the required number of cases
// finds the difference with the planned power at least.
func TestPairedCasesFind(t *testing.T) {
	const plans = 250
	least := 0.8 - 3*math.Sqrt(0.8*0.2/plans)
	for i, p := range []population{
		{0.05, 0, 0.05, 2}, {0.05, 0.3, 0.05, 4}, {0.05, 1, -0.03, 50}, {0.5, 0, 0.2, 2}, {0.5, 0.3, -0.1, 4}, {0.5, 1, -0.2, 2},
		{0.5, 0, -0.05, 50}, {0.95, 0, -0.1, 4}, {0.95, 0.3, -0.03, 50}, {0.95, 1, -0.05, 4}, {0.5, 0.3, -0.03, 4},
	} {
		changed := i%2 == 0
		t.Run(fmt.Sprint(p, changed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			data := p
			if !changed {
				data.difference = 0
			}
			base, other := data.samples(t, rng, 2000)
			n := must(stats.Test{}.PairedCases(base, other, p.difference))(t)
			if power := p.power(t, rng, n, plans); power < least {
				t.Errorf("%d cases have the power %.3f, want %.3f at least", n, power, least)
			}
		})
	}
}

// TestPairedNormal checks that the power of the normal distribution, from which the number of more than 400 differences
// other than 0 is computed, is off by 0.02 at most.
func TestPairedNormal(t *testing.T) {
	const plans = 400
	for i, p := range []population{{0.5, 0, -0.05, 2}, {0.5, 0.3, -0.03, 4}, {0.95, 0.3, -0.003, 50}, {0.9, 0.5, -0.015, 4}} {
		n := must(stats.Test{}.PlannedCases(p.rate, p.icc, p.difference, p.trials))(t)
		power := p.power(t, rand.New(rand.NewPCG(uint64(i), 2)), n, plans)
		if n < 700 || math.Abs(power-0.8) > 0.02+3*math.Sqrt(0.8*0.2/plans) {
			t.Errorf("%+v: %d cases have the power %.3f, want about 0.8", p, n, power)
		}
	}
}
