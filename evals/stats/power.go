package stats

import (
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Test says how sure a comparison is to be. Its zero value is the usual choice.
type Test struct {
	// Alpha is the probability of finding a difference, in either direction, where
	// none is; 0 stands for 0.05.
	Alpha float64

	// Power is the probability of finding the difference that is there; 0 stands for
	// 0.8. It must be above Alpha.
	Power float64
}

// MaxCases is the largest number of cases that questions about power are answered for.
const MaxCases = 1_000_000

// CasesNeeded returns how many cases, 2 at least, a t test of their mean needs to find
// a difference, if the value of a case has that variance: the smallest n with
//
//	P(T > t) ≥ Power, where T is noncentral t with n−1 degrees of freedom around
//	difference·√(n/variance), and t what Student's t exceeds with probability Alpha/2
//
// (Cohen, "Statistical power analysis for the behavioral sciences", 1988; finding it in
// the wrong direction does not count). For pairs the variance is that of
// [Pairing.Difference]. For two independent samples of so many cases each it is the sum
// of their variances, and the result a case or two too high. For several epochs or
// clusters it is that of [MeanVariance].
func CasesNeeded(difference, variance float64, t Test) (int, error) {
	t, err := t.complete(variance)
	if err != nil {
		return 0, err
	}
	if !(math.Abs(difference) > 0) || math.IsInf(difference, 0) {
		return 0, fmt.Errorf("cases needed to find a difference of %v: it must be a number, and not 0", difference)
	}
	n := 2 + sort.Search(MaxCases, func(i int) bool {
		n := i + 2
		return t.powerOf(n, math.Abs(difference)*math.Sqrt(float64(n)/variance)) >= t.Power
	})
	if n > MaxCases {
		return 0, fmt.Errorf("cases needed to find a difference of %v at a variance of %v: more than %d; look for a larger one", difference, variance, MaxCases)
	}
	return n, nil
}

// DetectableDifference returns the smallest difference from 0 that a t test of so many
// cases finds, in the words of [CasesNeeded].
func DetectableDifference(cases int, variance float64, t Test) (float64, error) {
	t, err := t.complete(variance)
	if err != nil {
		return 0, err
	}
	if cases < 2 || cases > MaxCases {
		return 0, fmt.Errorf("difference that %d cases find: there must be from 2 to %d", cases, MaxCases)
	}
	if t.powerOf(cases, farthest) < t.Power {
		return 0, fmt.Errorf("difference that %d cases find at level %v with power %v: %w cases to be that sure", cases, t.Alpha, t.Power, ErrTooFew)
	}
	low, high := 0.0, farthest
	for mid := high / 2; low < mid && mid < high; mid = (low + high) / 2 {
		if t.powerOf(cases, mid) < t.Power {
			low = mid
		} else {
			high = mid
		}
	}
	return high * math.Sqrt(variance/float64(cases)), nil
}

// MeanVariance returns the variance of the mean of n values with that variance and
// intra-class correlation: variance·(1+(n−1)·icc)/n (Kish, "Survey sampling", 1965).
// A case that runs n times has it; and where cases come in clusters of n, the number
// that [CasesNeeded] returns for it is that of clusters. [Sample.Variance] and
// [Sample.ICC] estimate what it needs.
func MeanVariance(variance, icc float64, n int) (float64, error) {
	v := variance * ((1 + float64(n-1)*icc) / float64(n))
	if n < 1 || !(variance > 0 && icc <= 1 && v >= 0) || math.IsInf(variance, 0) {
		return 0, fmt.Errorf("variance of the mean of %d values with variance %v and intra-class correlation %v: there must be a value, the variance a number above 0, and the correlation between −1/(n−1) and 1", n, variance, icc)
	}
	return v, nil
}

// complete fills in what was left out, and refuses what makes no sense.
func (t Test) complete(variance float64) (Test, error) {
	if t.Alpha == 0 {
		t.Alpha = 0.05
	}
	if t.Power == 0 {
		t.Power = 0.8
	}
	if !(t.Alpha > 0 && t.Alpha < t.Power && t.Power < 1) {
		return Test{}, fmt.Errorf("test of level %v with power %v: both must lie between 0 and 1, the power above the level", t.Alpha, t.Power)
	}
	if !(variance > 0) || math.IsInf(variance, 0) {
		return Test{}, fmt.Errorf("power at a variance of %v: it must be a number above 0", variance)
	}
	return t, nil
}

// farthest is the largest noncentrality for which gonum's noncentral t is more than an
// approximation.
const farthest = 38.0

// powerOf returns the power of a test of n cases whose mean is so many standard errors
// from 0, or less where that is more than farthest.
func (t Test) powerOf(n int, noncentrality float64) float64 {
	df := float64(n - 1)
	return 1 - distuv.NoncentralT{Nu: df, Mu: min(noncentrality, farthest)}.CDF(quantileT(df, t.Alpha/2))
}
