package stats

import (
	"cmp"
	"fmt"
	"slices"
)

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
