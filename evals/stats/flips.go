package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// PairedCases returns the number of cases like those of two samples, 2 or more, from which on
// [Sample.SignFlip] of the differences of [Pair] finds this difference, or its opposite, with the power of the
// test. It is the largest number of these plans:
//
//   - The differences of clusters vary around the difference as they do in the samples.
//   - If all values are 0 or 1, a case has several runs, and no cases share a cluster: the base has the rate and
//     the correlation of the runs of a case that it has now, and the difference is that of [PlannedRates]. The
//     number of runs is the harmonic mean of those of the cases. A plan with an impossible rate does not count.
//
// The test is simulated for 10,000 plans with up to 400 differences other than 0. Of more differences, the power
// is that of the normal distribution: off by 0.02 at most for rates.
//
// PairedCases returns an error that wraps [ErrTooFew] if the samples do not show how differences vary.
func (t Test) PairedCases(base, other *Sample, difference float64) (int, error) {
	p, err := newPairs(base, other)
	if err != nil {
		return 0, err
	}
	if !(math.Abs(difference) > 0) || math.IsInf(difference, 0) {
		return 0, fmt.Errorf("cases needed to find a difference of %v: it must be a number, and not 0", difference)
	}
	n, err := t.casesOf(p.changes(difference), difference)
	return (n*p.cases + p.clusters - 1) / p.clusters, err
}

