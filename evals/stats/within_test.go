package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/stats"
)

// repeat returns n times a value, then m times another.
func repeat(n int, a float64, m int, b float64) (list []float64) {
	for range n {
		list = append(list, a)
	}
	for range m {
		list = append(list, b)
	}
	return list
}

func within(t tb, base, other *stats.Sample) stats.WithinTest {
	t.Helper()
	return must(stats.Within(base, other, stats.Resampling{Seed: 1}))(t)
}

// TestWithin compares with numbers of assignments that are counted on paper.
func TestWithin(t *testing.T) {
	all := []float64{1, 1, 1, 1}
	for name, c := range map[string]struct {
		base, other *stats.Sample
		want        stats.WithinTest
	}{
		"one of 70 assignments":          {sample(t, all), sample(t, []float64{0, 0, 0, 0}), stats.WithinTest{Lower: 1. / 70, Higher: 1, Method: "exact"}},
		"of two cases":                   {sample(t, all, all), sample(t, repeat(4, 0, 0, 0), repeat(4, 0, 0, 0)), stats.WithinTest{Lower: 1. / 4900, Higher: 1, Method: "exact"}},
		"higher":                         {sample(t, []float64{0, 0}), sample(t, []float64{1, 1}), stats.WithinTest{Lower: 1, Higher: 1. / 6, Method: "exact"}},
		"nothing varies":                 {sample(t, all, []float64{0}), sample(t, []float64{1}, []float64{0, 0}), stats.WithinTest{Lower: 1, Higher: 1, Method: "exact"}},
		"one run: five pairs":            {singles(t, 1, 1, 1, 1, 1, 0), singles(t, 0, 0, 0, 0, 0, 0), stats.WithinTest{Lower: 1. / 32, Higher: 1, Method: "exact"}},
		"one run: three of four":         {singles(t, 1, 1, 1, 0), singles(t, 0, 0, 0, 1), stats.WithinTest{Lower: 5. / 16, Higher: 15. / 16, Method: "exact"}},
		"other numbers of runs":          {sample(t, []float64{1, 1}), sample(t, []float64{0}), stats.WithinTest{Lower: 1. / 3, Higher: 1, Method: "exact"}},
		"two values that are not 0 or 1": {singles(t, 0.4, 0.4, 0.4, 0.4, 0.4), singles(t, 0.3, 0.3, 0.3, 0.3, 0.3), stats.WithinTest{Lower: 1. / 32, Higher: 1, Method: "exact"}},
		"real values":                    {sample(t, []float64{3, 5}, []float64{1}), sample(t, []float64{1, 2}, []float64{0.5}), stats.WithinTest{Lower: 1. / 12, Higher: 1, Method: "exact"}},
		"fifty runs of three cases": {sample(t, repeat(50, 1, 0, 0), repeat(50, 1, 0, 0), repeat(50, 1, 0, 0)), sample(t, repeat(50, 0, 0, 0), repeat(50, 0, 0, 0), repeat(50, 0, 0, 0)),
			stats.WithinTest{Lower: math.Exp(-3 * logChoose(100, 50)), Higher: 1, Method: "exact"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := within(t, c.base, c.other)
			near(t, "test", got, c.want, 1e-12)
			if math.Abs(got.Lower/c.want.Lower-1) > 1e-9 {
				t.Errorf("got %v, want %v", got.Lower, c.want.Lower)
			}
		})
	}
	_, err := stats.Within(singles(t, 1), must(stats.New([]stats.Row{{Case: "z"}}))(t), stats.Resampling{})
	fails(t, "no common case", err, "no case is in both")
	_, err = stats.Within(singles(t, 1), singles(t, 1), stats.Resampling{Resamples: -1})
	fails(t, "resamples", err, "-1 resamples")
}

func logChoose(n, k int) float64 {
	c := 0.0
	for i := range k {
		c += math.Log(float64(n-i) / float64(i+1))
	}
	return c
}

