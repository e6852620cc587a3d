package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// ErrNotRate reports a value outside 0 to 1 where a statistic needs rates.
var ErrNotRate = errors.New("not between 0 and 1")

// Wilson returns the interval of a rate of independent trials, with p̂ the share of successes in n
// rows: (p̂ + z²/2n ± z·√(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n) with the quantile z of the normal
// distribution (Wilson, JASA 22, 1927). All values must be 0 or 1.
func (s *Sample) Wilson(level float64) (Interval, error) {
	c, failed := successes(s.rows)
	tail, err := tailOf(level)
	if err = cmp.Or(failed, err); err != nil {
		return Interval{}, err
	}
	n := float64(len(s.rows))
	return wilson(float64(c)/n, n, tail), nil
}

// ClusterWilson returns Wilson's interval of the mean over cases ([Sample.CaseMeans]) with the
// effective number of trials 1+p̂(1−p̂)/SE². SE is the standard error of the case means by
// [Sample.Cluster], times the ratio of the quantiles of Student's t with C−1 degrees of freedom
// and with that number less 1, if it is above 1. Where all scores are 0 or 1, the number without the ratio
// is at most that of the runs. The method is
// that of Korn & Graubard ("Confidence intervals for proportions with small expected number of
// positive counts estimated from survey data", Survey Methodology 24, 1998), used in Wilson's
// interval as by Franco, Little, Louis & Slud ("Comparative study of confidence intervals for
// proportions in complex sample surveys", Journal of Survey Statistics and Methodology 7, 2019).
// The interval lies within 0 and 1. It equals [Sample.Wilson] if each row is a cluster.
//
// Equal values of 0 or 1 do not show the correlation within a cluster: then each cluster counts as one
// trial. All values must be between 0 and 1 ([ErrNotRate]), and there must be two clusters. The
// samples of [Sample.PassHatK] and [Sample.PassAtK] are such values.
func (s *Sample) ClusterWilson(level float64) (Interval, error) {
	tail, err := tailOf(level)
	if err = cmp.Or(err, s.rates()); err != nil {
		return Interval{}, err
	}
	return momentsOf(s.CaseMeans().clusters).wilson(s.trials, tail)
}

// rates checks that all values are between 0 and 1.
func (s *Sample) rates() error {
	for _, r := range s.rows {
		if !(r.Value >= 0 && r.Value <= 1) {
			return fmt.Errorf("case %q, epoch %d: the value %v is %w: this interval is for rates", r.Case, r.Epoch, r.Value, ErrNotRate)
		}
	}
	return nil
}

// trials returns the number of independent trials with this variance each whose mean has the
// standard error of the estimate, at most all. Without variance, each cluster is a trial.
func (e Estimate) trials(variance, all, tail float64) float64 {
	if !(variance > 0) {
		return e.DF + 1
	}
	n := min(1+variance/(e.SE*e.SE), all)
	if n <= 1 {
		return n
	}
	ratio := quantileT(n-1, tail) / quantileT(e.DF, tail)
	return 1 + (n-1)*min(1, ratio*ratio)
}

// wilson returns the interval of the rate p among n trials; n may be fractional. The ends are the
// roots x of (p−x)² = z²·x(1−x)/n, in a form that is exact at 0 and 1.
func wilson(p, n, tail float64) Interval {
	z := distuv.UnitNormal.Quantile(tail)
	z2 := z * z / n
	low := func(p float64) float64 {
		return p * p / (p + z2/2 + math.Sqrt(z2*(p*(1-p)+z2/4)))
	}
	return Interval{low(p), 1 - low(1-p)}
}

// Tango returns the score interval of the difference of two rates of the same cases, other − base
// (Tango, "Equivalence test and confidence interval for the difference in proportions for the
// paired-sample design", Statistics in Medicine 17, 1998). It keeps its level for few cases and for rare
// changes, and lies within −1 and 1.
//
// Several runs of a case count by their mean, and clusters by the effective number of pairs as in
// [Sample.ClusterWilson]: a case with the rates a and b has the share a(1−b) of pairs that only the
// base passes, and b(1−a) of those that only the other sample passes. All values must be between 0
// and 1 ([ErrNotRate]), and there must be two clusters.
func Tango(base, other *Sample, level float64) (Interval, error) {
	tail, err := tailOf(level)
	p, wrong := Pair(base, other)
	if err = cmp.Or(err, wrong, base.rates(), other.rates()); err != nil {
		return Interval{}, err
	}
	d, err := p.Difference.Cluster()
	if err != nil {
		return Interval{}, err
	}
	most := min(base.trials, other.trials)
	var lost, won float64
	strata, err := casesOf(base, other)
	for _, c := range strata {
		a, b := c.means()
		lost += a * (1 - b)
		won += b * (1 - a)
	}
	cases := float64(len(strata))
	lost, won = lost/cases, won/cases
	variance := lost + won - d.Value*d.Value
	const none = 1e-12 // rounding
	if variance < none {
		variance = 0
	}
	return tango(lost, won, d.trials(variance, most, tail), tail), err
}

// tango returns the interval for shares of discordant pairs among n, which may be fractional. The ends
// are the differences from which the observed one is a quantile of the normal distribution away, in
// standard errors under the hypothesis of that difference.
func tango(lost, won, n, tail float64) Interval {
	z := -distuv.UnitNormal.Quantile(tail)
	distance := func(d float64) float64 {
		// The root q of 2q² + Bq + C is the most likely share of lost pairs if won − lost is d.
		b, c := -won-lost+(2-won+lost)*d, -lost*d*(1-d)
		q := (math.Sqrt(max(0, b*b-8*c)) - b) / 4
		if v := 2*q + d*(1-d); v > 0 {
			return (won - lost - d) / math.Sqrt(v/n)
		}
		return math.Copysign(math.Inf(1), won-lost-d)
	}
	end := func(low, high, at float64) float64 {
		for range 60 { // halves the range to the last digit
			if mid := (low + high) / 2; distance(mid) > at {
				low = mid
			} else {
				high = mid
			}
		}
		return (low + high) / 2
	}
	d := won - lost
	return Interval{end(-1, d, z), end(d, 1, -z)}
}

// UnpairedRates returns the interval of the difference of two rates of independent trials, other −
// base, from Wilson's intervals of both (method 10 of Newcombe, "Interval estimation for the
// difference between independent proportions: comparison of eleven methods", Statistics in Medicine
// 17, 1998). The trials must be 1 or more, and no less than the successes.
func UnpairedRates(baseSuccesses, baseTrials, otherSuccesses, otherTrials int, level float64) (Interval, error) {
	tail, err := tailOf(level)
	for _, of := range [][2]int{{baseSuccesses, baseTrials}, {otherSuccesses, otherTrials}} {
		if of[0] < 0 || of[1] < 1 || of[0] > of[1] {
			err = cmp.Or(err, fmt.Errorf("%d successes in %d trials: want 1 trial or more, and no more successes than trials", of[0], of[1]))
		}
	}
	if err != nil {
		return Interval{}, err
	}
	a, b := float64(baseSuccesses)/float64(baseTrials), float64(otherSuccesses)/float64(otherTrials)
	i, j := wilson(a, float64(baseTrials), tail), wilson(b, float64(otherTrials), tail)
	return Interval{b - a - math.Hypot(b-j.Low, i.High-a), b - a + math.Hypot(j.High-b, a-i.Low)}, nil
}
