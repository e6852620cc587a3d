package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson returns the interval of a rate after so many successes in n independent
// trials: (p̂ + z²/2n ± z·√(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n) with the quantile z of
// the normal distribution (Wilson, "Probable inference, the law of succession, and
// statistical inference", JASA 22, 1927).
func Wilson(successes, n int, level float64) (Interval, error) {
	if n < 1 || successes < 0 || successes > n {
		return Interval{}, fmt.Errorf("Wilson interval of %d successes in %d trials: there must be a trial, and as many successes at most", successes, n)
	}
	tail, err := tailOf(level)
	if err != nil {
		return Interval{}, err
	}
	return wilson(float64(successes)/float64(n), float64(n), tail), nil
}

// Wilson returns the interval of [Wilson] of the rows, which takes them for
// independent trials. All values must be 0 or 1.
func (s *Sample) Wilson(level float64) (Interval, error) {
	c, err := successes(s.rows)
	if err != nil {
		return Interval{}, err
	}
	return Wilson(c, len(s.rows), level)
}

// ClusterWilson returns Wilson's interval of the rate with the effective number of
// trials in place of N: N over the design effect, which is the square of the ratio of
// the standard errors of [Sample.Cluster] and [Sample.Naive]; times the square of the
// ratio of the quantiles of Student's t with N−1 and C−1 degrees of freedom; N at most.
// The number is that of Korn & Graubard ("Confidence intervals for proportions with
// small expected number of positive counts estimated from survey data", Survey
// Methodology 24, 1998), put into Wilson's interval as by Franco, Little, Louis & Slud
// ("Comparative study of confidence intervals for proportions in complex sample
// surveys", Journal of Survey Statistics and Methodology 7, 2019). Where each row is a
// cluster it is [Sample.Wilson].
//
// Where all values are equal, nothing tells how alike the rows of a cluster are: then
// each cluster counts as one trial. All values must be 0 or 1, in two clusters at
// least.
func (s *Sample) ClusterWilson(level float64) (Interval, error) {
	tail, err := tailOf(level)
	if err != nil {
		return Interval{}, err
	}
	c, err := successes(s.rows)
	if err != nil {
		return Interval{}, err
	}
	naive, err := s.Naive()
	if err != nil {
		return Interval{}, err
	}
	clustered, err := s.Cluster()
	if err != nil {
		return Interval{}, err
	}
	if c == 0 || c == len(s.rows) {
		return wilson(clustered.Value, float64(len(s.clusters)), tail), nil
	}
	ratio := naive.SE / clustered.SE * quantileT(naive.DF, tail) / quantileT(clustered.DF, tail)
	return wilson(clustered.Value, float64(len(s.rows))*min(1, ratio*ratio), tail), nil
}

// wilson returns the interval of the rate p among n trials, of which there may be
// parts. The ends are the two roots x of (p−x)² = z²·x(1−x)/n, in a form that keeps 0
// and 1 as they are.
func wilson(p, n, tail float64) Interval {
	z := distuv.UnitNormal.Quantile(tail)
	z2 := z * z / n
	low := func(p float64) float64 {
		return p * p / (p + z2/2 + math.Sqrt(z2*(p*(1-p)+z2/4)))
	}
	return Interval{low(p), 1 - low(1-p)}
}
