package stats

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Kappa returns Cohen's kappa of two raters and its interval. counts[i][j] is the number of items that
// the first rater puts in category i and the second in category j (Cohen, "A coefficient of agreement for
// nominal scales", Educational and Psychological Measurement 20, 1960). The interval is κ ± z·SE, at
// most 1, with the standard error for large samples of Fleiss, Cohen & Everitt ("Large sample standard errors of
// kappa and weighted kappa", Psychological Bulletin 72, 1969). It needs independent items, and is too
// narrow for few of them or for nearly equal raters. Kappa returns an error if both raters use one and
// the same category only.
func Kappa(counts [][]int, level float64) (kappa float64, ci Interval, err error) {
	tail, err := tailOf(level)
	if err != nil {
		return 0, Interval{}, err
	}
	n, rows, columns := 0.0, make([]float64, len(counts)), make([]float64, len(counts))
	for i, row := range counts {
		if len(row) != len(counts) {
			return 0, Interval{}, fmt.Errorf("kappa: row %d has %d categories, want %d", i, len(row), len(counts))
		}
		for j, c := range row {
			if c < 0 {
				return 0, Interval{}, fmt.Errorf("kappa: the count %d of row %d is negative", c, i)
			}
			n, rows[i], columns[j] = n+float64(c), rows[i]+float64(c), columns[j]+float64(c)
		}
	}
	observed, chance := 0.0, 0.0
	for i := range counts {
		observed += float64(counts[i][i]) / n
		chance += rows[i] / n * (columns[i] / n)
	}
	if !(chance < 1) {
		return 0, Interval{}, errors.New("kappa: undefined without two categories: label more items")
	}
	kappa = (observed - chance) / (1 - chance)
	diagonal, rest := 0.0, 0.0
	for i := range counts {
		for j := range counts {
			p := float64(counts[i][j]) / n
			if i == j {
				d := 1 - (rows[i]+columns[i])/n*(1-kappa)
				diagonal += p * d * d
			} else {
				d := (columns[i] + rows[j]) / n
				rest += p * d * d
			}
		}
	}
	c := kappa - chance*(1-kappa)
	se := math.Sqrt(max(0, diagonal+(1-kappa)*(1-kappa)*rest-c*c)/n) / (1 - chance)
	z := -distuv.UnitNormal.Quantile(tail)
	return kappa, Interval{max(-1, kappa-z*se), min(1, kappa+z*se)}, nil
}

// Binary is a number of successes in a number of trials.
type Binary struct{ Successes, Trials int }

// CorrectedRate returns the rate of positive items that a binary grader with errors would count without
// them, and its interval. positive counts the items that the grader finds positive, sensitivity those
// among items that are positive by labels of people, and specificity the items that it finds negative
// among those that are negative by labels. The rate is (p̂ + specificity − 1) / (sensitivity + specificity
// − 1), between 0 and 1 (Rogan & Gladen, "Estimating prevalence from the results of a screening test",
// American Journal of Epidemiology 107, 1978). The interval is that of Lang & Reiczigel ("Confidence
// limits for prevalence of disease adjusted for estimated sensitivity and specificity", Preventive
// Veterinary Medicine 113, 2014). It needs independent items. With labels of some or all of the counted items it
// is wider than needed: it covered .99 to 1 in simulations.
// CorrectedRate returns an error for a grader that is not better than chance.
func CorrectedRate(positive, sensitivity, specificity Binary, level float64) (rate float64, ci Interval, err error) {
	tail, err := tailOf(level)
	if err != nil {
		return 0, Interval{}, err
	}
	for _, b := range []Binary{positive, sensitivity, specificity} {
		if b.Successes < 0 || b.Trials < 1 || b.Successes > b.Trials {
			return 0, Interval{}, fmt.Errorf("%d successes in %d trials: want 1 trial or more, and no more successes than trials", b.Successes, b.Trials)
		}
	}
	// adjusted returns the rate and the number after some more trials, half of them successes.
	adjusted := func(b Binary, more float64) (p, n float64) {
		n = float64(b.Trials) + more
		return (float64(b.Successes) + more/2) / n, n
	}
	z := -distuv.UnitNormal.Quantile(tail)
	corrected := func(p, se, sp float64) float64 { return (p + sp - 1) / (se + sp - 1) }
	p, _ := adjusted(positive, 0)
	se, _ := adjusted(sensitivity, 0)
	sp, _ := adjusted(specificity, 0)
	if !(se+sp > 1) {
		return 0, Interval{}, fmt.Errorf("sensitivity %v and specificity %v: the grader is not better than chance, so its rate cannot be corrected", se, sp)
	}
	rate = min(1, max(0, corrected(p, se, sp)))
	p, n := adjusted(positive, z*z)
	se, nSe := adjusted(sensitivity, 2)
	sp, nSp := adjusted(specificity, 2)
	r := corrected(p, se, sp)
	varSe, varSp := se*(1-se)/nSe, sp*(1-sp)/nSp
	middle := r + 2*z*z*(r*varSe-(1-r)*varSp)
	half := z * math.Sqrt(p*(1-p)/n+r*r*varSe+(1-r)*(1-r)*varSp) / (se + sp - 1)
	return rate, Interval{min(1, max(0, middle-half)), max(0, min(1, middle+half))}, nil
}
