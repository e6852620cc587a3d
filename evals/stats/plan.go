package stats

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// PairedRates are the shares of the cases of which one run passes only in the base, and only in the
// other sample.
type PairedRates struct{ OnlyBase, OnlyOther float64 }

// PlannedRates returns the shares for single runs of cases whose mean rate changes from rate by
// difference. ICC is the correlation of two runs of a case, 0 if all cases have the same
// rate and 1 if all runs of a case are equal. The rate x of a case becomes x·(1+difference/rate)
// for a drop, and 1−x is reduced in proportion for a rise. PlannedVariance returns the variance of
// the difference of the case means of trials runs each.
//
// PlannedRates returns an error for values that are impossible together.
func PlannedRates(rate, icc, difference float64) (PairedRates, error) {
	if err := checkPlan(rate, icc, difference); err != nil {
		return PairedRates{}, err
	}
	before, square, share := planned(rate, icc, difference)
	// The rates of a case fail to pass by chance and by the change: E[x(1−x')] and E[x'(1−x)] for x' = share·x.
	p := PairedRates{before - share*square, share*before - share*square}
	if difference > 0 {
		p.OnlyBase, p.OnlyOther = p.OnlyOther, p.OnlyBase
	}
	return p, nil
}

// PlannedVariance returns the variance over cases of the difference of the means of trials runs in each sample; see
// [PlannedRates].
func PlannedVariance(rate, icc, difference float64, trials int) (float64, error) {
	err := checkPlan(rate, icc, difference)
	if trials < 1 {
		err = cmp.Or(err, fmt.Errorf("%d trials: want 1 or more", trials))
	}
	if err != nil {
		return 0, err
	}
	before, square, share := planned(rate, icc, difference)
	between := (1 - share) * (1 - share) * (square - before*before)
	within := before - square + share*before - share*share*square
	return between + within/float64(trials), nil
}

// planned returns the mean and the mean square of the rates of cases, or of 1 less the rates for a rise, and
// what remains of a rate.
func planned(rate, icc, difference float64) (mean, square, share float64) {
	mean = rate
	if difference > 0 {
		mean = 1 - rate
	}
	return mean, mean*mean + icc*mean*(1-mean), max(0, 1-math.Abs(difference)/mean) // 1−0.9 is less than 0.1
}

func checkPlan(rate, icc, difference float64) error {
	switch {
	case !(rate >= 0 && rate <= 1):
		return fmt.Errorf("rate %v: want 0 to 1", rate)
	case !(icc >= 0 && icc <= 1):
		return fmt.Errorf("icc %v: want 0 to 1", icc)
	case difference == 0 || !(rate+difference >= 0 && rate+difference <= 1):
		return fmt.Errorf("a change of %v of the rate %v: the rate would become %.4g: want a change from %.4g to %.4g other than 0", difference, rate, rate+difference, 0-rate, 1-rate)
	}
	return nil
}

// PlannedCases returns the number of cases of trials runs each in both samples, 2 or more, from which on
// [Sample.SignFlip] finds the difference of [PlannedRates] with the power of the test; see [Test.PairedCases]. The
// rates of cases have a beta distribution. With more than 200 runs of a case, the number is that of 200.
func (t Test) PlannedCases(rate, icc, difference float64, trials int) (int, error) {
	err := checkPlan(rate, icc, difference)
	if trials < 2 {
		err = cmp.Or(err, fmt.Errorf("%d trials: want 2 or more, and for single runs [PlannedRates]", trials))
	}
	if err != nil {
		return 0, err
	}
	return t.casesOf([]changes{plannedChanges(rate, icc, difference, trials)}, difference)
}

// plannedChanges returns the changes of cases with rates of a beta distribution.
func plannedChanges(rate, icc, difference float64, trials int) changes {
	const most = 200 // more runs need fewer cases
	trials = min(trials, most)
	mean, _, share := planned(rate, icc, difference)
	c := changes{p: lossesOf(mean, icc, share, trials), step: 1}
	for i := range c.p {
		c.values = append(c.values, float64(i-trials))
	}
	return c
}

// lossesOf returns the probabilities that trials runs of a case pass −trials to trials times less often after
// the change, for rates of cases with a beta distribution of this mean and correlation, of which the share
// remains.
func lossesOf(mean, icc, share float64, trials int) []float64 {
	// The mean of x to the n times 1−x to the m is passed[n]·failed[m]/all[n+m], as in Pólya's urn.
	passed, failed, all := urn(mean, icc, trials), urn(1-mean, icc, trials), urn(1, icc, trials)
	choose := make([][]float64, trials+1)
	for n := range choose {
		for k := range n + 1 {
			choose[n] = append(choose[n], logChoose(n, k))
		}
	}
	varies := math.Log(1 - icc)
	p := make([]float64, 2*trials+1)
	for before := range trials + 1 {
		for after := range trials + 1 {
			factor := choose[trials][before] + choose[trials][after] + logPower(share, after)
			// The failures after the change are those of the rate x, and those of the passes that it loses.
			for same := range trials - after + 1 {
				lost := trials - after - same
				n, m := before+after+lost, trials-before+same
				weight := passed[n] + failed[m] - all[n+m] + factor + choose[trials-after][same] + logPower(1-share, lost)
				if n > 0 && m > 0 {
					weight += varies // which the first factors omit
				}
				p[before-after+trials] += math.Exp(weight)
			}
		}
	}
	return p
}

