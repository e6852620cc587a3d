package stats

import (
	"cmp"
	"fmt"
	"math"
)

// Sequential tests paired differences one after the other, for a mean other than 0, and may be read
// after each of them.
type Sequential struct {
	// Effect is the planned size of the difference, above 0 and at most 1. Another size is found as
	// well, but later than possible.
	Effect float64

	// Alpha is the probability of ever finding a difference if there is none; 0 means 0.05.
	Alpha float64
}

// SequentialResult is the result of [Sequential.Test].
type SequentialResult struct {
	// E is the e-value of all differences. It is 1 on average, or less, if there is no difference.
	E float64

	// P is 1 over the largest E so far, at most 1. It may be read at any time.
	P float64

	// Decided is the number of differences after which E was 1/Alpha or more for the first time; 0
	// means undecided.
	Decided int

	// Higher is true if the evidence is for a mean above 0.
	Higher bool
}

// Test returns the result for differences, each from −1 to 1, in the order in which they came. The
// e-value is the mean of two products, of 1+λd and of 1−λd, which bet on a higher and on a lower mean
// (Waudby-Smith & Ramdas, "Estimating means of bounded random variables by betting", Journal of the
// Royal Statistical Society B 86, 2024). λ is Effect over the mean square of the differences
// before, which makes the product grow fastest if the mean is Effect. For differences of −1, 0 and 1
// it is a sequential probability ratio test of the discordant pairs (Wald, "Sequential
// tests of statistical hypotheses", Annals of Mathematical Statistics 16, 1945). If each difference is 0 on
// average, given those before, the probability that E ever reaches 1/Alpha is at most Alpha
// (Ville, "Étude critique de la notion de collectif", 1939).
func (s Sequential) Test(differences []float64) (SequentialResult, error) {
	alpha := cmp.Or(s.Alpha, 0.05)
	if !(s.Effect > 0 && s.Effect <= 1) || !(alpha > 0 && alpha < 1) {
		return SequentialResult{}, fmt.Errorf("sequential test of an effect of %v at the level %v: want an effect above 0 and at most 1, and a level between 0 and 1", s.Effect, alpha)
	}
	// Before the first differences, a quarter of the pairs are assumed to differ.
	const pairs, quarter, most = 10, 0.25, 0.95
	var higher, lower float64 // logarithms of the products
	squares, largest := pairs*quarter, 0.0
	r := SequentialResult{E: 1, P: 1}
	for i, d := range differences {
		if !(d >= -1 && d <= 1) {
			return SequentialResult{}, fmt.Errorf("difference %d is %v: want −1 to 1", i+1, d)
		}
		bet := min(most, s.Effect/(squares/float64(pairs+i)))
		higher += math.Log1p(bet * d)
		lower += math.Log1p(-bet * d)
		squares += d * d
		top := max(higher, lower)
		e := top + math.Log((math.Exp(higher-top)+math.Exp(lower-top))/2)
		largest = max(largest, e)
		if r.Decided == 0 && e >= -math.Log(alpha) {
			r.Decided = i + 1
			r.Higher = higher > lower
		}
		r.E = math.Exp(min(e, math.Log(MaxValue)))
	}
	if r.Decided == 0 {
		r.Higher = higher > lower
	}
	r.P = math.Exp(-largest)
	return r, nil
}
