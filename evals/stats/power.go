package stats

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Test is the level and the power of a comparison. Zero fields select the usual values.
type Test struct {
	// Alpha is the probability of finding a difference, in either direction, if there is none; 0
	// means 0.05.
	Alpha float64

	// Power is the probability of finding an existing difference; 0 means 0.8. It must be above
	// Alpha.
	Power float64
}

// CasesNeeded returns the number of cases, at least 2, that a t test of their mean needs to find
// a difference if a case has that variance: the smallest n with
//
// \tP(T > t) ≥ Power, where T is noncentral t with n−1 degrees of freedom around
// \tdifference·√(n/variance), and t is exceeded by Student's t with probability Alpha/2
//
// (Cohen, "Statistical power analysis for the behavioral sciences", 1988; a finding in the wrong
// direction does not count). For pairs the variance is that of [Pairing.Difference]. For two
// independent samples of this size it is the sum of their variances, and the result is a case or
// two too high.
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

// DetectableDifference returns the smallest difference from 0 that a t test of this many cases
// finds; see [CasesNeeded].
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

// complete sets the defaults and checks the test.
func (t Test) complete(variance float64) (Test, error) {
	t.Alpha, t.Power = cmp.Or(t.Alpha, 0.05), cmp.Or(t.Power, 0.8)
	if !(t.Alpha > 0 && t.Alpha < t.Power && t.Power < 1) {
		return Test{}, fmt.Errorf("test of level %v with power %v: both must lie between 0 and 1, the power above the level", t.Alpha, t.Power)
	}
	if !(variance > 0) || math.IsInf(variance, 0) {
		return Test{}, fmt.Errorf("power at a variance of %v: it must be a number above 0", variance)
	}
	return t, nil
}

// farthest is the largest noncentrality that gonum computes exactly enough.
const farthest = 38.0

// powerOf returns the power of a test of n cases whose mean is noncentrality standard errors from
// 0, limited to farthest.
func (t Test) powerOf(n int, noncentrality float64) float64 {
	df := float64(n - 1)
	return 1 - distuv.NoncentralT{Nu: df, Mu: min(noncentrality, farthest)}.CDF(quantileT(df, t.Alpha/2))
}