// urn returns the logarithms of the products of 0 to 2·trials factors of Pólya's urn.
func urn(rate, icc float64, trials int) []float64 {
	log := make([]float64, 2*trials+1)
	for i := range 2 * trials {
		factor := rate*(1-icc) + float64(i)*icc
		if i == 0 {
			factor = rate // without 1−icc, which may be 0
		}
		log[i+1] = log[i] + math.Log(factor)
	}
	return log
}

// logPower returns the logarithm of x to the n.
func logPower(x float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(n) * math.Log(x)
}

// Changing returns the shares for a difference, other − base, if this share of the cases changes, or
// the difference if that is more.
func Changing(share, difference float64) PairedRates {
	share = max(share, math.Abs(difference))
	return PairedRates{(share - difference) / 2, (share + difference) / 2}
}

// power returns the probability that McNemar's mid-p test of n cases finds the difference, in its
// direction. With many cases that change it is that of the normal distribution (Connor, "Sample size
// for testing differences in proportions for the paired-sample design", Biometrics 43, 1987).
func (p PairedRates) power(n int, alpha float64) float64 {
	discordant := min(1, p.OnlyBase+p.OnlyOther)
	const many = 3000
	if change := float64(n) * discordant; change > many {
		d := math.Abs(p.OnlyBase - p.OnlyOther)
		z := -distuv.UnitNormal.Quantile(alpha / 2)
		return distuv.UnitNormal.CDF((d*math.Sqrt(float64(n)) - z*math.Sqrt(discordant)) / math.Sqrt(max(discordant-d*d, rounding)))
	}
	more := max(p.OnlyBase, p.OnlyOther) / discordant
	all := distuv.Binomial{N: float64(n), P: discordant}
	const far = 9 // standard deviations
	mid, width := float64(n)*discordant, far*math.Sqrt(float64(n)*discordant*(1-discordant))+far
	found := 0.0
	fewest := 0 // of the direction with fewer cases, among k
	for k := max(0, int(mid-width)); k <= min(n, int(mid+width)); k++ {
		// The largest number of cases against the difference with which the test finds it; it grows with k.
		b := distuv.Binomial{N: float64(k), P: 0.5}
		midP := func(x int) float64 { return b.CDF(float64(x)) + b.CDF(float64(x-1)) }
		if k == 0 {
			continue
		}
		for fewest < k && midP(fewest) < alpha {
			fewest++
		}
		for fewest > 0 && midP(fewest-1) >= alpha {
			fewest--
		}
		if fewest == 0 {
			continue
		}
		share := 1.0 // of the samples with k cases that change; gonum has none if all change
		if discordant < 1 {
			share = all.Prob(float64(k))
		} else if k < n {
			continue
		}
		found += share * distuv.Binomial{N: float64(k), P: 1 - more}.CDF(float64(fewest-1))
	}
	return min(1, found)
}

// CasesNeeded returns the number of cases from which on [McNemar]'s mid-p test finds the difference
// with the power of the test. The power of the exact distribution is not monotone: one more case
// can reduce it a little.
func (p PairedRates) CasesNeeded(t Test) (int, error) {
	t, err := t.complete(1)
	switch {
	case err != nil:
		return 0, err
	case !(p.OnlyBase >= 0 && p.OnlyOther >= 0 && p.OnlyBase+p.OnlyOther <= 1+rounding) || p.OnlyBase == p.OnlyOther:
		return 0, fmt.Errorf("cases needed for the shares %v and %v of cases that change: want different shares of 0 or more, together at most 1", p.OnlyBase, p.OnlyOther)
	}
	enough := func(n int) bool { return p.power(n, t.Alpha) >= t.Power }
	n := leastCases(1, enough)
	if n > MaxCases {
		return 0, tooSmall(p.OnlyOther - p.OnlyBase)
	}
	return n, nil
}

// leastCases returns the number of cases, from least on, from which on the power, which is not monotone, is
// enough. It is above MaxCases if that many are too few.
func leastCases(least int, enough func(cases int) bool) int {
	n := least + sort.Search(MaxCases, func(i int) bool { return enough(least + i) })
	const smooth = 4000 // cases, from which on a step of the power is negligible
	if n < smooth {
		for more := n + n/5 + 20; more > n; more-- {
			if !enough(more) {
				return more + 1
			}
		}
	}
	return n
}

func tooSmall(difference float64) error {
	return fmt.Errorf("cases needed to find a difference of %v: more than %d; look for a larger one", difference, MaxCases)
}

// Detectable returns the smallest difference that n cases find with the power of the test, if the share
// of cases that change stays, or is the difference if that is more. ok is false if they find none.
func (p PairedRates) Detectable(n int, t Test) (difference float64, ok bool, err error) {
	t, err = t.complete(1)
	if err != nil {
		return 0, false, err
	}
	if n < 1 || n > MaxCases {
		return 0, false, fmt.Errorf("difference that %d cases find: there must be from 1 to %d", n, MaxCases)
	}
	change := p.OnlyBase + p.OnlyOther
	at := func(d float64) float64 {
		return Changing(change, d).power(n, t.Alpha)
	}
	if at(1) < t.Power {
		return 0, false, nil
	}
	low, high := 0.0, 1.0
	for mid := high / 2; low < mid && mid < high; mid = (low + high) / 2 {
		if at(mid) < t.Power {
			low = mid
		} else {
			high = mid
		}
	}
	return high, true, nil
}
