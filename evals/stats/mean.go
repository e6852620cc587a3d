package stats

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mean returns the mean of all values.
func (s *Sample) Mean() float64 { return mean(s.rows) }

// Naive returns [Moments.Naive] of the rows.
func (s *Sample) Naive() (Estimate, error) { return momentsOf(s.clusters).Naive() }

// ClusterCR0 returns [Moments.ClusterCR0] of the rows.
func (s *Sample) ClusterCR0() (Estimate, error) { return momentsOf(s.clusters).ClusterCR0() }

// Cluster returns [Moments.Cluster] of the rows.
func (s *Sample) Cluster() (Estimate, error) { return momentsOf(s.clusters).Cluster() }

// Estimate is a statistic with its standard error and the degrees of freedom of that error.
type Estimate struct {
	Value float64
	SE    float64
	DF    float64
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

func scatter(rows []Row) float64 { return momentsOf([][]Row{rows}).scatter() }

func mean(rows []Row) float64 { return sumOfRows(rows).mean(float64(len(rows))) }

func sumOf(rows []Row) float64 { return sumOfRows(rows).Value() }

func sumOfRows(rows []Row) (s Sum) {
	for _, r := range rows {
		s.Add(r.Value)
	}
	return s
}

// total returns the exact sum of the results of value, rounded once.
func total[T any](list []T, value func(T) float64) float64 {
	var s Sum
	for _, item := range list {
		s.Add(value(item))
	}
	return s.Value()
}
