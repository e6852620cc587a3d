package stats

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mean returns the mean of all values.
func (s *Sample) Mean() float64 { return mean(s.rows) }

// Estimate is a statistic with its standard error and the degrees of freedom of that error.
type Estimate struct {
	Value float64
	SE    float64
	DF    float64
}

// Naive returns the mean with the standard error of independent rows, √(Σ(x−x̄)²/(N−1)/N), and
// N−1 degrees of freedom. Some tools divide by N instead of N−1, which makes the error smaller by
// √((N−1)/N). Naive needs two rows.
func (s *Sample) Naive() (Estimate, error) {
	n := float64(len(s.rows))
	if n < 2 {
		return Estimate{}, fmt.Errorf("standard error of one row: %w: score at least two runs", ErrTooFew)
	}
	return Estimate{Value: s.Mean(), SE: math.Sqrt(scatter(s.rows) / (n - 1) / n), DF: n - 1}, nil
}

// ClusterCR0 returns the mean with the cluster-robust standard error √(Σ_c(Σ_i(x_ci−x̄))²)/N,
// without a correction for few clusters, and C−1 degrees of freedom for C clusters (Liang &
// Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73, 1986; for
// evals: Miller, "Adding error bars to evals", 2024). It needs two clusters.
func (s *Sample) ClusterCR0() (Estimate, error) {
	c := float64(len(s.clusters))
	if c < 2 {
		return Estimate{}, fmt.Errorf("clustered standard error of one cluster: %w: score at least two", ErrTooFew)
	}
	m := s.Mean()
	squares := total(s.clusters, func(rows []Row) float64 {
		residual := total(rows, func(r Row) float64 { return r.Value - m })
		const lost = 1e-15 // part of the values that rounding loses
		if math.Abs(residual) <= lost*total(rows, func(r Row) float64 { return math.Abs(r.Value) }) {
			return 0
		}
		return residual * residual
	})
	return Estimate{Value: m, SE: math.Sqrt(squares) / float64(len(s.rows)), DF: c - 1}, nil
}

// Cluster returns [Sample.ClusterCR0] with the standard error times √(C/(C−1)), which corrects
// for few clusters. It equals [Sample.Naive] if each row is a cluster.
func (s *Sample) Cluster() (Estimate, error) {
	e, err := s.ClusterCR0()
	if err == nil {
		e.SE *= math.Sqrt((e.DF + 1) / e.DF)
	}
	return e, err
}

// Interval is a range of values, both ends included.
type Interval struct{ Low, High float64 }

// T returns the interval Value ± t·SE that covers the estimated value in the given share of all
// samples, such as 0.95, with the quantile t of Student's distribution ("The probable error of a
// mean", Biometrika 6, 1908). Prefer [Sample.ClusterWilson] for rates near 0 or 1 and for equal
// values.
func (e Estimate) T(level float64) (Interval, error) {
	tail, err := tailOf(level)
	if err = cmp.Or(err, e.check()); err != nil {
		return Interval{}, err
	}
	half := quantileT(e.DF, tail) * e.SE
	return Interval{e.Value - half, e.Value + half}, nil
}

// check returns an error for an estimate that no function of this package returns.
func (e Estimate) check() error {
	if math.IsNaN(e.Value) || !(e.SE >= 0 && e.DF > 0) || math.IsInf(e.Value, 0) || math.IsInf(e.SE, 0) {
		return fmt.Errorf("estimate %v with standard error %v and %v degrees of freedom: the first must be a number, the second 0 or more, the third more than 0", e.Value, e.SE, e.DF)
	}
	return nil
}

// tailOf returns the probability beyond each end of an interval.
func tailOf(level float64) (float64, error) {
	tail := (1 - level) / 2
	if !(tail > 0 && tail < 0.5) {
		return 0, fmt.Errorf("interval of level %v: it must lie between 0 and 1; 0.95 is usual", level)
	}
	return tail, nil
}

// quantileT returns the value that Student's t exceeds with probability tail.
func quantileT(df, tail float64) float64 {
	if df > 1e8 {
		// Both agree to seven digits here; gonum's t loses more.
		return -distuv.UnitNormal.Quantile(tail)
	}
	return -distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(tail)
}

func scatter(rows []Row) float64 {
	m := mean(rows)
	return total(rows, func(r Row) float64 {
		d := r.Value - m
		return d * d
	})
}

// mean also divides the remainder of the first division and the rounding loss of the sum, so that
// the mean of equal values is that value.
func mean(rows []Row) float64 {
	n := float64(len(rows))
	sum, lost := compensated(rows, func(r Row) float64 { return r.Value })
	m := sum / n
	return m + (math.FMA(-m, n, sum)+lost)/n
}

func sumOf(rows []Row) float64 { return total(rows, func(r Row) float64 { return r.Value }) }

// total adds the results of value with compensation; see [New].
func total[T any](list []T, value func(T) float64) float64 {
	sum, lost := compensated(list, value)
	return sum + lost
}

// compensated returns a sum and its rounding loss. The sums of gonum depend on the addresses of the
// numbers.
func compensated[T any](list []T, value func(T) float64) (sum, lost float64) {
	for _, item := range list {
		x := value(item)
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
