package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
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

// TestKappaConstant checks that a rater who gives one answer has the kappa 0 without an error, which rounding would
// make 1e-8.
func TestKappaConstant(t *testing.T) {
	for a := 1; a < 60; a++ {
		for b := 1; b < 60; b++ {
			kappa, ci, err := stats.Kappa([][]int{{a, b}, {0, 0}}, 0.95)
			if err != nil || math.Abs(kappa) > 1e-15 || ci.High-ci.Low > 1e-14 {
				t.Fatalf("%d and %d: got %v, %v, %v, want 0", a, b, kappa, ci, err)
			}
		}
	}
}

// TestKappaCoverage draws two raters with a known kappa: a rater copies the other with probability .6.
func TestKappaCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for _, n := range []int{30, 100} {
		kappaCoverage(t, rng, n)
	}
}

func kappaCoverage(t *testing.T, rng *rand.Rand, n int) {
	const all = 4000
	held := 0
	for range all {
		counts := [][]int{{0, 0}, {0, 0}}
		for range n {
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
	if rate := float64(held) / all; rate < 0.92 || rate > 0.97 {
		t.Errorf("%d items: %.4f of the intervals hold the truth, want .92 to .97", n, rate)
	}
}

// TestCorrectedRateCoverage draws grades with a known rate, sensitivity and specificity, and labels of some of
// the items: the first ones, or the same number for each grade.
func TestCorrectedRateCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for _, c := range []struct {
		rate, se, sp float64
		n, labels    int
		byGrade      bool
		cluster      int // items of a cluster, which share their label and their grade
	}{
		{0.5, 0.9, 0.9, 200, 50, false, 1},
		{0.8, 0.95, 0.8, 100, 40, false, 1},
		{0.9, 0.9, 0.7, 300, 30, true, 1},
		{0.2, 0.8, 0.95, 500, 100, true, 1},
		{0.95, 0.99, 0.9, 1000, 100, true, 1},
		{0.05, 0.9, 0.99, 1000, 200, false, 1}, // .979 of 4,000
		{0.5, 0.6, 0.6, 50, 50, false, 1},
		{0.6, 0.9, 0.8, 300, 150, false, 3},
	} {
		const all = 1000
		held, undefined, width := 0, 0, 0.0
		for range all {
			items := make([]stats.GradedItem, c.n)
			left := map[bool]int{true: c.labels / 2, false: c.labels / 2}
			for i := range items {
				it := &items[i]
				it.Weight = 1
				if i%c.cluster > 0 {
					*it = items[i-1]
				} else {
					it.Label = rng.Float64() < c.rate
					it.Positive = it.Label == (rng.Float64() < map[bool]float64{true: c.se, false: c.sp}[it.Label])
					if c.cluster > 1 {
						it.Cluster = strconv.Itoa(i)
					}
				}
				it.Labeled = i < c.labels
				if c.byGrade {
					it.Labeled = left[it.Positive] > 0
					left[it.Positive]--
				}
			}
			_, ci, err := stats.CorrectedRate(items, 0.95)
			if err != nil {
				undefined++
				continue
			}
			width += ci.High - ci.Low
			if ci.Low <= c.rate && c.rate <= ci.High {
				held++
			}
		}
		rate := float64(held) / float64(all-undefined)
		t.Logf("%+v: %.4f, width %.3f, %d undefined", c, rate, width/all, undefined)
		if rate < 0.92 || rate > 0.99 {
			t.Errorf("%+v: %.4f of the intervals hold the truth, want .92 to .99", c, rate)
		}
	}
}

// TestCorrectedRateByHand compares with computations by hand.
func TestCorrectedRateByHand(t *testing.T) {
	item := func(n int, positive, labeled, label bool) []stats.GradedItem {
		return slices.Repeat([]stats.GradedItem{{Weight: 2, Positive: positive, Labeled: labeled, Label: label}}, n)
	}
	items := slices.Concat(
		item(40, true, false, false), item(18, true, true, true), item(2, true, true, false),
		item(20, false, false, false), item(4, false, true, true), item(16, false, true, false),
	)
	rate, ci, err := stats.CorrectedRate(items, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "rate", []float64{rate}, []float64{0.6*0.9 + 0.4*0.2}, 1e-12)
	// Wilson's intervals: 60 of 100 is .502003 to .690599, 18 of 20 .698966 to .972135, 4 of 20 .080657 to .416017.
	low := 0.62 - math.Sqrt(math.Pow(0.7*(0.6-0.502003), 2)+math.Pow(0.6*(0.9-0.698966), 2)+math.Pow(0.4*(0.2-0.080657), 2))
	high := 0.62 + math.Sqrt(math.Pow(0.7*(0.690599-0.6), 2)+math.Pow(0.6*(0.972135-0.9), 2)+math.Pow(0.4*(0.416017-0.2), 2))
	near(t, "interval", []float64{ci.Low, ci.High}, []float64{low, high}, 1e-5)

	for i := range items { // each item three times, as a cluster: the same result as once
		items[i].Cluster = strconv.Itoa(i)
	}
	_, again, err := stats.CorrectedRate(slices.Concat(items, items, items), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "interval of clusters", []float64{again.Low, again.High}, []float64{ci.Low, ci.High}, 1e-2)

	if _, _, err := stats.CorrectedRate(item(5, true, true, true), 0.95); err != nil {
		t.Errorf("only positive grades: %v", err)
	}
	for name, items := range map[string][]stats.GradedItem{
		"no item": nil, "no label": item(3, true, false, false), "no label of a grade": slices.Concat(item(3, true, true, true), item(1, false, false, false)),
	} {
		if _, _, err := stats.CorrectedRate(items, 0.95); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if _, _, err := stats.Kappa([][]int{{5, 0}, {0, 0}}, 0.95); err == nil {
		t.Error("kappa of one category: got no error")
	}
}
