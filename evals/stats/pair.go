package stats

import (
	"fmt"
	"math"
)

// Pairing is two samples held side by side, case by case.
type Pairing struct {
	// Difference has a row for each case that both samples have: the mean of the
	// case's values in the other sample minus that in the base. Its errors are those
	// of the paired difference ([Sample.Naive] with independent cases,
	// [Sample.Cluster] with clusters of cases): what makes a case hard for both
	// cancels out (Miller, "Adding error bars to evals", 2024).
	Difference *Sample

	// OnlyBase and OnlyOther are the cases that one sample lacks, in the order of the
	// sample that has them. They count for nothing in Difference.
	OnlyBase, OnlyOther []string
}

// Pair holds a sample against a base. They must have a case in common, and a case
// must be in the same cluster in both.
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
		return Pairing{}, fmt.Errorf("pairs of %d and %d cases: %w: none is in both; name the cases alike", len(base.cases), len(other.cases), ErrTooFew)
	}
	p.Difference = arrange(rows)
	return p, nil
}

// Unpaired returns the difference other − base of two estimates from independent
// samples, with the standard error √(SE₁²+SE₂²) and the degrees of freedom of Welch
// ("The generalization of 'Student's' problem when several different population
// variances are involved", Biometrika 34, 1947). One of the two must have an error
// above 0. Where both are of the same cases, [Pair] sees more.
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
