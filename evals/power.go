package evals

import (
	"errors"
	"fmt"
	"math"

	"github.com/looptape/looptape/evals/stats"
)

// PowerReport states how many cases a comparison needs to detect a difference of means, and which
// difference the existing cases detect. Its JSON is the output of `looptape eval power --format
// json`.
type PowerReport struct {
	Difference float64                 `json:"difference"`
	Metrics    map[string]requirements `json:"metrics"`
	// Missing and Errors count runs without a score, over all metrics and both sets.
	Missing    int          `json:"missing"`
	Errors     int          `json:"errors"`
	Unreadable []Unreadable `json:"unreadable"` // of both sets
}

// requirements are the sizes of a comparison by one metric. A field is nil if the runs do not
// show their variance: too few cases, or all equal.
type requirements struct {
	// Same is for two sets of the same cases, as [Result.Compare] pairs them. It needs two sets.
	Same *sizes `json:"same_cases"`
	// Different is for two sets of different cases, with this number of cases each. A single set
	// is used for both.
	Different *sizes `json:"different_cases"`
}

// sizes are numbers of cases with the same epochs and cluster sizes as the existing cases.
type sizes struct {
	Cases int `json:"cases"` // existing cases
	// Detectable is the smallest difference that the existing cases detect; nil if they are too
	// few to detect any possible one.
	Detectable *float64 `json:"detectable"`
	// Needed is the number of cases that detect the difference; nil means more than
	// stats.MaxCases clusters, or a difference that is impossible.
	Needed *int `json:"required"`
	// Impossible is true if the mean of the base, a rate, cannot change by the difference.
	Impossible bool `json:"impossible,omitempty"`
}

// Power analyzes comparisons of results such as these two; other may be nil. It returns an error
// for an invalid difference or test, for sets without a common case, and for a case in two
// clusters.
func (r *Result) Power(other *Result, difference float64, test stats.Test) (*PowerReport, error) {
	if !(math.Abs(difference) > 0) || math.IsInf(difference, 0) {
		return nil, fmt.Errorf("the difference %v: want a number other than 0", difference)
	}
	const one = 1 // any valid values, to check the test
	if _, err := stats.CasesNeeded(one, one, test); err != nil {
		return nil, err
	}
	n := &PowerReport{Difference: difference, Metrics: map[string]requirements{}, Unreadable: []Unreadable{}}
	sets := []*Result{r}
	if other != nil {
		sets = append(sets, other)
	}
	last := sets[len(sets)-1]
	if len(missingCases(last, r)) == r.numCases() {
		return nil, noCommonCase(r, last)
	}
	for _, set := range sets {
		n.Unreadable = append(n.Unreadable, set.Unreadable...)
		for _, metric := range set.metrics() {
			missing, failed := set.unscored(metric)
			n.Missing, n.Errors = n.Missing+missing, n.Errors+failed
			n.Metrics[metric] = requirements{}
		}
	}
	for metric := range n.Metrics {
		need, err := n.of(r, last, metric, test)
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", metric, err)
		}
		n.Metrics[metric] = need
	}
	return n, nil
}

// of returns the requirements of a metric. A set compared with itself has none for the same cases.
func (n *PowerReport) of(base, other *Result, metric string, test stats.Test) (need requirements, err error) {
	b, o, difference, err := pair(base, other, scoreOf(metric))
	if difference == nil {
		return need, err
	}
	square := func(s *stats.Sample) float64 {
		e, _ := s.Cluster() // 0 for one cluster
		return e.SE * e.SE
	}
	largest := math.Inf(1)
	if binary(b) && binary(o) {
		rate := b.CaseMeans().Mean()
		largest = max(rate, 1-rate)
	}
	need.Different = n.sizes(difference, square(b.CaseMeans())+square(o.CaseMeans()), largest, test)
	if changed := discordantShare(b, o, difference); changed > 0 {
		need.Same, err = n.paired(difference.Cases(), changed, largest, test)
	} else if base != other {
		need.Same, err = n.flipped(b, o, test)
	}
	for _, s := range []*sizes{need.Same, need.Different} {
		if s != nil && math.Abs(n.Difference) > largest+rounding {
			s.Needed, s.Impossible = nil, true
		}
	}
	return need, err
}

// discordantShare returns the share of the cases that change where [Result.Compare] uses McNemar's test, or
// else 0.
func discordantShare(base, other, difference *stats.Sample) float64 {
	if !mcnemar(base, other) {
		return 0
	}
	changed := 0.0
	for _, r := range difference.Rows() {
		changed += math.Abs(r.Value)
	}
	return changed / float64(difference.Cases())
}

// paired returns the sizes of McNemar's test if this share of the cases changes, up to the largest possible difference.
func (n *PowerReport) paired(cases int, changed, largest float64, test stats.Test) (*sizes, error) {
	s := &sizes{Cases: cases}
	find, ok, err := stats.Changing(changed, 0).Detectable(cases, test)
	if ok && find <= largest+rounding {
		s.Detectable = &find
	}
	if needed, err := stats.Changing(changed, n.Difference).CasesNeeded(test); err == nil {
		s.Needed = &needed
	}
	return s, err
}

// flipped returns the sizes of the test that permutes signs; nil if the samples do not show how differences vary.
func (n *PowerReport) flipped(base, other *stats.Sample, test stats.Test) (*sizes, error) {
	s := &sizes{Cases: base.Cases()}
	needed, err := test.PairedCases(base, other, n.Difference)
	if errors.Is(err, stats.ErrTooFew) {
		return nil, nil
	}
	if err == nil {
		s.Needed = &needed
	}
	find, ok, err := test.PairedDetectable(base, other)
	if ok {
		s.Detectable = &find
	}
	return s, err
}

// sizes returns the sizes for cases whose mean has this squared error and this largest possible
// difference; nil if the error is 0.
func (n *PowerReport) sizes(cases *stats.Sample, square, largest float64, test stats.Test) *sizes {
	if square == 0 {
		return nil
	}
	clusters := cases.Clusters()
	variance := square * float64(clusters)
	s := &sizes{Cases: cases.Cases()}
	if find, err := stats.DetectableDifference(clusters, variance, test); err == nil && find <= largest+rounding {
		s.Detectable = &find
	}
	if needed, err := stats.CasesNeeded(n.Difference, variance, test); err == nil {
		s.Needed = new((needed*s.Cases + clusters - 1) / clusters)
	}
	return s
}
