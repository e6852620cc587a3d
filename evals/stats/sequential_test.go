package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/looptape/looptape/evals/stats"
)

func sequential(t tb, s stats.Sequential, d ...float64) stats.SequentialResult {
	t.Helper()
	return must(s.Test(d))(t)
}

// TestSequentialByHand: with a planned effect of 0.25 and a quarter of ten pairs, λ is 1, limited to
// 0.95. Then it is 0.25 over 3.5/11.
func TestSequentialByHand(t *testing.T) {
	s := stats.Sequential{Effect: 0.25}
	near(t, "one win", sequential(t, s, 1), stats.SequentialResult{E: 1, P: 1, Higher: true}, 1e-12)
	near(t, "two wins", sequential(t, s, 1, 1), stats.SequentialResult{E: (1.95*(1+11*0.25/3.5) + 0.05*(1-11*0.25/3.5)) / 2, P: 2 / (1.95*(1+11*0.25/3.5) + 0.05*(1-11*0.25/3.5)), Higher: true}, 1e-12)
	near(t, "a win and a loss", sequential(t, s, 1, -1), stats.SequentialResult{E: (1.95*(1-11*0.25/3.5) + 0.05*(1+11*0.25/3.5)) / 2, P: 1, Higher: true}, 1e-12)
	near(t, "no difference", sequential(t, s, 0, 0, 0), stats.SequentialResult{E: 1, P: 1}, 1e-12)
	near(t, "none at all", sequential(t, s), stats.SequentialResult{E: 1, P: 1}, 1e-12)

	all := slices.Repeat([]float64{-1}, 40)
	r := sequential(t, s, all...)
	if r.Decided == 0 || r.Higher || r.P > 0.05 {
		t.Errorf("40 losses: got %+v", r)
	}
	if before := sequential(t, s, all[:r.Decided-1]...); before.Decided != 0 || before.E >= 20 {
		t.Errorf("a loss less: got %+v", before)
	}
	// What was decided stays decided.
	later := sequential(t, s, append(all, slices.Repeat([]float64{1}, 40)...)...)
	if later.Decided != r.Decided || later.Higher || later.P > 0.05 {
		t.Errorf("40 wins later: got %+v", later)
	}
}

// TestSequentialLevel: without a difference, at most 5 % of the tests ever find one in 400 pairs, for
// pairs that often and rarely differ, and for differences of case means.
func TestSequentialLevel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 22))
	for _, changed := range []float64{0.02, 0.2, 0.5, 1} {
		for _, effect := range []float64{0.02, 0.1} {
			for _, parts := range []int{1, 4} {
				found, n := 0, *simulations
				for range n {
					d := make([]float64, 400)
					for i := range d {
						for range parts {
							if rng.Float64() < changed {
								d[i] += (2*flip(rng, 0.5) - 1) / float64(parts)
							}
						}
					}
					if sequential(t, stats.Sequential{Effect: effect}, d...).Decided > 0 {
						found++
					}
				}
				share := float64(found) / float64(n)
				if share > 0.05+3*math.Sqrt(0.05*0.95/float64(n)) {
					t.Errorf("%v of the pairs differ, effect %v, %d runs: %.4f false alarms", changed, effect, parts, share)
				}
				t.Logf("%v of the pairs differ, effect %v, %d runs: %.4f false alarms", changed, effect, parts, share)
			}
		}
	}
}

// TestSequentialEarly compares the median number of pairs until the decision with the number that a plan
// of McNemar's test needs, for an effect of the planned size: with a power of 0.8 at most 0.85 of it, and with a
// power of 0.95 at most 0.6. It logs the best case, a test that knows which share of the pairs differs.
func TestSequentialEarly(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(23, 24))
	for _, c := range []struct{ power, most float64 }{{0.8, 0.85}, {0.95, 0.6}} {
		for _, p := range []stats.PairedRates{{OnlyBase: 0.1, OnlyOther: 0.15}, {OnlyBase: 0.05, OnlyOther: 0.15}, {OnlyBase: 0.2, OnlyOther: 0.3}, {OnlyBase: 0.25, OnlyOther: 0.15}} {
			plan := must(p.CasesNeeded(stats.Test{Power: c.power}))(t)
			effect := math.Abs(p.OnlyOther - p.OnlyBase)
			share := p.OnlyBase + p.OnlyOther
			var needed, best []float64
			for range *simulations / 2 {
				d := make([]float64, 3*plan)
				product, other, known := 0.0, 0.0, math.Inf(1)
				for i := range d {
					switch x := rng.Float64(); {
					case x < p.OnlyBase:
						d[i] = -1
					case x < share:
						d[i] = 1
					}
					product += math.Log1p(effect / share * d[i])
					other += math.Log1p(-effect / share * d[i])
					if math.IsInf(known, 1) && (math.Exp(product)+math.Exp(other))/2 >= 20 {
						known = float64(i + 1)
					}
				}
				n := float64(sequential(t, stats.Sequential{Effect: effect}, d...).Decided)
				if n == 0 {
					n = math.Inf(1)
				}
				needed, best = append(needed, n), append(best, known)
			}
			slices.Sort(needed)
			slices.Sort(best)
			ratio, ideal := needed[len(needed)/2]/float64(plan), best[len(best)/2]/float64(plan)
			t.Logf("%+v, power %v: %d pairs planned, the median is %.2f of them, %.2f in the best case", p, c.power, plan, ratio, ideal)
			if ratio > c.most+1/math.Sqrt(float64(len(needed))) { // of the sampling
				t.Errorf("%+v, power %v: the median is %.3f of the plan, want %v at most", p, c.power, ratio, c.most)
			}
		}
	}
}

func TestSequentialRefuses(t *testing.T) {
	for want, s := range map[string]stats.Sequential{"an effect of 0": {}, "an effect of 2": {Effect: 2}, "the level 1": {Effect: 0.1, Alpha: 1}} {
		_, err := s.Test(nil)
		fails(t, want, err, want)
	}
	_, err := stats.Sequential{Effect: 0.1}.Test([]float64{0, 1.5})
	fails(t, "difference", err, "difference 2 is 1.5: want −1 to 1")
}
