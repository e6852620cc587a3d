package evals_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/stats"
)

// valued returns a result with one run per case, in clusters of this size.
func valued(size int, values ...float64) *evals.Result {
	r := &evals.Result{}
	for i, v := range values {
		name := fmt.Sprint(i)
		r.Rows.Add(&evals.Row{Case: name, Cluster: fmt.Sprint("cluster ", i/size), Run: name, Scores: evals.NewByName(map[string]float64{"m": v})})
	}
	return r
}

// R's package pwr gives 199 cases for an effect of a fifth of the standard deviation. The
// values 1 and −1 have the variance 2, as have their differences from 0; two such sets of
// different cases have 4, and the differences of 1 and −1 from −1 and 1 the variance 8,
// of which a difference of 0.4 is a seventh: 7.84888·8/0.4² + 1.92 = 394.4.
func TestNeeds(t *testing.T) {
	zero, ends, turned := valued(1, 0, 0), valued(1, 1, -1), valued(1, -1, 1)
	for name, c := range map[string]struct {
		base, other     *evals.Result
		difference      float64
		same, different string
	}{
		"one set":         {ends, nil, 0.4, "nil", "199 of 2"},
		"of no variance":  {zero, nil, 0.4, "nil", "nil"},
		"one that varies": {zero, ends, -0.2 * math.Sqrt2, "199 of 2", "199 of 2"},
		"equal":           {ends, ends, 0.4, "nil", "199 of 2"},
		"turned":          {ends, turned, 0.4, "395 of 2", "199 of 2"},
		"in clusters":     {valued(2, 0, 0, 0, 0), valued(2, 1, 1, -1, -1), 0.2 * math.Sqrt2, "398 of 4", "398 of 4"},
		"of three":        {valued(3, 0, 0, 0, 0), valued(3, 1, 1, 1, -3), 1000, "12 of 4", "4 of 4"},
		"one cluster":     {valued(2, 0, 0), valued(2, 1, -1), 0.4, "nil", "nil"},
		"too small":       {zero, ends, 1e-4, "none of 2", "none of 2"},
		"other cases":     {zero, valued(1, 1, -1, 5), 0.2 * math.Sqrt2, "199 of 2", "199 of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := c.base.Power(c.other, c.difference, stats.Test{})
			if err != nil {
				t.Fatal(err)
			}
			need := n.Metrics["m"]
			// Permutations are simulated and need up to 4 % more than a t test; for less than 100 cases, the number is exact.
			if same := need.Same; same != nil && same.Needed != nil && *same.Needed > 100 {
				var want int
				if _, err := fmt.Sscan(c.same, &want); err == nil && *same.Needed >= want && *same.Needed <= want+want/25 {
					same.Needed = &want
				}
			}
			if same, different := sizes(need.Same), sizes(need.Different); same != c.same || different != c.different {
				t.Errorf("got %s of the same cases and %s of different ones, want %s and %s", same, different, c.same, c.different)
			}
		})
	}
}

func sizes(s *evals.Sizes) string {
	switch {
	case s == nil:
		return "nil"
	case s.Needed == nil:
		return fmt.Sprintf("none of %d", s.Cases)
	}
	return fmt.Sprintf("%d of %d", *s.Needed, s.Cases)
}

// What cases find is what they are needed for, and no less.
func TestNeedsFind(t *testing.T) {
	base, other := valued(1, 0, 0, 0, 0, 0), valued(1, 1, 0, 1, 0.5, 0)
	need := func(difference float64) evals.Sizes {
		n, err := base.Power(other, difference, stats.Test{Alpha: 0.1, Power: 0.9})
		if err != nil {
			t.Fatal(err)
		}
		return *n.Metrics["m"].Same
	}
	find := *need(0.3).Detectable
	if n, more := *need(find * 1.01).Needed, *need(find * 0.97).Needed; n != 5 || more <= 5 {
		t.Errorf("%v needs %d cases and less %d, want 5 and more", find, n, more)
	}
	n, err := valued(1, 0, 1).Power(nil, 0.1, stats.Test{Alpha: 0.001, Power: 0.99})
	if err != nil || n.Metrics["m"].Different.Detectable != nil {
		t.Errorf("got %v, %v, want nothing that two cases find at such a level", n, err)
	}
}

