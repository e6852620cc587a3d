package stats

import (
	"cmp"
	"fmt"
	"slices"
)

// Bonferroni returns p-values of as many comparisons, each times their number. Beyond
// a level they keep the probability of any false finding below it (Dunn, "Multiple
// comparisons among means", JASA 56, 1961). [Holm] promises the same and finds more.
//
// This and the other corrections return p-values in the order of those they get, 1 at
// most; of none they make none. What is not between 0 and 1 is an error.
func Bonferroni(p []float64) ([]float64, error) {
	return adjust(p, func(p []float64) {
		for i := range p {
			p[i] *= float64(len(p))
		}
	})
}

// Holm returns p-values that keep the probability of any false finding below the
// level at which they are read, for any dependence between the comparisons: the i-th
// smallest of m times m−i+1, and no less than the one before (Holm, "A simple
// sequentially rejective multiple test procedure", Scandinavian Journal of Statistics
// 6, 1979).
func Holm(p []float64) ([]float64, error) {
	return adjust(p, func(p []float64) {
		least := 0.0
		for i := range p {
			least = max(least, p[i]*float64(len(p)-i))
			p[i] = least
		}
	})
}

// BenjaminiHochberg returns p-values that keep the expected part of false ones among
// the findings below the level at which they are read, for independent comparisons:
// the i-th smallest of m times m/i, and no more than the one after (Benjamini &
// Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
// Society B 57, 1995).
func BenjaminiHochberg(p []float64) ([]float64, error) {
	return adjust(p, func(p []float64) {
		most := 1.0
		for i := len(p) - 1; i >= 0; i-- {
			most = min(most, p[i]*float64(len(p))/float64(i+1))
			p[i] = most
		}
	})
}

// adjust lets f change the p-values while they are sorted.
func adjust(p []float64, f func(sorted []float64)) ([]float64, error) {
	order := make([]int, len(p))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("p-value %d of %d is %v: it must lie between 0 and 1", i+1, len(p), v)
		}
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	sorted := slices.Sorted(slices.Values(p))
	f(sorted)
	adjusted := make([]float64, len(p))
	for rank, i := range order {
		adjusted[i] = min(1, sorted[rank])
	}
	return adjusted, nil
}
