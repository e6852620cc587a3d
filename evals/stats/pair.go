package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
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
	others := other.byCase()
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
	if err := cmp.Or(base.check(), other.check()); err != nil {
		return Estimate{}, err
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

// McNemar compares two rates of the same independent cases by the numbers of discordant pairs
// (McNemar, "Note on the sampling error of the difference between correlated proportions or
// percentages", Psychometrika 12, 1947). It returns the two-sided probability of numbers at least
// as unequal if both directions of a pair are equally likely. exact is twice the smaller tail of
// the binomial distribution, at most 1. midP counts the observed numbers by half: it finds more
// and is rarely too liberal (Fagerland, Lydersen & Laake, "The McNemar test for binary
// matched-pairs data", BMC Medical Research Methodology 13, 2013). Without a discordant pair both
// are 1.
func McNemar(onlyBase, onlyOther int) (exact, midP float64, err error) {
	if onlyBase < 0 || onlyOther < 0 {
		return 0, 0, fmt.Errorf("McNemar's test of %d and %d discordant pairs: counts are 0 or more", onlyBase, onlyOther)
	}
	fewer := float64(min(onlyBase, onlyOther))
	b := distuv.Binomial{N: float64(onlyBase) + float64(onlyOther), P: 0.5}
	return min(1, 2*b.CDF(fewer)), b.CDF(fewer) + b.CDF(fewer-1), nil
}

// Holm returns p-values that keep the probability of any false finding below the level at which
// they are read, for any dependence between the comparisons: the i-th smallest of m times m−i+1,
// at least the one before and at most 1 (Holm, "A simple sequentially rejective multiple test
// procedure", Scandinavian Journal of Statistics 6, 1979). The order is that of p. Holm returns an
// error for a value that is not between 0 and 1.
func Holm(p []float64) ([]float64, error) {
	order := make([]int, len(p))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("p-value %d of %d is %v: it must lie between 0 and 1", i+1, len(p), v)
		}
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted, lowest := make([]float64, len(p)), 0.0
	for rank, i := range order {
		lowest = max(lowest, p[i]*float64(len(p)-rank))
		adjusted[i] = min(1, lowest)
	}
	return adjusted, nil
}
