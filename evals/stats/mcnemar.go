package stats

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// Discordant returns the cases that succeeded in only one of two samples: those that
// broke, in the base alone, and those that got fixed, in the other alone, both in the
// order of the base. Each case must have one run in each sample, and all values must
// be 0 or 1. What only one sample has is left out, as by [Pair].
func Discordant(base, other *Sample) (broke, fixed []string, err error) {
	for _, s := range []*Sample{base, other} {
		if _, err := successes(s.rows); err != nil {
			return nil, nil, err
		}
		for _, runs := range s.cases {
			if len(runs) > 1 {
				return nil, nil, fmt.Errorf("case %q has %d runs, and discordant pairs are of one each: compare the means of Pair", runs[0].Case, len(runs))
			}
		}
	}
	p, err := Pair(base, other)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range p.Difference.rows {
		switch r.Value {
		case -1:
			broke = append(broke, r.Case)
		case 1:
			fixed = append(fixed, r.Case)
		}
	}
	return broke, fixed, nil
}

// McNemar compares two rates of the same independent cases by the numbers of discordant
// pairs (McNemar, "Note on the sampling error of the difference between correlated
// proportions or percentages", Psychometrika 12, 1947). It returns the two-sided
// probability of numbers at least as unequal, where each pair might as well have been
// the other way round: exact is twice the smaller tail of the binomial distribution, 1
// at most; midP counts what was seen by half only, so that it finds more, and rarely
// more than it should (Fagerland, Lydersen & Laake, "The McNemar test for binary
// matched-pairs data", BMC Medical Research Methodology 13, 2013). Without a discordant
// pair both are 1.
func McNemar(onlyBase, onlyOther int) (exact, midP float64, err error) {
	if onlyBase < 0 || onlyOther < 0 {
		return 0, 0, fmt.Errorf("McNemar's test of %d and %d discordant pairs: counts are 0 or more", onlyBase, onlyOther)
	}
	fewer := float64(min(onlyBase, onlyOther))
	b := distuv.Binomial{N: float64(onlyBase) + float64(onlyOther), P: 0.5}
	return min(1, 2*b.CDF(fewer)), b.CDF(fewer) + b.CDF(fewer-1), nil
}
