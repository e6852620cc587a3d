package stats_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptape/looptape/evals/stats"
)

var simulations = flag.Int("simulations", 1000, "how many samples TestCoverage draws for each interval")

// TestCoverage draws samples with a known true value: a 95 % interval must contain it
// in 93 to 97 of 100.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		name     string
		draw     func(tb, *rand.Rand) *stats.Sample
		truth    float64
		interval func(tb, *stats.Sample) stats.Interval
	}{
		{"naive t", independent, 2, naiveT},
		{"Wilson", flips, 0.4, func(t tb, s *stats.Sample) stats.Interval { return must(s.Wilson(0.95))(t) }},
		{"clustered t", correlated, 0.4, clusterT},
		{"clustered t of families", families, 0.5, clusterT},
		{"clustered Wilson", correlated, 0.4, func(t tb, s *stats.Sample) stats.Interval { return must(s.ClusterWilson(0.95))(t) }},
		{"clustered bootstrap", correlated, 0.4, bootstrap},
		{"paired t", paired, 0.05, naiveT},
		{"t of pass^2", bothPass, 0.24, naiveT},
		{"bootstrap of pass^2", bothPass, 0.24, bootstrap},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 1))
			held := 0
			for range *simulations {
				if i := c.interval(t, c.draw(t, rng)); i.Low <= c.truth && c.truth <= i.High {
					held++
				}
			}
			rate := float64(held) / float64(*simulations)
			if rate < 0.93 || rate > 0.97 {
				t.Errorf("%d of %d intervals hold the truth", held, *simulations)
			}
			t.Logf("%.4f of %d intervals hold the truth", rate, *simulations)
		})
	}
}

func naiveT(t tb, s *stats.Sample) stats.Interval { return must(must(s.Naive())(t).T(0.95))(t) }

func clusterT(t tb, s *stats.Sample) stats.Interval { return must(must(s.Cluster())(t).T(0.95))(t) }

func bootstrap(t tb, s *stats.Sample) stats.Interval {
	return must(s.Bootstrap(0.95, stats.Resampling{Resamples: 399, Seed: 1}))(t)
}

// independent draws 12 values around 2.
func independent(t tb, rng *rand.Rand) *stats.Sample {
	values := make([]float64, 12)
	for i := range values {
		values[i] = 2 + rng.NormFloat64()
	}
	return singles(t, values...)
}

// flips draws 100 successes or failures of rate .4.
func flips(t tb, rng *rand.Rand) *stats.Sample {
	values := make([]float64, 100)
	for i := range values {
		values[i] = flip(rng, 0.4)
	}
	return singles(t, values...)
}

func flip(rng *rand.Rand, rate float64) float64 {
	if rng.Float64() < rate {
		return 1
	}
	return 0
}

// correlated draws 60 cases of 4 runs. Each case has a rate of its own, .4 on average, of
// the distribution Beta(.8, 1.2), whose squares are .24 on average.
func correlated(t tb, rng *rand.Rand) *stats.Sample {
	rates := distuv.Beta{Alpha: 0.8, Beta: 1.2, Src: rng}
	cases := make([][]float64, 60)
	for i := range cases {
		rate := rates.Rand()
		for range 4 {
			cases[i] = append(cases[i], flip(rng, rate))
		}
	}
	return sample(t, cases...)
}

func bothPass(t tb, rng *rand.Rand) *stats.Sample { return must(correlated(t, rng).PassHatK(2))(t) }

// families draws 50 clusters of 1 to 5 cases with as much in common as not.
func families(t tb, rng *rand.Rand) *stats.Sample {
	var rows []stats.Row
	for family := range 50 {
		common := rng.NormFloat64()
		for member := range 1 + rng.IntN(5) {
			rows = append(rows, stats.Row{
				Case: fmt.Sprint(family, "/", member), Cluster: fmt.Sprint(family), Value: 0.5 + common + rng.NormFloat64(),
			})
		}
	}
	return must(stats.New(rows))(t)
}

// paired draws differences of .05 between 30 cases that differ much more.
func paired(t tb, rng *rand.Rand) *stats.Sample {
	base, other := make([]float64, 30), make([]float64, 30)
	for i := range base {
		common := 10 * rng.NormFloat64()
		base[i], other[i] = common+rng.NormFloat64(), common+rng.NormFloat64()+0.05
	}
	return must(stats.Pair(singles(t, base...), singles(t, other...)))(t).Difference
}
