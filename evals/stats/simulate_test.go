package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptape/looptape/evals/stats"
)

// runsOf returns always the same numbers of runs.
func runsOf(base, other int) func(string) (int, int) {
	return func(string) (int, int) { return base, other }
}

func simulator(t tb, base, other int, of *stats.Sample) *stats.Simulator {
	t.Helper()
	return must(stats.NewSimulator(of, nil, runsOf(base, other)))(t)
}

// cases returns the values of n cases with runs whose rates are of a beta distribution.
func cases(rng *rand.Rand, n, runs int, a, b float64) (list [][]float64) {
	rates := distuv.Beta{Alpha: a, Beta: b, Src: rng}
	for range n {
		p, values := rates.Rand(), []float64{}
		for range runs {
			values = append(values, flip(rng, p))
		}
		list = append(list, values)
	}
	return list
}

// TestSimulatorTrue compares the predicted power with the share of findings in runs whose rates are
// known, where both samples are of 40 cases with 4 runs.
func TestSimulatorTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	model := sample(t, cases(rng, 40, 4, 2, 1)...)
	test := stats.DropTest{}
	for _, share := range []float64{0, 0.1, 0.2} { // of the rate
		predicted := must(simulator(t, 4, 4, model).Power(test, share*0.66, stats.Resampling{Resamples: 1000, Seed: 1}))(t)
		found := 0
		const pairs = 1000
		rates := distuv.Beta{Alpha: 2, Beta: 1, Src: rng}
		for range pairs {
			var base, other [][]float64
			for range 40 {
				p := rates.Rand()
				var b, o []float64
				for range 4 {
					b, o = append(b, flip(rng, p)), append(o, flip(rng, p*(1-share)))
				}
				base, other = append(base, b), append(other, o)
			}
			if within(t, sample(t, base...), sample(t, other...)).Lower < 0.05 {
				found++
			}
		}
		near(t, fmt.Sprint("power of a drop of ", share), predicted, float64(found)/pairs, 0.08)
	}
}

// TestSimulatorNormal compares the power by the normal distribution, which many cases have, with
// that of simulations, for which the cases are one less than many.
func TestSimulatorNormal(t *testing.T) {
	for name, values := range map[string]func(*rand.Rand, int) [][]float64{
		"rates": func(rng *rand.Rand, n int) [][]float64 { return cases(rng, n, 3, 1, 1) },
		"numbers": func(rng *rand.Rand, n int) (list [][]float64) {
			for i := range n {
				list = append(list, []float64{float64(i) + rng.NormFloat64(), float64(i) + rng.NormFloat64()})
			}
			return list
		},
	} {
		for _, rise := range []bool{false, true} {
			test := stats.DropTest{Rise: rise, Least: 0.01}
			var power [2][]float64
			var smallest [2]float64
			for i, n := range []int{999, 1000} {
				s := simulator(t, 3, 2, sample(t, values(rand.New(rand.NewPCG(1, 1)), n)...))
				for _, drop := range []float64{0, 0.02, 0.04} {
					power[i] = append(power[i], must(s.Power(test, drop, stats.Resampling{Resamples: 400}))(t))
				}
				drop, ok, err := s.Smallest(test, 0.8, stats.Resampling{Resamples: 60})
				if !ok || err != nil {
					t.Fatal(ok, err)
				}
				smallest[i] = drop
			}
			near(t, name+": power", power[1], power[0], 0.06)
			near(t, name+": smallest drop", smallest[1], smallest[0], 0.05)
		}
	}
}

// TestSimulatorFew: what few runs find is known on paper.
func TestSimulatorFew(t *testing.T) {
	r := stats.Resampling{Resamples: 200}
	// Four cases of one run have probabilities of 1/16 or more, so that no drop is found.
	s := simulator(t, 1, 1, singles(t, 1, 1, 1, 1))
	if drop, ok, err := s.Smallest(stats.DropTest{}, 0.8, r); ok || err != nil {
		t.Errorf("four cases: got %v, %v, %v; no drop can be found", drop, ok, err)
	}
	// At another level, a drop of all is found.
	if _, ok, err := s.Smallest(stats.DropTest{Alpha: 0.1}, 0.5, r); !ok || err != nil {
		t.Errorf("four cases at another level: got %v, %v", ok, err)
	}
	// 50 runs of three cases that always pass find a small drop.
	three := [][]float64{repeat(50, 1, 0, 0), repeat(50, 1, 0, 0), repeat(50, 1, 0, 0)}
	drop, ok, err := simulator(t, 50, 50, sample(t, three...)).Smallest(stats.DropTest{}, 0.8, r)
	if !ok || err != nil || drop > 0.06 || drop < 0.03 { // 5 of 150 fail
		t.Errorf("50 runs of three cases: got %v, %v, %v", drop, ok, err)
	}
	// No drop below the least one counts.
	drop, _, err = simulator(t, 50, 50, sample(t, three...)).Smallest(stats.DropTest{Least: 0.3}, 0.8, r)
	if err != nil || drop < 0.3 {
		t.Errorf("a least drop of .3: got %v, %v", drop, err)
	}
	// Numbers without any noise: three cases with three runs have 8,000 assignments.
	drop, ok, err = simulator(t, 3, 3, sample(t, repeat(3, 7, 0, 0), repeat(3, 8, 0, 0), repeat(3, 9, 0, 0))).Smallest(stats.DropTest{Least: 0.5}, 0.8, r)
	if !ok || err != nil || drop < 0.5 || drop > 0.51 {
		t.Errorf("numbers without noise: got %v, %v, %v", drop, ok, err)
	}
}

