package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Methods of [Within].
const (
	exact  = "exact"  // all assignments of runs count
	random = "random" // of randomly drawn assignments
	normal = "normal" // by the normal distribution, for many cases
)

// WithinTest is the result of [Within].
type WithinTest struct {
	// Lower and Higher are the probabilities of a difference at least as low, and at least as
	// high, if the assignment of runs is random.
	Lower, Higher float64

	// Method is how they were computed: "exact", "random" or "normal".
	Method string
}

// Within tests whether the runs of each case are from one source in both samples. The statistic is
// the mean over the common cases of the difference of the means of their runs, other − base. If
// nothing has changed, each run of a case could as well be in the other sample, so that all
// assignments of the runs of a case to the two samples are equally likely (a permutation test
// within strata; Fisher, "The design of experiments", 1935; for one run of each case in both
// samples and values of 0 and 1 it is McNemar's exact test). The difficulty of a case has no
// effect, and many runs of few cases can show a difference.
//
// The probabilities are exact if all cases that vary have two values of the same distance, such as
// 0 and 1, or if there are no more assignments than resamples, unless that takes too long.
// Otherwise assignments are drawn, and the probability is (b+1)/(m+1) for b of m draws; see
// [Sample.SignFlip]. If that takes too long, with at least [manyCases] cases of which none
// dominates, they are those of the normal distribution with the variance of the assignments.
func Within(base, other *Sample, r Resampling) (WithinTest, error) {
	draws, rng, err := r.start()
	if err != nil {
		return WithinTest{}, err
	}
	s, err := casesOf(base, other)
	if err != nil {
		return WithinTest{}, err
	}
	return s.varying().test(draws, rng), nil
}

// manyCases is the number of cases from which the sum of their differences is normal: no case has more
// than this part of the variance.
const manyCases = 200

// stratum contains the runs of one case, first those of the base.
type stratum struct {
	values []float64
	base   int // number of the runs of the base
}

// strata are cases.
type strata []stratum

