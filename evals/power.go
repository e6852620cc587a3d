package evals

import (
	"fmt"
	"math"

	"github.com/looptape/looptape/evals/stats"
)

// Needs say how many cases a comparison needs to find a difference of means, and what so
// many cases as there are find. Its JSON is what `looptape eval power --format json`
// prints.
type PowerReport struct {
	Difference float64                 `json:"difference"`
	Metrics    map[string]requirements `json:"metrics"`
	// Missing and Errors are runs without a score, by any metric, of both sets.
	Missing    int          `json:"missing"`
	Errors     int          `json:"errors"`
	Unreadable []Unreadable `json:"unreadable"` // of both
}

// Need is what a comparison by one metric needs. A way to compare that the runs tell
// nothing about is nil: there are too few cases, or all are alike.
type requirements struct {
	// Same is of two sets of the same cases, as [Compare] pairs them. How far their
	// differences vary two sets tell alone.
	Same *Sizes `json:"same_cases"`
	// Different is of two sets of different cases, each of so many. Where there is one set,
	// the other is taken for one that varies as much.
	Different *Sizes `json:"different_cases"`
}

// Sizes are numbers of cases, each of them run as often, and in clusters of as many, as
// those that there are.
type Sizes struct {
	Cases int `json:"cases"` // that there are
	// Find is the smallest difference that they find, nil if they are too few for any.
	Detectable *float64 `json:"detectable"`
	// Needed are the cases that find the difference; nil stands for more than
	// stats.MaxCases clusters.
	Needed *int `json:"required"`
}

// AnalyzePower says what comparisons need that are like one of these two results, of which other
// may be nil. The error is for a difference or a test that cannot be, for sets without a
// case in common, and for a case that is not in one cluster.
func AnalyzePower(base, other *Result, difference float64, test stats.Test) (*PowerReport, error) {
	if !(math.Abs(difference) > 0) || math.IsInf(difference, 0) {
		return nil, fmt.Errorf("the difference %v: it must be a number, and not 0", difference)
	}
	const one = 1 // of anything, to check the test
	if _, err := stats.CasesNeeded(one, one, test); err != nil {
		return nil, err
	}
	n := &PowerReport{Difference: difference, Metrics: map[string]requirements{}, Unreadable: []Unreadable{}}
	sets := []*Result{base}
	if other != nil {
		sets = append(sets, other)
	}
	last := sets[len(sets)-1]
	if len(missingCases(last, base)) == len(base.Cases()) {
		return nil, noCommonCase(base, last)
	}
	for _, set := range sets {
		n.Unreadable = append(n.Unreadable, set.Unreadable...)
		for _, metric := range set.metrics() {
			_, missing, failed := set.scores(metric)
			n.Missing, n.Errors = n.Missing+missing, n.Errors+failed
			n.Metrics[metric] = requirements{}
		}
	}
	for metric := range n.Metrics {
		need, err := n.of(base, last, metric, test)
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", metric, err)
		}
		n.Metrics[metric] = need
	}
	return n, nil
}

// of is what comparisons by a metric need. Of a set and itself no case differs.
func (n *PowerReport) of(base, other *Result, metric string, test stats.Test) (need requirements, err error) {
	var rows [2][]stats.Row
	rows[0], _, _ = base.scores(metric)
	rows[1], _, _ = other.scores(metric)
	b, o, difference, err := paired(&rows)
	if difference == nil {
		return need, err
	}
	square := func(s *stats.Sample) float64 {
		e, _ := s.Cluster() // 0 of one cluster, which is too few
		return e.SE * e.SE
	}
	return requirements{
		Same:      n.sizes(difference, square(difference), test),
		Different: n.sizes(difference, square(b.CaseMeans())+square(o.CaseMeans()), test),
	}, nil
}

// sizes are those of cases whose mean has that squared error; nil if it has none. That there
// are too few, or that too many are needed, is all that can be wrong.
func (n *PowerReport) sizes(cases *stats.Sample, square float64, test stats.Test) *Sizes {
	if square == 0 {
		return nil
	}
	clusters := cases.Clusters()
	variance := square * float64(clusters)
	s := &Sizes{Cases: cases.Cases()}
	if find, err := stats.DetectableDifference(clusters, variance, test); err == nil {
		s.Detectable = &find
	}
	if needed, err := stats.CasesNeeded(n.Difference, variance, test); err == nil {
		all := (needed*s.Cases + clusters - 1) / clusters
		s.Needed = &all
	}
	return s
}
