package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson returns the interval of a rate of independent trials, with p̂ the share of successes in n
// rows: (p̂ + z²/2n ± z·√(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n) with the quantile z of the normal
// distribution (Wilson, JASA 22, 1927). All values must be 0 or 1.
func (s *Sample) Wilson(level float64) (Interval, error) {
	c, err := successes(s.rows)
	if err != nil {
		return Interval{}, err
	}
	tail, err := tailOf(level)
	if err != nil {
		return Interval{}, err
	}
	n := float64(len(s.rows))
	return wilson(float64(c)/n, n, tail), nil
}

// ClusterWilson returns Wilson's interval of the rate with the effective number of trials instead
// of N. That number is N over the design effect, which is the squared ratio of the standard
// errors of [Sample.Cluster] and [Sample.Naive], times the squared ratio of the quantiles of
// Student's t with N−1 and C−1 degrees of freedom, at most N. The number is that of Korn &
// Graubard ("Confidence intervals for proportions with small expected number of positive counts
// estimated from survey data", Survey Methodology 24, 1998), used in Wilson's interval as by
// Franco, Little, Louis & Slud ("Comparative study of confidence intervals for proportions in
// complex sample surveys", Journal of Survey Statistics and Methodology 7, 2019). It equals
// [Sample.Wilson] if each row is a cluster.
//
// Equal values do not show the correlation within a cluster: then each cluster counts as one
// trial. All values must be 0 or 1, and there must be two clusters.
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