// casesOf returns the common cases in the order of the base.
func casesOf(base, other *Sample) (strata, error) {
	others := other.byCase()
	var list strata
	for _, runs := range base.cases {
		pair, ok := others[runs[0].Case]
		if !ok {
			continue
		}
		s := stratum{base: len(runs)}
		for _, r := range append(runs[:len(runs):len(runs)], pair...) {
			s.values = append(s.values, r.Value)
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("pairs of %d and %d cases: %w: no case is in both: use the same names", len(base.cases), len(other.cases), ErrTooFew)
	}
	return list, nil
}

// varying returns the cases whose runs differ.
func (s strata) varying() strata {
	return slices.DeleteFunc(s, func(c stratum) bool {
		return !slices.ContainsFunc(c.values, func(v float64) bool { return v != c.values[0] })
	})
}

// means returns the means of the runs in the base and in the other sample.
func (c stratum) means() (base, other float64) {
	return total(c.values[:c.base], itself) / float64(c.base), total(c.values[c.base:], itself) / float64(len(c.values)-c.base)
}

// difference returns the difference of the means.
func (c stratum) difference() float64 {
	base, other := c.means()
	return other - base
}

// variance returns the variance of the difference over all assignments: S²·(1/n+1/m), where S² is
// the variance of all values with the divisor n+m−1.
func (c stratum) variance() float64 {
	all := float64(len(c.values))
	mean := total(c.values, itself) / all
	squares := total(c.values, func(x float64) float64 { return (x - mean) * (x - mean) })
	return squares / (all - 1) * all / (float64(c.base) * (all - float64(c.base)))
}

func itself(x float64) float64 { return x }

// other returns the sum of the means of the runs in the other sample.
func (s strata) other() float64 {
	return total(s, func(c stratum) float64 { _, other := c.means(); return other })
}

func (s strata) difference() float64 { return total(s, stratum.difference) }

// rounding is the part of the sum of all distances by which equal sums may differ.
const rounding = 1e-12

// test computes the probabilities.
func (s strata) test(draws int, rng *rand.Rand) WithinTest {
	if len(s) == 0 {
		return WithinTest{1, 1, exact}
	}
	const steps = 1e8 // a tenth of a second
	if g, ok := s.grid(steps); ok {
		return g.test()
	}
	if s.assignments() <= float64(draws) {
		return s.enumerate()
	}
	const values = 3e8 // drawn in a few seconds
	if float64(draws)*total(s, func(c stratum) float64 { return float64(len(c.values)) }) > values && s.balanced() {
		return s.normal()
	}
	return s.draw(draws, rng)
}

// balanced reports whether no case has too much of the variance.
func (s strata) balanced() bool {
	largest := 0.0
	for _, c := range s {
		largest = max(largest, c.variance())
	}
	return largest*manyCases <= total(s, stratum.variance)
}

func (s strata) normal() WithinTest {
	z := s.difference() / math.Sqrt(total(s, stratum.variance))
	return WithinTest{distuv.UnitNormal.CDF(z), distuv.UnitNormal.CDF(-z), normal}
}

// assignments returns the number of ways to choose the runs of the base.
func (s strata) assignments() float64 {
	ways := 1.0
	for _, c := range s {
		for i := range c.base {
			ways *= float64(len(c.values)-i) / float64(i+1)
		}
	}
	return ways
}

// bounds returns the sums from which a sum counts as at least as low, and as high.
func (s strata) bounds() (low, high float64) {
	slack := 0.0
	for _, c := range s {
		for _, v := range c.values {
			slack += rounding * math.Abs(v)
		}
	}
	d := s.difference()
	return d + slack, d - slack
}

// enumerate computes all assignments.
func (s strata) enumerate() WithinTest {
	sums := []float64{0}
	for _, c := range s {
		differences := c.all()
		next := make([]float64, 0, len(sums)*len(differences))
		for _, sum := range sums {
			for _, d := range differences {
				next = append(next, sum+d)
			}
		}
		sums = next
	}
	low, high := s.bounds()
	var lower, higher float64
	for _, sum := range sums {
		if sum <= low {
			lower++
		}
		if sum >= high {
			higher++
		}
	}
	n := float64(len(sums))
	return WithinTest{lower / n, higher / n, exact}
}

// all returns the differences of all assignments.
func (c stratum) all() (differences []float64) {
	n, m := float64(c.base), float64(len(c.values)-c.base)
	var choose func(from, left int, chosen, rest float64)
	choose = func(from, left int, chosen, rest float64) {
		if from == len(c.values) {
			differences = append(differences, rest/m-chosen/n)
			return
		}
		v := c.values[from]
		if left > 0 {
			choose(from+1, left-1, chosen+v, rest)
		}
		if len(c.values)-from > left {
			choose(from+1, left, chosen, rest+v)
		}
	}
	choose(0, c.base, 0, 0)
	return differences
}

// draw draws assignments.
func (s strata) draw(draws int, rng *rand.Rand) WithinTest {
	low, high := s.bounds()
	lower, higher := 1.0, 1.0
	drawn := make(strata, len(s))
	for i, c := range s {
		drawn[i] = stratum{append([]float64{}, c.values...), c.base}
	}
	for range draws {
		sum := 0.0
		for _, c := range drawn {
			v := c.values
			for i := range c.base {
				j := i + rng.IntN(len(v)-i)
				v[i], v[j] = v[j], v[i]
			}
			sum += c.difference()
		}
		if sum <= low {
			lower++
		}
		if sum >= high {
			higher++
		}
	}
	m := float64(draws + 1)
	return WithinTest{lower / m, higher / m, random}
}

// grid is a sum of differences as a whole number of steps.
type grid struct {
	cases    []gridCase
	observed int
	length   int // of the distribution
}

// gridCase is a case whose runs have two values. The number of runs of the other sample with the
// higher value is hypergeometric.
type gridCase struct {
	runs, high, other int // all runs, those with the higher value, those of the other sample
	step              int // by which one run of the other sample more adds to the sum
}

// least returns the smallest number of runs of the other sample with the higher value, and the
// number of possible ones.
func (c gridCase) least() (least, n int) {
	least = max(0, c.high-(c.runs-c.other))
	return least, min(c.high, c.other) - least + 1
}

// grid returns the sum as whole steps, if all cases have two values of the same distance and the
// distribution takes no more than this number of operations.
func (s strata) grid(operations float64) (g grid, ok bool) {
	var distance float64
	unit := 1
	for i, c := range s {
		low, high := c.twoValues()
		if math.IsNaN(low) {
			return g, false
		}
		if i == 0 {
			distance = high - low
		}
		if math.Abs(high-low-distance) > 1e-9*distance {
			return g, false
		}
		unit = lcm(unit, c.base*(len(c.values)-c.base))
		if unit > maxUnit {
			return g, false
		}
	}
	common := 0
	for _, c := range s {
		other := len(c.values) - c.base
		one := gridCase{runs: len(c.values), other: other, step: unit / (c.base * other) * len(c.values)}
		_, high := c.twoValues()
		for _, v := range c.values {
			if v == high {
				one.high++
			}
		}
		common = gcd(common, one.step)
		g.cases = append(g.cases, one)
	}
	g.length = 1
	work := 0.0
	for i, c := range s {
		one := &g.cases[i]
		one.step /= common
		_, high := c.twoValues()
		least, n := one.least()
		got := -least
		for _, v := range c.values[c.base:] {
			if v == high {
				got++
			}
		}
		g.observed += got * one.step
		g.length += (n - 1) * one.step
		work += float64(n) * float64(g.length)
		if work > operations {
			return g, false
		}
	}
	return g, true
}

// maxUnit is the largest common multiple of numbers of runs in a grid.
const maxUnit = 1 << 30

// twoValues returns the two values of a case, or NaN if there are more.
func (c stratum) twoValues() (low, high float64) {
	low, high = c.values[0], c.values[0]
	for _, v := range c.values {
		low, high = min(low, v), max(high, v)
	}
	for _, v := range c.values {
		if v != low && v != high {
			return math.NaN(), math.NaN()
		}
	}
	return low, high
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }

// test adds the distribution of each case.
func (g grid) test() WithinTest {
	p := make([]float64, 1, g.length)
	p[0] = 1
	for _, c := range g.cases {
		ways := c.probabilities()
		next := make([]float64, len(p)+(len(ways)-1)*c.step)
		for i, w := range ways {
			for j, q := range p {
				next[i*c.step+j] += w * q
			}
		}
		p = next
	}
	return WithinTest{min(1, total(p[:g.observed+1], itself)), min(1, total(p[g.observed:], itself)), exact}
}

// probabilities returns the hypergeometric distribution from the least number on.
func (c gridCase) probabilities() []float64 {
	least, n := c.least()
	p := make([]float64, n)
	for i := range p {
		x := least + i
		p[i] = math.Exp(logChoose(c.high, x) + logChoose(c.runs-c.high, c.other-x) - logChoose(c.runs, c.other))
	}
	return p
}

// logChoose returns the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lgamma(n) - lgamma(k) - lgamma(n-k)
}
