package stats

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat/distuv"
)

// DropTest finds a mean that got worse: the difference is Least or more, and its probability by
// [Within] is below Alpha; or the difference is more than Most; or the mean of the other sample is
// worse than Worst.
type DropTest struct {
	Alpha float64  // one-sided level; 0 means 0.05
	Least float64  // smallest change that counts
	Most  *float64 // nil: no limit
	Worst *float64 // nil: no limit
	Rise  bool     // a higher mean is worse
}

func (t DropTest) alpha() float64 { return cmp.Or(t.Alpha, 0.05) }

// worse returns by how much a difference, other − base, is worse.
func (t DropTest) worse(difference float64) float64 {
	if t.Rise {
		return difference
	}
	return -difference
}

// finds reports whether the test finds that the runs of the other sample are worse.
func (t DropTest) finds(s strata, cases int) bool {
	// A simulation computes many tests, therefore each is normal where an exact one takes longer than this.
	const operations, assignments = 2e5, 2e3
	change := t.worse(s.difference() / float64(cases))
	if t.Most != nil && change > *t.Most+rounding || t.Worst != nil && t.worse(s.other()/float64(cases)-*t.Worst) > rounding {
		return true
	}
	if change < t.Least-rounding {
		return false
	}
	s = s.varying()
	var w WithinTest
	if g, ok := s.grid(operations); ok && len(s) > 0 {
		w = g.test()
	} else if s.assignments() <= assignments {
		w = s.enumerate()
	} else {
		w = s.normal()
	}
	p := w.Lower
	if t.Rise {
		p = w.Higher
	}
	return p < t.alpha()*(1-rounding)
}

// Simulator draws runs that vary as those of its samples do, to predict what a [DropTest] of such runs
// finds. It is safe for concurrent use.
//
// Where all values are 0 or 1, the rate of a case has the distribution that its runs in the base
// leave: beta with s+κ·p and f+κ·(1−p) for s successes and f failures, where p is the mean of the
// cases (of the runs if ICC is 0) and one more that is ½, and κ = 1/ICC−1. ICC is the correlation of the runs of a case in the base, by
// the analysis of variance (Donner, "A review of inference procedures for the intraclass
// correlation coefficient in the one-way random effects model", International Statistical Review
// 54, 1986); without a case of two runs in the base, that of the runs in both samples; without any, 0.
// A drop of the mean reduces the rate of each case in proportion.
//
// Otherwise a value is the mean of its case plus a residual of any case, times √(k/(k−1)) for a case with k runs
// in a sample. Without such a case, a residual is half of the difference between the samples
// of a case, less its mean, times √2 and with either sign. A drop moves all values.
type Simulator struct {
	cases     []simulated
	binary    bool
	residuals []float64
	square    float64 // mean square of residuals
	mean      float64 // expected, of the mean over cases
	observed  float64 // mean over the cases of the base
	spread    float64 // of all values
}

// simulated is a case.
type simulated struct {
	base, other int // numbers of runs
	mean        float64
	a, b        float64 // parameters of the distribution of the rate; 0 and 0 if it is mean
}

// NewSimulator returns the simulator of runs like those of the base and of another sample, which may
// be nil. The function runs returns the numbers of runs of a case in the base and in the other
// sample of a simulated test, each 1 or more. There must be a case with two runs in all, or
// values of 0 and 1.
func NewSimulator(base, other *Sample, runs func(name string) (base, other int)) (*Simulator, error) {
	s := &Simulator{binary: !math.IsInf(base.trials, 1) && (other == nil || !math.IsInf(other.trials, 1))}
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range base.cases {
		name := c[0].Case
		n, m := runs(name)
		if n < 1 || m < 1 {
			return nil, fmt.Errorf("simulation of case %q with %d and %d runs: want 1 or more", name, n, m)
		}
		for _, r := range c {
			low, high = min(low, r.Value), max(high, r.Value)
		}
		s.cases = append(s.cases, simulated{base: n, other: m, mean: mean(c)})
	}
	s.spread = high - low
	s.observed = total(s.cases, func(c simulated) float64 { return c.mean }) / float64(len(s.cases))
	if s.binary {
		s.rates(base, other)
	} else if s.residuals = residualsOf(base, other); len(s.residuals) == 0 {
		return nil, fmt.Errorf("simulation of runs: %w runs of a case to know how they vary: score each case twice", ErrTooFew)
	}
	s.square = total(s.residuals, func(v float64) float64 { return v * v }) / float64(max(1, len(s.residuals)))
	s.mean = total(s.cases, simulated.expected) / float64(len(s.cases))
	return s, nil
}