// PairedDetectable returns the smallest difference that the cases of both samples find; see [Test.PairedCases]. ok is
// false if they find none that is possible.
func (t Test) PairedDetectable(base, other *Sample) (difference float64, ok bool, err error) {
	p, err := newPairs(base, other)
	if err != nil {
		return 0, false, err
	}
	if t, err = t.complete(1); err != nil {
		return 0, false, err
	}
	enough := func(difference float64) bool {
		const plans = 2500
		for _, c := range p.changes(difference) {
			if t.flips(c, p.clusters, plans).power(p.clusters) < t.Power {
				return false
			}
		}
		return true
	}
	low, high := 0.0, p.largest
	if len(p.changes(high)) == 0 || !enough(high) {
		return 0, false, nil
	}
	const digits = 12 // binary; the simulations are not more exact
	for range digits {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true, nil
}

// pairs describes how the differences of two samples vary.
type pairs struct {
	cases, clusters int
	residuals       []float64 // of the sums of clusters; nil if all are 0
	weights         []float64 // cases of a cluster, 1 on average
	largest         float64   // difference to look for

	binary    bool // with several runs of a case
	rate, icc float64
	runs      int
}

func newPairs(base, other *Sample) (*pairs, error) {
	pair, err := Pair(base, other)
	if err != nil {
		return nil, err
	}
	d := pair.Difference
	p := &pairs{cases: d.Cases(), clusters: d.Clusters()}
	mean, k := d.Mean(), float64(p.clusters)
	average := float64(p.cases) / k
	unbiased := math.Sqrt(k / (k - 1))
	squares := 0.0
	for _, rows := range d.clusters {
		n := float64(len(rows))
		r := (sumOf(rows) - mean*n) * unbiased / average
		squares += r * r
		p.residuals, p.weights = append(p.residuals, r), append(p.weights, n/average)
	}
	const many = 40 // standard errors, that any number of cases from 6 on finds
	p.largest = many * math.Sqrt(squares/k)
	if p.clusters < 2 || squares == 0 {
		p.residuals = nil
	}
	if !math.IsInf(base.trials, 1) && !math.IsInf(other.trials, 1) {
		p.largest = 1
		p.rates(base, other)
	}
	if p.residuals == nil && !p.binary {
		return nil, fmt.Errorf("differences of %d clusters: %w that differ to know how they vary", p.clusters, ErrTooFew)
	}
	return p, nil
}

// rates sets the rate and the correlation of the runs of the base.
func (p *pairs) rates(base, other *Sample) {
	icc, known := iccOf(base.cases)
	if p.binary = known && p.clusters == p.cases; !p.binary {
		return
	}
	runs := 0.0 // the mean of 1/runs
	for _, s := range []*Sample{base, other} {
		runs += total(s.cases, func(c []Row) float64 { return 1 / float64(len(c)) }) / float64(2*len(s.cases))
	}
	p.rate, p.icc, p.runs = base.CaseMeans().Mean(), icc, int(1/runs+rounding)
	p.largest = max(p.rate, 1-p.rate) // a change of more is impossible
}

// changes returns the plans for a difference.
func (p *pairs) changes(difference float64) (list []changes) {
	for _, d := range []float64{difference, -difference} {
		if p.residuals != nil {
			c := changes{}
			for i, r := range p.residuals {
				c.values = append(c.values, r+d*p.weights[i])
				c.p = append(c.p, 1/float64(len(p.residuals)))
			}
			list = append(list, c)
		}
		if p.binary && checkPlan(p.rate, p.icc, d) == nil {
			list = append(list, plannedChanges(p.rate, p.icc, d, p.runs))
		}
	}
	return list
}

// changes is a distribution of the differences of a case or a cluster.
type changes struct {
	values, p []float64
	step      float64 // all values are multiples of it; 0 if not
}

// casesOf returns the largest number of cases for changes with the mean difference or its opposite.
func (t Test) casesOf(list []changes, difference float64) (int, error) {
	t, err := t.complete(1)
	if err != nil {
		return 0, err
	}
	needed := 0
	for _, c := range list {
		const plans = 10_000
		f := t.flips(c, MaxCases, plans)
		needed = max(needed, leastCases(2, func(n int) bool { return f.power(n) >= t.Power }))
	}
	if needed > MaxCases {
		return 0, tooSmall(difference)
	}
	if needed == 0 {
		return 0, fmt.Errorf("cases needed to find a difference of %v: it is %w", difference, ErrImpossible)
	}
	return needed, nil
}

// flips returns the power of [Sample.SignFlip] of changes in the direction of their mean, with this number
// of plans for cases up to most.
func (t Test) flips(c changes, most, plans int) *flipPower {
	f := &flipPower{test: t, step: c.step, most: min(most, maxFlips), plans: plans}
	largest := 0.0
	for i, v := range c.values {
		largest = max(largest, math.Abs(v))
		f.mean += c.p[i] * v
		f.square += c.p[i] * v * v
	}
	for i, v := range c.values {
		if math.Abs(v) > rounding*largest && c.p[i] > 0 {
			f.values = append(f.values, math.Copysign(1, f.mean)*v)
			f.share += c.p[i]
			f.ends = append(f.ends, f.share)
		}
	}
	f.mean = math.Abs(f.mean)
	return f
}

// flipPower is the power of [Sample.SignFlip] for a number of cases.
type flipPower struct {
	test         Test
	values, ends []float64 // other than 0, and their cumulative probabilities
	share        float64   // of values other than 0
	step         float64
	mean, square float64 // of all values
	most, plans  int
	found        []float64 // power by the number of values other than 0; nil before the simulation
}

// maxFlips is the number of values other than 0 up to which the test is simulated.
const maxFlips = 400

// power returns the power of n cases.
func (f *flipPower) power(n int) float64 {
	const far = 6 // standard deviations
	mid := float64(n) * min(1, f.share)
	width := far*math.Sqrt(mid*(1-min(1, f.share))) + far
	first, last := max(0, int(mid-width)), min(n, int(mid+width))
	if last > maxFlips {
		return f.normal(n)
	}
	if f.found == nil {
		f.simulate()
	}
	if f.share > 1-rounding {
		return f.found[n]
	}
	all, power := distuv.Binomial{N: float64(n), P: f.share}, 0.0
	for k := first; k <= last; k++ {
		power += all.Prob(float64(k)) * f.found[k]
	}
	return power
}

// normal returns the power for many cases: the variance under random signs is that of all squares, and sums are two
// steps apart.
func (f *flipPower) normal(n int) float64 {
	root := math.Sqrt(float64(n))
	return distuv.UnitNormal.CDF((root*f.mean - f.step/root - f.test.critical()*math.Sqrt(f.square)) / math.Sqrt(max(f.square-f.mean*f.mean, rounding*f.square)))
}

func (t Test) critical() float64 { return distuv.UnitNormal.Quantile(1 - t.Alpha/2) }

// simulate draws the values of each plan one after the other.
func (f *flipPower) simulate() {
	f.found = make([]float64, f.most+1)
	if len(f.values) == 0 {
		return
	}
	critical := f.test.critical()
	rng := rand.New(rand.NewPCG(1, 0))
	sums := make([]float64, 0, 1<<(fewFlips-1))
	for range f.plans {
		s := flipSum{step: f.step, sums: sums}
		for n := 1; n <= f.most; n++ {
			s.add(f.draw(rng.Float64()))
			if s.sum > 0 && s.significant(f.test.Alpha, critical) {
				f.found[n] += 1 / float64(f.plans)
			}
		}
	}
}

// draw returns the value at this part of the distribution.
func (f *flipPower) draw(part float64) float64 {
	part *= f.share
	last := len(f.ends) - 1
	return f.values[min(last, sort.Search(last, func(i int) bool { return f.ends[i] >= part }))]
}

// flipSum is a sum of values, and what decides how far from 0 it is with random signs.
type flipSum struct {
	step                  float64 // sums are multiples of it, two apart
	sum, squares, fourths float64
	n                     int
	sums                  []float64 // with all signs but that of the first value; for few values
}

// fewFlips is the number of values up to which all signs are tried. The distribution of more is normal, with a
// correction for its kurtosis.
const fewFlips = 12

func (s *flipSum) add(x float64) {
	s.n++
	s.sum += x
	s.squares += x * x
	s.fourths += x * x * x * x
	if s.n == 1 {
		s.sums = append(s.sums, x)
		return
	}
	if s.n > fewFlips {
		return
	}
	for _, sum := range s.sums {
		s.sums = append(s.sums, sum-x)
	}
	for i := range s.sums[:len(s.sums)/2] {
		s.sums[i] += x
	}
}

// significant reports whether the probability of a sum at least as far from 0 is below alpha.
func (s *flipSum) significant(alpha, critical float64) bool {
	if s.n > fewFlips {
		// The first terms of the expansion of Cornish and Fisher, with the excess kurtosis of the sum.
		z := (s.sum - s.step) / (critical * math.Sqrt(s.squares))
		return z > 1-(critical*critical-3)*s.fourths/(12*s.squares*s.squares)
	}
	if math.Ldexp(1, 1-s.n) >= alpha {
		return false
	}
	far := 0
	for _, sum := range s.sums {
		if math.Abs(sum) >= s.sum*(1-rounding) {
			far++
		}
	}
	return float64(far) < alpha*float64(len(s.sums))
}
