package stats

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

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