// residualsOf returns the residuals of numbers.
func residualsOf(base, other *Sample) (list []float64) {
	samples := []*Sample{base}
	if other != nil {
		samples = append(samples, other)
	}
	for _, s := range samples {
		for _, c := range s.cases {
			if k := float64(len(c)); k > 1 {
				m := mean(c)
				for _, r := range c {
					list = append(list, (r.Value-m)*math.Sqrt(k/(k-1)))
				}
			}
		}
	}
	if len(list) > 0 || other == nil {
		return list
	}
	p, err := Pair(base, other)
	if err != nil || p.Difference.Len() == 1 {
		return nil
	}
	m := p.Difference.Mean()
	if scatter(p.Difference.rows) == 0 {
		return nil // equal runs do not show how runs vary
	}
	for _, r := range p.Difference.rows {
		half := (r.Value - m) / math.Sqrt2
		list = append(list, half, -half)
	}
	return list
}

// expected returns the mean of the distribution of the case.
func (c simulated) expected() float64 {
	if c.a+c.b > 0 {
		return c.a / (c.a + c.b)
	}
	return c.mean
}

// rates sets the distributions of the rates.
func (s *Simulator) rates(base, other *Sample) {
	icc, known := iccOf(base.cases)
	if !known && other != nil {
		if both, err := casesOf(base, other); err == nil {
			icc, _ = iccOf(both.rows())
		}
	}
	n := float64(len(s.cases)) // of the observations that are independent
	if icc == 0 {
		n = float64(base.Len())
	}
	p := (s.observed*n + 0.5) / (n + 1)
	for i, runs := range base.cases {
		c := &s.cases[i]
		if icc == 0 {
			c.mean = p
			continue
		}
		k, weight := float64(len(runs)), 1/icc-1 // κ
		c.a, c.b = c.mean*k+weight*p, (1-c.mean)*k+weight*(1-p)
	}
}

// rows returns the runs of both samples by case.
func (s strata) rows() [][]Row {
	list := make([][]Row, len(s))
	for i, c := range s {
		for _, v := range c.values {
			list[i] = append(list[i], Row{Value: v})
		}
	}
	return list
}

// iccOf returns the correlation of the runs of a case, from 0 to 1. It is unknown without a case of
// two runs.
func iccOf(cases [][]Row) (icc float64, known bool) {
	var all, squares, within, between float64
	sum := total(cases, sumOf)
	for _, c := range cases {
		k := float64(len(c))
		all += k
		squares += k * k
		within += scatter(c)
	}
	n := float64(len(cases))
	if n < 2 || all == n {
		return 0, false
	}
	for _, c := range cases {
		d := mean(c) - sum/all
		between += float64(len(c)) * d * d
	}
	between /= n - 1
	within /= all - n
	runs := (all - squares/all) / (n - 1)
	if d := between + (runs-1)*within; d > 0 {
		icc = min(1, max(0, (between-within)/d))
	}
	return icc, true
}

// most returns the largest possible drop.
func (s *Simulator) most(t DropTest) float64 {
	switch {
	case !s.binary:
		return max(s.spread, 2*t.Least, 1e-9) * 4
	case t.Rise:
		return 1 - s.mean
	}
	return s.mean
}

// Power returns the probability that the test finds this drop, by simulations or, for many
// cases, by the normal distribution. A drop of 0 gives the probability of a false
// alarm. It returns an error for a drop that is impossible.
func (s *Simulator) Power(t DropTest, drop float64, r Resampling) (float64, error) {
	const many = 1000 // a rate near 0 or 1 needs more cases than other values
	return s.power(t, drop, r, len(s.cases) < many || t.Worst != nil)
}

// Simulate is like [Simulator.Power], always by simulations.
func (s *Simulator) Simulate(t DropTest, drop float64, r Resampling) (float64, error) {
	return s.power(t, drop, r, true)
}

func (s *Simulator) power(t DropTest, drop float64, r Resampling, simulate bool) (float64, error) {
	draws, _, err := r.start()
	if err == nil {
		err = s.possible(t, drop)
	}
	if err != nil {
		return 0, err
	}
	if !simulate {
		return s.normalPower(t, drop), nil
	}
	// Each block of draws has its own random numbers, so that the number of processors changes nothing.
	const block = 250
	blocks := (draws + block - 1) / block
	var next, found atomic.Int64
	var workers sync.WaitGroup
	for range min(blocks, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < blocks; i = int(next.Add(1)) - 1 {
				rng := rand.New(rand.NewPCG(r.Seed, uint64(i)))
				for range min(block, draws-i*block) {
					if t.finds(s.draw(t, drop, rng), len(s.cases)) {
						found.Add(1)
					}
				}
			}
		})
	}
	workers.Wait()
	return float64(found.Load()) / float64(draws), nil
}

