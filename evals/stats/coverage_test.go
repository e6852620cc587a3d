package stats_test

import (
	"flag"
	"fmt"
	"math"
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

// hardSetting is a kind of comparison: cases with runs whose rates are of a beta distribution, and a
// change of the rate.
type hardSetting struct {
	cases     int
	least     int // runs of a case
	most      int
	rate, icc float64
	drop      float64 // of the mean, in proportion to the rate of each case
}

func hardSettings() []hardSetting {
	return []hardSetting{
		{10, 1, 1, 0.5, 0, 0}, {20, 1, 1, 0.05, 0, 0}, {20, 1, 1, 0.95, 0, 0.05}, {50, 1, 1, 0.01, 0, 0}, {50, 1, 1, 0.99, 0, 0.01},
		{100, 1, 1, 0.02, 0, 0}, {200, 1, 1, 0.98, 0, 0.02}, {200, 1, 1, 0.5, 0, 0.1}, {20, 1, 1, 0.95, 1, 0.05}, {50, 1, 1, 0.95, 1, 0.05},
		{100, 1, 1, 0.95, 1, 0.02}, {200, 1, 1, 0.7, 1, 0.02}, {10, 4, 4, 0.5, 0, 0}, {10, 4, 4, 0.5, 1, 0}, {10, 4, 4, 0.9, 0.5, 0.1},
		{20, 4, 4, 0.95, 0, 0.05}, {20, 4, 4, 0.95, 0.5, 0.05}, {20, 4, 4, 0.05, 0.5, 0}, {50, 4, 4, 0.98, 0.5, 0.02}, {50, 8, 8, 0.7, 0.3, 0.05},
		{100, 4, 4, 0.95, 0.9, 0.02}, {20, 1, 8, 0.9, 0, 0.1}, {20, 1, 8, 0.9, 0.5, 0.1}, {50, 1, 8, 0.95, 0.5, 0.05}, {10, 1, 8, 0.5, 0.5, 0},
	}
}

// draw draws the runs of the base and of the other sample.
func (h hardSetting) draw(t tb, rng *rand.Rand) (base, other *stats.Sample) {
	t.Helper()
	var rows [2][]stats.Row
	for i := range h.cases {
		rate := h.rate
		switch {
		case h.icc == 1:
			rate = flip(rng, h.rate)
		case h.icc > 0:
			k := 1/h.icc - 1
			rate = distuv.Beta{Alpha: h.rate * k, Beta: (1 - h.rate) * k, Src: rng}.Rand()
		}
		runs := h.least + i%(h.most-h.least+1)
		for epoch := range runs {
			for set, p := range []float64{rate, rate * (1 - h.drop/h.rate)} {
				rows[set] = append(rows[set], stats.Row{Case: fmt.Sprint(i), Epoch: epoch, Value: flip(rng, p)})
			}
		}
	}
	return must(stats.New(rows[0]))(t), must(stats.New(rows[1]))(t)
}

// TestHardSettings measures, for few cases and for rates near 0 and 1, how many of the intervals that
// the tables show contain the truth, and how many tests find a change without one. It logs the table of
// docs/statistics.md.
func TestHardSettings(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	n := *simulations / 10
	for _, h := range hardSettings() {
		var mean, difference, within, compared float64
		same := h
		same.drop = 0
		for range n {
			base, other := h.draw(t, rng)
			if i := must(base.ClusterWilson(0.95))(t); i.Low <= h.rate && h.rate <= i.High {
				mean++
			}
			if i := must(stats.Tango(base, other, 0.95))(t); i.Low <= -h.drop+1e-12 && -h.drop <= i.High+1e-12 {
				difference++
			}
			base, other = same.draw(t, rng)
			if must(stats.Within(base, other, stats.Resampling{}))(t).Lower < 0.05 {
				within++
			}
			if twoSided(t, base, other, h.most == 1) < 0.05 {
				compared++
			}
		}
		share := func(x float64) float64 { return x / float64(n) }
		runs := fmt.Sprint(h.least)
		if h.most > h.least {
			runs += fmt.Sprintf(" to %d", h.most)
		}
		t.Logf("| %d | %s | %v | %v | %v | %.3f | %.3f | %.3f | %.3f |", h.cases, runs, h.rate, h.icc, h.drop, share(mean), share(difference), share(within), share(compared))
		// A hundred samples have a standard error of 0.03.
		if share(mean) < 0.85 || share(difference) < 0.85 {
			t.Errorf("%+v: %.3f and %.3f of the intervals contain the truth", h, share(mean), share(difference))
		}
		if slack := 3 * math.Sqrt(0.05*0.95/float64(n)); share(within) > 0.05+slack || share(compared) > 0.06+slack {
			t.Errorf("%+v: %.3f and %.3f of the tests find a change", h, share(within), share(compared))
		}
	}
}

// twoSided returns the probability that eval compare shows.
func twoSided(t tb, base, other *stats.Sample, single bool) float64 {
	t.Helper()
	d := must(stats.Pair(base, other))(t).Difference
	if !single {
		return must(d.SignFlip(stats.Resampling{Resamples: 999}))(t).P
	}
	lost, won := 0, 0
	for _, r := range d.Rows() {
		switch r.Value {
		case 1:
			won++
		case -1:
			lost++
		}
	}
	_, midP, err := stats.McNemar(lost, won)
	if err != nil {
		t.Fatal(err)
	}
	return midP
}
