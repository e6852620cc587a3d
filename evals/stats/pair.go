package stats

import (
	"fmt"
	"math"
)

// Pairing compares two samples case by case.
type Pairing struct {
	// Difference has a row for each case of both samples: the mean of the values in the other
	// sample minus the mean in the base. Its errors are those of the paired difference
	// ([Sample.Naive] for independent cases, [Sample.Cluster] for clusters): the difficulty of a
	// case cancels out (Miller, "Adding error bars to evals", 2024).
	Difference *Sample

	// OnlyBase and OnlyOther are the cases of one sample only, in its order. They do not enter
	// Difference.
	OnlyBase, OnlyOther []string
}

// Pair compares a sample with a base. It returns an error if the samples share no case, or if a
// case is in different clusters.
func Pair(base, other *Sample) (Pairing, error) {
	others := make(map[string][]Row, len(other.cases))
	for _, runs := range other.cases {
		others[runs[0].Case] = runs
	}
	var p Pairing
	var rows []Row
	for _, runs := range base.cases {
		r := runs[0]
		pair, ok := others[r.Case]
		if !ok {
			p.OnlyBase = append(p.OnlyBase, r.Case)
			continue
		}
		if pair[0].Cluster != r.Cluster {
			return Pairing{}, fmt.Errorf("case %q is in the cluster %q of the base and in %q of the other sample: give it one", r.Case, r.Cluster, pair[0].Cluster)
		}
		delete(others, r.Case)
		rows = append(rows, asOne(runs, mean(pair)-mean(runs)))
	}
	for _, runs := range other.cases {
		if _, ok := others[runs[0].Case]; ok {
			p.OnlyOther = append(p.OnlyOther, runs[0].Case)
		}
	}
	if len(rows) == 0 {
		return Pairing{}, fmt.Errorf("pairs of %d and %d cases: %w: no case is in both: use the same names", len(base.cases), len(other.cases), ErrTooFew)
	}
	p.Difference = arrange(rows)
	return p, nil
}

// Unpaired returns the difference other − base of two estimates from independent samples, with
// the standard error √(SE₁²+SE₂²) and the degrees of freedom of Welch ("The generalization of
// 'Student's' problem when several different population variances are involved", Biometrika 34,
// 1947). One of the two errors must be above 0. For samples of the same cases, [Pair] is more
// powerful.
func Unpaired(base, other Estimate) (Estimate, error) {
	for _, e := range []Estimate{base, other} {
		if err := e.check(); err != nil {
			return Estimate{}, err
		}
	}
	se := math.Hypot(base.SE, other.SE)
	if se == 0 {
		return Estimate{}, fmt.Errorf("difference of two estimates without error: %w different values in either sample", ErrTooFew)
	}
	b, o := base.SE/se, other.SE/se
	return Estimate{
		Value: other.Value - base.Value,
		SE:    se,
		DF:    1 / (b*b*b*b/base.DF + o*o*o*o/other.DF),
	}, nil
}