// TestWithinIsMcNemar: with one run of each case, the test is McNemar's exact one.
func TestWithinIsMcNemar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lost, won, same := rapid.IntRange(0, 30).Draw(t, "lost"), rapid.IntRange(0, 30).Draw(t, "won"), rapid.IntRange(1, 3).Draw(t, "same")
		base := append(repeat(lost, 1, won, 0), repeat(same, 1, 0, 0)...)
		other := append(repeat(lost, 0, won, 1), repeat(same, 1, 0, 0)...)
		exact, _, err := stats.McNemar(lost, won)
		if err != nil {
			t.Fatal(err)
		}
		got := within(t, singles(t, base...), singles(t, other...))
		near(t, "two-sided", min(1, 2*min(got.Lower, got.Higher)), exact, 1e-9)
	})
}

// TestWithinDraws compares drawn probabilities with those of all 10,000 assignments.
func TestWithinDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var base, other [][]float64
		for i := range 4 {
			var v []float64
			for range 5 {
				v = append(v, float64(i+1)*flip(rng, 0.5)+float64(rng.IntN(3))) // many equal sums
			}
			base, other = append(base, v[:3]), append(other, v[3:])
		}
		b, o := sample(t, base...), sample(t, other...)
		exact := must(stats.Within(b, o, stats.Resampling{Resamples: 10_000}))(t)
		drawn := must(stats.Within(b, o, stats.Resampling{Resamples: 9_000}))(t)
		if exact.Method != "exact" || drawn.Method != "random" {
			t.Fatalf("got the methods %s and %s", exact.Method, drawn.Method)
		}
		near(t, "probabilities", []float64{drawn.Lower, drawn.Higher}, []float64{exact.Lower, exact.Higher}, 0.025)
	}
}

// TestWithinNormal compares with the exact probabilities, half of the observed one omitted.
func TestWithinNormal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var base, other, otherScale [][]float64
	for i := range 400 {
		v := repeat(5, 0, 0, 0)
		for j := range v {
			v[j] = flip(rng, 0.5)
		}
		base, other = append(base, v[:3]), append(other, v[3:])
		scaled := append([]float64{}, v...)
		for j := range v {
			scaled[j] *= 1 + 1e-8*float64(i%2)
		}
		otherScale = append(otherScale, scaled)
	}
	exact := within(t, sample(t, base...), sample(t, other...))
	for i, v := range otherScale {
		base[i], other[i] = v[:3], v[3:]
	}
	normal := must(stats.Within(sample(t, base...), sample(t, other...), stats.Resampling{Resamples: 200_000}))(t) // too many
	if exact.Method != "exact" || normal.Method != "normal" {
		t.Fatalf("got the methods %s and %s", exact.Method, normal.Method)
	}
	half := (exact.Lower + exact.Higher - 1) / 2
	near(t, "probabilities", []float64{normal.Lower, normal.Higher}, []float64{exact.Lower - half, exact.Higher - half}, 0.001)
}

// TestWithinHoldsItsLevel: if both samples are from one source, a probability of at most 5 % occurs
// in at most 5 % of all pairs, here with hard and easy cases and other numbers of runs.
func TestWithinHoldsItsLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rates := distuv.Beta{Alpha: 0.5, Beta: 0.5, Src: rng}
	const pairs = 2000
	low := 0
	for range pairs {
		var base, other [][]float64
		for i := range 8 {
			p := rates.Rand()
			var b, o []float64
			for range 1 + i%4 {
				b = append(b, flip(rng, p))
			}
			for range 1 + i%3 {
				o = append(o, flip(rng, p))
			}
			base, other = append(base, b), append(other, o)
		}
		if within(t, sample(t, base...), sample(t, other...)).Lower <= 0.05 {
			low++
		}
	}
	if low > pairs/20+30 || low < pairs/100 {
		t.Errorf("%d of %d probabilities are at most .05", low, pairs)
	}
}
