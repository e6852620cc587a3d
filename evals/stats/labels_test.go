package stats_test

import (
	"math/rand/v2"
	"testing"

	"github.com/looptape/looptape/evals/stats"
)

// TestKappaByHand compares with a computation by hand: of 50 items the raters agree on 35, observed .7 and
// .5 by chance, so kappa is .4; the variance is .016128 by the formula of Fleiss, Cohen & Everitt.
func TestKappaByHand(t *testing.T) {
	kappa, ci, err := stats.Kappa([][]int{{20, 5}, {10, 15}}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	// (.4·(1−1.1·.6)² + .3·(1−.9·.6)² + .36·(.1·1.1² + .2·.9²) − (.4 − .5·.6)²) / (50·.25) = .016128
	near(t, "kappa", []float64{kappa}, []float64{0.4}, 1e-12)
	near(t, "interval", []float64{ci.Low, ci.High}, []float64{0.15109229047666112, 0.6489077095233389}, 1e-9)
}

// TestKappaCoverage draws two raters with a known kappa: a rater copies the other with probability .6.
func TestKappaCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	const all = 4000
	held := 0
	for range all {
		counts := [][]int{{0, 0}, {0, 0}}
		for range 100 {
			a, b := rng.IntN(2), rng.IntN(2)
			if rng.Float64() < 0.6 {
				b = a
			}
			counts[a][b]++
		}
		_, ci, err := stats.Kappa(counts, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if ci.Low <= 0.6 && 0.6 <= ci.High {
			held++
		}
	}
	if rate := float64(held) / all; rate < 0.93 || rate > 0.97 {
		t.Errorf("%.4f of the intervals hold the truth, want .93 to .97", rate)
	}
}

// TestCorrectedRateCoverage draws grades with a known rate, sensitivity and specificity.
func TestCorrectedRateCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	flips := func(n int, p float64) (b stats.Binary) {
		b.Trials = n
		for range n {
			if rng.Float64() < p {
				b.Successes++
			}
		}
		return b
	}
	for _, c := range []struct {
		rate, se, sp float64
		n, labels    int
	}{{0.5, 0.9, 0.9, 200, 50}, {0.8, 0.95, 0.8, 100, 40}, {0.9, 0.9, 0.7, 300, 30}, {0.2, 0.8, 0.95, 500, 100}} {
		const all = 4000
		held := 0
		for range all {
			positive := flips(c.n, c.rate*c.se+(1-c.rate)*(1-c.sp))
			_, ci, err := stats.CorrectedRate(positive, flips(c.labels, c.se), flips(c.labels, c.sp), 0.95)
			if err == nil && ci.Low <= c.rate && c.rate <= ci.High {
				held++
			}
		}
		rate := float64(held) / all
		t.Logf("%+v: %.4f", c, rate)
		if rate < 0.93 || rate > 0.98 {
			t.Errorf("%+v: %.4f of the intervals hold the truth, want .93 to .98", c, rate)
		}
	}
}

// TestCorrectedRateByHand compares with computations by hand.
func TestCorrectedRateByHand(t *testing.T) {
	rate, _, err := stats.CorrectedRate(stats.Binary{Successes: 60, Trials: 100}, stats.Binary{Successes: 45, Trials: 50}, stats.Binary{Successes: 40, Trials: 50}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "rate", []float64{rate}, []float64{(0.6 + 0.8 - 1) / (0.9 + 0.8 - 1)}, 1e-12)
	if _, _, err := stats.CorrectedRate(stats.Binary{Successes: 1, Trials: 2}, stats.Binary{Successes: 1, Trials: 2}, stats.Binary{Successes: 1, Trials: 2}, 0.95); err == nil {
		t.Error("a grader like chance: got no error")
	}
	if _, _, err := stats.Kappa([][]int{{5, 0}, {0, 0}}, 0.95); err == nil {
		t.Error("kappa of one category: got no error")
	}
}