// TestPowerOfImpossibleDifferences checks that no number of cases finds a difference that a rate cannot have.
func TestPowerOfImpossibleDifferences(t *testing.T) {
	before, after := []string{"a m=1", "b m=1", "c m=0", "d m=1", "e m=1"}, []string{"a m=1", "b m=0", "c m=0", "d m=1", "e m=1"}
	for _, lines := range [][2][]string{{before, after}, {times(2, before...), times(2, before...)}} {
		base, other := rowsOf(t, lines[0]...), rowsOf(t, lines[1]...)
		for difference, impossible := range map[float64]bool{0.8: false, -0.81: true} {
			n, err := base.Power(other, difference, stats.Test{})
			if err != nil {
				t.Fatal(err)
			}
			for name, s := range map[string]*evals.Sizes{"same": n.Metrics["m"].Same, "different": n.Metrics["m"].Different} {
				if s.Detectable != nil && *s.Detectable > 0.8 {
					t.Errorf("%s cases: %v are detectable, more than is possible", name, *s.Detectable)
				}
				if s.Impossible != impossible || (s.Needed == nil) != impossible {
					t.Errorf("%s cases, a difference of %v: got %+v", name, difference, *s)
				}
			}
		}
	}
}

// Runs without a score are counted in both sets, and what makes no sense is refused.
func TestNeedsErrors(t *testing.T) {
	base, other := rowsOf(t, "a m=1", "b m=!no", "c"), rowsOf(t, "a m=0", "b n=1")
	base.Unreadable = []evals.Unreadable{{File: "f"}}
	other.Unreadable = []evals.Unreadable{{File: "g"}}
	n, err := base.Power(other, 0.1, stats.Test{})
	if err != nil {
		t.Fatal(err)
	}
	if n.Missing != 3 || n.Errors != 1 || len(n.Metrics) != 2 || len(n.Unreadable) != 2 {
		t.Errorf("got %+v, want 3 missing, 1 error, 2 metrics and 2 unreadable parts", n)
	}
	for _, difference := range []float64{0, math.NaN(), math.Inf(1)} {
		_, err = base.Power(nil, difference, stats.Test{})
		fails(t, err, "want a number other than 0")
	}
	_, err = base.Power(nil, 0.1, stats.Test{Power: 0.01})
	fails(t, err, "the power above the level")
	_, err = base.Power(rowsOf(t, "z m=1"), 0.1, stats.Test{})
	fails(t, err, "none of 3 and 1 cases is in both sets")
	_, err = valued(1, 0, 1).Power(valued(2, 0, 1), 0.1, stats.Test{})
	fails(t, err, `metric "m"`, "cluster")
}

// The difference that the existing cases detect does not depend on the difference to plan for.
func TestDetectableOfExistingCases(t *testing.T) {
	before, after := make([]float64, 40), make([]float64, 40)
	after[0] = 1
	for _, difference := range []float64{0.1, 0.3, 1} {
		n, err := valued(1, before...).Power(valued(1, after...), difference, stats.Test{Alpha: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		// By the binomial distributions of changed cases and of those for the worse.
		if got := *n.Metrics["m"].Same.Detectable; math.Abs(got-0.2181165373946783) > 1e-12 {
			t.Errorf("%v: got %v, want 0.218117", difference, got)
		}
	}
}

// TestNeedsOfRuns plans for cases with several runs that pass or fail.
func TestNeedsOfRuns(t *testing.T) {
	runs := func(cases, passing, trials int) *evals.Result { // all runs of a case are equal
		r := &evals.Result{}
		for i := range cases {
			for j := range trials {
				score := 0.0
				if i < passing {
					score = 1
				}
				r.Rows.Add(&evals.Row{Case: fmt.Sprint(i), Epoch: j, Run: fmt.Sprint(i, j), Scores: evals.NewByName(map[string]float64{"m": score})})
			}
		}
		return r
	}
	need := func(base, other *evals.Result, difference float64) *evals.Sizes {
		n, err := base.Power(other, difference, stats.Test{})
		if err != nil {
			t.Fatal(err)
		}
		return n.Metrics["m"].Same
	}
	// Equal runs do not differ, but a drop makes each case fail now and then.
	if got := need(runs(20, 20, 4), runs(20, 20, 4), -0.05); got == nil || *got.Needed != must(stats.Test{}.PlannedCases(1, 0, -0.05, 4))(t) || got.Detectable == nil {
		t.Errorf("got %v, want the plan of the rate 1", got)
	}
	up, down := must(stats.Test{}.PlannedCases(0.5, 1, 0.1, 4))(t), must(stats.Test{}.PlannedCases(0.5, 1, -0.1, 4))(t)
	if got := need(runs(20, 10, 4), runs(20, 10, 4), 0.1); got == nil || *got.Needed != max(up, down) {
		t.Errorf("got %v, want %d", sizes(got), max(up, down))
	}
	if got := need(runs(20, 10, 4), runs(20, 10, 4), 0.6); got == nil || !got.Impossible || got.Detectable == nil {
		t.Errorf("got %+v for an impossible difference", got)
	}
	// Three of 30 cases fail: all differences have one sign, of which P is below 0.05 for 6 cases, not for 5.
	if got := need(runs(30, 30, 4), runs(30, 27, 4), -0.1); *got.Needed < 70 {
		t.Errorf("got %v, but 8 in 10 samples must have 6 cases of which one in ten changes", sizes(got))
	}
}