// possible returns an error for a drop that neither the mean of the base nor the expected mean can have. The
// former may be larger: a drop of more than the latter is one to 0.
func (s *Simulator) possible(t DropTest, drop float64) error {
	largest := s.observed
	if t.Rise {
		largest = 1 - s.observed
	}
	largest = max(largest, s.most(t))
	if drop >= 0 && (!s.binary || drop <= largest+rounding) {
		return nil
	}
	return fmt.Errorf("a drop of %v of a mean of %.4g is %w: want 0 to %.4g", drop, s.observed, ErrImpossible, largest)
}

// Smallest returns the smallest drop that the test finds with this probability. ok is false if it
// finds no drop so often.
func (s *Simulator) Smallest(t DropTest, power float64, r Resampling) (drop float64, ok bool, err error) {
	low, high := 0.0, s.most(t)
	if p, err := s.Power(t, high, r); err != nil || p < power {
		return 0, false, err
	}
	const exact, most = 100, 30 // parts of the result, to which the simulations are not more exact, and halvings
	for i := 0; i < most && high-low > high/exact; i++ {
		mid := (low + high) / 2
		p, err := s.Power(t, mid, r)
		if err != nil {
			return 0, false, err
		}
		if p < power {
			low = mid
		} else {
			high = mid
		}
	}
	return high, true, nil
}

// draw draws the runs of both samples.
func (s *Simulator) draw(t DropTest, drop float64, rng *rand.Rand) strata {
	list := make(strata, len(s.cases))
	for i, c := range s.cases {
		v := make([]float64, c.base+c.other)
		list[i] = stratum{v, c.base}
		if !s.binary {
			for j := range v {
				v[j] = c.mean + s.residuals[rng.IntN(len(s.residuals))]
				if j >= c.base {
					v[j] -= t.worse(-drop)
				}
			}
			continue
		}
		rate := c.rate(rng)
		for j := range v {
			if j == c.base {
				rate = s.dropped(t, rate, drop)
			}
			if rng.Float64() < rate {
				v[j] = 1
			}
		}
	}
	return list
}

func (c simulated) rate(rng *rand.Rand) float64 {
	switch {
	case c.a+c.b == 0:
		return c.mean
	case c.a == 0 || c.b == 0:
		return c.expected()
	}
	return distuv.Beta{Alpha: c.a, Beta: c.b, Src: rng}.Rand()
}

// dropped returns the rate of a case after a drop of the mean.
func (s *Simulator) dropped(t DropTest, rate, drop float64) float64 {
	if drop == 0 {
		return rate
	}
	if t.Rise {
		return 1 - (1-rate)*max(0, 1-drop/(1-s.mean))
	}
	return rate * max(0, 1-drop/s.mean)
}

// normalPower returns the power for many cases: the difference is normal around the drop, and the
// test finds it beyond the quantile with the variance of the assignments ([stratum.variance]).
func (s *Simulator) normalPower(t DropTest, drop float64) float64 {
	var assigned, actual float64 // variances of the sum
	for _, c := range s.cases {
		n, m := float64(c.base), float64(c.other)
		base, other, gap := s.variances(c, t, drop)
		actual += base/n + other/m
		assigned += ((n*base+m*other)/(n+m) + gap*gap*n*m/(n+m)/(n+m-1)) * (1/n + 1/m)
	}
	k := float64(len(s.cases))
	needed := max(t.Least, -distuv.UnitNormal.Quantile(t.alpha())*math.Sqrt(assigned)/k)
	if t.Most != nil {
		needed = min(needed, *t.Most)
	}
	return distuv.UnitNormal.CDF((drop - needed) / max(math.Sqrt(actual)/k, rounding))
}

// variances returns the expected variances of a run of a case in both samples, and the change of its
// mean.
func (s *Simulator) variances(c simulated, t DropTest, drop float64) (base, other, gap float64) {
	if !s.binary {
		return s.square, s.square, drop
	}
	// For a rate x of a case, p is the mean of x, and square that of x².
	p := c.expected()
	square := p * p
	if n := c.a + c.b; n > 0 {
		square = p * (c.a + 1) / (n + 1)
	}
	// A rate a + b·x has the variance of a run (a+bx)(1−a−bx).
	a := s.dropped(t, 0, drop)
	b := s.dropped(t, 1, drop) - a
	after := a + b*p
	return p - square, after - (a*a + 2*a*b*p + b*b*square), p - after
}
