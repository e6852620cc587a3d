package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mean returns the mean of all values.
func (s *Sample) Mean() float64 { return mean(s.rows) }

// Variance returns the variance of the values, Σ(x−x̄)²/(N−1). It needs two rows.
func (s *Sample) Variance() (float64, error) {
	n := float64(len(s.rows))
	if n < 2 {
		return 0, fmt.Errorf("variance of one row: %w: score at least two runs", ErrTooFew)
	}
	return scatter(s.rows) / (n - 1), nil
}

// Estimate is a figure, its standard error, and the degrees of freedom of that.
type Estimate struct {
	Value float64
	SE    float64
	DF    float64
}

// Naive returns the mean with the standard error of independent rows,
// √(Σ(x−x̄)²/(N−1)/N), and N−1 degrees of freedom. The variance is that with N−1;
// some tools divide by N instead, which makes the error smaller by √((N−1)/N). It
// needs two rows.
func (s *Sample) Naive() (Estimate, error) {
	v, err := s.Variance()
	if err != nil {
		return Estimate{}, err
	}
	n := float64(len(s.rows))
	return Estimate{Value: s.Mean(), SE: math.Sqrt(v / n), DF: n - 1}, nil
}

// ClusterCR0 returns the mean with the cluster-robust standard error
// √(Σ_c(Σ_i(x_ci−x̄))²)/N, without a correction for few clusters, and C−1 degrees of
// freedom for C clusters (Liang & Zeger, "Longitudinal data analysis using
// generalized linear models", Biometrika 73, 1986; for evals: Miller, "Adding error
// bars to evals", 2024). It needs two clusters.
func (s *Sample) ClusterCR0() (Estimate, error) {
	c := float64(len(s.clusters))
	if c < 2 {
		return Estimate{}, fmt.Errorf("clustered standard error of one cluster: %w: score at least two", ErrTooFew)
	}
	m := s.Mean()
	squares := total(s.clusters, func(rows []Row) float64 {
		residual := total(rows, func(r Row) float64 { return r.Value - m })
		return residual * residual
	})
	return Estimate{Value: m, SE: math.Sqrt(squares) / float64(len(s.rows)), DF: c - 1}, nil
}

// Cluster is [Sample.ClusterCR0] with the standard error times √(C/(C−1)), which
// makes up for few clusters. Where each row is a cluster it is [Sample.Naive].
func (s *Sample) Cluster() (Estimate, error) {
	e, err := s.ClusterCR0()
	if err != nil {
		return Estimate{}, err
	}
	e.SE *= math.Sqrt((e.DF + 1) / e.DF)
	return e, nil
}

// ICC returns the intra-cluster correlation of the values: 1 where the rows of a
// cluster are equal, 0 where they are as different as those of two clusters; it can
// be slightly negative. It is the estimator of the analysis of variance,
// (MSB−MSW)/(MSB+(n₀−1)·MSW) with n₀ = (N−Σn_c²/N)/(C−1) (Donner, "A review of
// inference procedures for the intraclass correlation coefficient in the one-way
// random effects model", International Statistical Review 54, 1986). It needs two
// clusters, one of them of two rows, and values that differ.
func (s *Sample) ICC() (float64, error) {
	n, c := float64(len(s.rows)), float64(len(s.clusters))
	if c < 2 || n == c {
		return 0, fmt.Errorf("intra-cluster correlation of %v rows in %v clusters: %w: it needs two clusters, and one with two rows", n, c, ErrTooFew)
	}
	m := s.Mean()
	between := total(s.clusters, func(rows []Row) float64 {
		d := mean(rows) - m
		return float64(len(rows)) * d * d
	}) / (c - 1)
	within := total(s.clusters, scatter) / (n - c)
	if between+within == 0 {
		return 0, fmt.Errorf("intra-cluster correlation where all %v values are equal: %w different values", n, ErrTooFew)
	}
	size := (n - total(s.clusters, func(rows []Row) float64 { return float64(len(rows) * len(rows)) })/n) / (c - 1)
	return (between - within) / (between + (size-1)*within), nil
}

// Interval is what a figure lies between, both ends included.
type Interval struct{ Low, High float64 }

// T returns the interval Value ± t·SE that covers what is estimated in level of all
// samples, such as 0.95, by the quantile t of Student's distribution ("The probable
// error of a mean", Biometrika 6, 1908). For rates near 0 or 1, and those all of
// whose values are equal, [Sample.ClusterWilson] is the better one.
func (e Estimate) T(level float64) (Interval, error) {
	tail, err := tailOf(level)
	if err != nil {
		return Interval{}, err
	}
	if err := e.check(); err != nil {
		return Interval{}, err
	}
	half := quantileT(e.DF, tail) * e.SE
	return Interval{e.Value - half, e.Value + half}, nil
}

// check refuses an estimate that no function here returns.
func (e Estimate) check() error {
	if math.IsNaN(e.Value) || !(e.SE >= 0 && e.DF > 0) || math.IsInf(e.Value, 0) || math.IsInf(e.SE, 0) {
		return fmt.Errorf("estimate %v with standard error %v and %v degrees of freedom: the first must be a number, the second 0 or more, the third more than 0", e.Value, e.SE, e.DF)
	}
	return nil
}

// tailOf returns how much lies beyond each end of an interval.
func tailOf(level float64) (float64, error) {
	tail := (1 - level) / 2
	if !(tail > 0 && tail < 0.5) {
		return 0, fmt.Errorf("interval of level %v: it must lie between 0 and 1; 0.95 is usual", level)
	}
	return tail, nil
}

// quantileT returns what Student's t exceeds with probability tail.
func quantileT(df, tail float64) float64 {
	if df > 1e8 {
		// They are the same to seven digits here, and gonum's t loses more.
		return -distuv.UnitNormal.Quantile(tail)
	}
	return -distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(tail)
}

// scatter returns the sum of squared distances from the mean.
func scatter(rows []Row) float64 {
	m := mean(rows)
	return total(rows, func(r Row) float64 {
		d := r.Value - m
		return d * d
	})
}

// mean also divides what the first division leaves and what the sum lost, so that the
// mean of equal values is that value.
func mean(rows []Row) float64 {
	n := float64(len(rows))
	sum, lost := twoPart(rows, func(r Row) float64 { return r.Value })
	m := sum / n
	return m + (math.FMA(-m, n, sum)+lost)/n
}

// sumOf adds up the values.
func sumOf(rows []Row) float64 { return total(rows, func(r Row) float64 { return r.Value }) }

// total adds up what of returns, as New says.
func total[T any](list []T, of func(T) float64) float64 {
	sum, lost := twoPart(list, of)
	return sum + lost
}

// twoPart returns a sum and what was lost to rounding. gonum's sums will not do: they
// depend on where in memory the numbers lie.
func twoPart[T any](list []T, of func(T) float64) (sum, lost float64) {
	for _, item := range list {
		x := of(item)
		next := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			lost += sum - next + x
		} else {
			lost += x - next + sum
		}
		sum = next
	}
	return sum, lost
}