// TestSimulatorOfPairs: with one run of each case, the pairs of both samples show how runs vary.
func TestSimulatorOfPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	power := func(base, other []float64, drop float64) float64 {
		s := must(stats.NewSimulator(singles(t, base...), singles(t, other...), runsOf(1, 1)))(t)
		return must(s.Power(stats.DropTest{}, drop, stats.Resampling{}))(t)
	}
	var a, b, same []float64
	for range 300 {
		v := flip(rng, 0.5)
		a, b, same = append(a, v), append(b, flip(rng, 0.5)), append(same, v)
	}
	if p, q := power(a, b, 0.05), power(a, same, 0.05); p > 0.4 || q < 0.9 {
		t.Errorf("rates: got the power %.3f for independent runs and %.3f for equal runs", p, q)
	}
	var x, y []float64
	for range 300 {
		v := 10 * rng.NormFloat64()
		x, y = append(x, v+rng.NormFloat64()), append(y, v+rng.NormFloat64()-3) // a drop is no noise
	}
	// The standard error of the difference is √(2/300), and the test finds 1.645 times that.
	near(t, "numbers", power(x, y, 0.2), distuv.UnitNormal.CDF(0.2/math.Sqrt(2./300)-1.645), 0.06)
}

// TestSimulatorWhole: the mean that is expected is less than 1 if all runs pass, but it can drop by 1.
func TestSimulatorWhole(t *testing.T) {
	for n, want := range map[int]float64{4: 0, 5: 1} { // a drop of all of 5 cases has a probability of 1/32
		s := simulator(t, 1, 1, singles(t, repeat(n, 1, 0, 0)...))
		if got := must(s.Power(stats.DropTest{}, 1, stats.Resampling{Resamples: 2000}))(t); math.Abs(got-want) > 0.5 {
			t.Errorf("%d cases find a drop of 1 with the probability %v, want about %v", n, got, want)
		}
	}
}

// TestSimulatorSpread: that cases differ much more than their runs does not change the smallest drop that is found.
func TestSimulatorSpread(t *testing.T) {
	smallest := func(spread float64) float64 {
		rng := rand.New(rand.NewPCG(5, 5))
		var values [][]float64
		for i := range 20 {
			m := spread * float64(i)
			values = append(values, []float64{m + rng.NormFloat64(), m + rng.NormFloat64(), m + rng.NormFloat64()})
		}
		drop, ok, err := simulator(t, 3, 3, sample(t, values...)).Smallest(stats.DropTest{}, 0.8, stats.Resampling{Resamples: 200})
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return drop
	}
	near(t, "smallest drop", smallest(1000), smallest(0), 0.05)
}

func TestSimulatorRefuses(t *testing.T) {
	_, err := stats.NewSimulator(singles(t, 1), nil, runsOf(1, 0))
	fails(t, "no run", err, `case "000" with 1 and 0 runs`)
	_, err = stats.NewSimulator(singles(t, 0.5, 3), nil, runsOf(1, 1))
	fails(t, "one run of numbers", err, "score each case twice")
	s := simulator(t, 1, 1, singles(t, 1, 0, 0))
	_, err = s.Power(stats.DropTest{}, 0.9, stats.Resampling{})
	fails(t, "impossible", err, "a drop of 0.9 of a mean of 0.3333 is impossible: want 0 to 0.375")
	_, err = s.Power(stats.DropTest{Rise: true}, 0.9, stats.Resampling{})
	fails(t, "impossible rise", err, "want 0 to 0.6667")
	_, err = s.Power(stats.DropTest{}, 0, stats.Resampling{Resamples: -1})
	fails(t, "resamples", err, "-1 resamples")
}
