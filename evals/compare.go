package evals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/looptape/looptape/evals/stats"
)

// Comparison is what changed from a base to a new set of runs. Its JSON is what
// `looptape eval compare --format json` prints; a figure that the rows do not have is
// nil, which is null.
type Comparison struct {
	// Metrics are those that a run of either set has a score or an error of.
	Metrics map[string]Change `json:"metrics"`
	// OnlyBase and OnlyNew are the cases that one set lacks. They count for nothing.
	OnlyBase   []string     `json:"only_base"`
	OnlyNew    []string     `json:"only_new"`
	Unreadable []Unreadable `json:"unreadable"` // of both
	// Spent is what changed by the name of each measure, and Tools by the name of each tool
	// (the 200 that were called most); those of which no run has anything are left out.
	Resources map[string]ResourceChange `json:"resources,omitempty"`
	Tools     map[string]toolChange     `json:"tools,omitempty"`

	// Together is how many sets were compared with the base at once; see [CompareAll].
	Together int `json:"-"`
}

// Change is what changed by one metric. Each figure is of the cases that have a score in
// both sets, a case with several runs by their mean.
type Change struct {
	Pairs      int        `json:"pairs"`
	Base       *float64   `json:"base"` // mean
	New        *float64   `json:"new"`
	Difference *float64   `json:"difference"` // New − Base
	SE         pairErrors `json:"se"`
	CI95       *Interval  `json:"ci95"` // of the difference, by the paired error
	P          pValues    `json:"p"`
	// Discordant counts Broke and Fixed. It is nil where a score is neither 0 nor 1.
	Discordant *discordant `json:"discordant"`
	// Broke are the cases that failed in the new set and succeeded in the base, Fixed
	// those the other way round. One with several runs succeeds if more than half of them
	// do, and fails if fewer do.
	Regressed []string `json:"regressed"`
	Fixed     []string `json:"fixed"`
	// Missing and Errors are as those of Metric, in each set.
	Missing perSet `json:"missing"`
	Errors  perSet `json:"errors"`
}

// PairErrors are the standard errors of a difference; see package stats.
type pairErrors struct {
	Paired   *float64 `json:"paired"`
	Unpaired *float64 `json:"unpaired"` // if the cases were others
}

// PValues are the probabilities of a difference as large, in either direction, if there
// was none; see package stats.
type pValues struct {
	// McNemarExact is nil where a case has several runs, cases share a cluster, or a score is
	// neither 0 nor 1.
	McNemarExact *float64 `json:"mcnemar_exact"`
	Permutation  *float64 `json:"permutation"` // signs flipped by cluster
	// Holm is McNemarExact, or else Permutation, corrected for the number of metrics, and of
	// sets if several were compared with the base.
	Holm *float64 `json:"holm"`
}

// Best is the value that Holm corrects, or nil.
func (p *pValues) Best() *float64 { return cmp.Or(p.McNemarExact, p.Permutation) }

// Discordant counts the cases that failed in one set and succeeded in the other.
type discordant struct {
	OnlyBase int `json:"only_base"`
	OnlyNew  int `json:"only_new"`
}

// perSet is a count in each set.
type perSet struct {
	Base int `json:"base"`
	New  int `json:"new"`
}

// CompareAll compares each of other results with the base, as [Compare] does, but for what
// Holm corrects: the probabilities of all of them together.
func CompareAll(base *Result, others []*Result, seed uint64) ([]*Comparison, error) {
	all := make([]*Comparison, len(others))
	for i, other := range others {
		c, err := compare(base, other, seed)
		if err != nil {
			return nil, err
		}
		c.Together = len(others)
		all[i] = c
	}
	return all, correct(all)
}

// compare compares two results, without a correction.
func compare(base, other *Result, seed uint64) (*Comparison, error) {
	c := &Comparison{Metrics: map[string]Change{}}
	c.Unreadable = append(append([]Unreadable{}, base.Unreadable...), other.Unreadable...)
	slices.SortFunc(c.Unreadable, Unreadable.compare)
	c.OnlyBase, c.OnlyNew = missingCases(other, base), missingCases(base, other)
	if len(c.OnlyBase) == len(base.Cases()) {
		return nil, noCommonCase(base, other)
	}
	names := slices.Compact(slices.Sorted(slices.Values(append(base.metrics(), other.metrics()...))))
	for _, metric := range names {
		change, err := changeOf(base, other, metric, seed)
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", metric, err)
		}
		c.Metrics[metric] = change
	}
	var err error
	if c.Resources, err = resourceChanges(base, other); err != nil {
		return nil, err
	}
	c.Tools, err = toolUse(base, other)
	return c, err
}

func noCommonCase(base, other *Result) error {
	return fmt.Errorf("none of %d and %d cases is in both sets: name the cases alike", len(base.Cases()), len(other.Cases()))
}

// lacks are the cases of a result that another lacks.
func missingCases(r, of *Result) []string {
	have := r.names()
	lacking := []string{}
	for _, runs := range of.Cases() {
		if !have[runs[0].Case] {
			lacking = append(lacking, runs[0].Case)
		}
	}
	return lacking
}

// correct sets the p-values that are corrected for the number of all of them.
func correct(all []*Comparison) error {
	type test struct {
		in   *Comparison
		name string
	}
	var tests []test
	var p []float64
	for _, c := range all {
		for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
			change := c.Metrics[name]
			if best := change.P.Best(); best != nil {
				tests = append(tests, test{c, name})
				p = append(p, *best)
			}
		}
	}
	holm, err := stats.Holm(p)
	for i, t := range tests {
		change := t.in.Metrics[t.name]
		change.P.Holm = &holm[i]
		t.in.Metrics[t.name] = change
	}
	return err
}

// changeOf computes what changed by one metric.
func changeOf(base, other *Result, metric string, seed uint64) (Change, error) {
	c := Change{Regressed: []string{}, Fixed: []string{}}
	var rows [2][]stats.Row
	rows[0], c.Missing.Base, c.Errors.Base = base.scores(metric)
	rows[1], c.Missing.New, c.Errors.New = other.scores(metric)
	b, n, difference, err := paired(&rows)
	if difference == nil {
		return c, err
	}
	c.measure(b.CaseMeans(), n.CaseMeans(), difference, seed)
	return c, c.evaluate(b, n)
}

// paired are the samples of the cases that both sets have, and their difference; nil if
// there is no such case.
func paired(rows *[2][]stats.Row) (base, other, difference *stats.Sample, err error) {
	common(rows)
	if len(rows[0]) == 0 {
		return nil, nil, nil, nil
	}
	if base, err = stats.New(rows[0]); err != nil {
		return nil, nil, nil, err
	}
	if other, err = stats.New(rows[1]); err != nil {
		return nil, nil, nil, err
	}
	pairs, err := stats.Pair(base, other)
	return base, other, pairs.Difference, err
}

// common leaves the rows of cases that both sets have.
func common(rows *[2][]stats.Row) {
	for i := range rows {
		have := map[string]bool{}
		for _, r := range rows[1-i] {
			have[r.Case] = true
		}
		rows[i] = slices.DeleteFunc(rows[i], func(r stats.Row) bool { return !have[r.Case] })
	}
}

// measure says how large the difference is, and how sure that is.
func (c *Change) measure(base, other, difference *stats.Sample, seed uint64) {
	c.Pairs = difference.Len()
	c.Base, c.New, c.Difference = known(base.Mean(), nil), known(other.Mean(), nil), known(difference.Mean(), nil)
	c.SE = pairErrors{known(se(difference.Cluster())), known(se(unpaired(base, other)))}
	c.CI95 = known(ends(t(difference.Cluster())))
	if flip, err := difference.SignFlip(stats.Resampling{Seed: seed}); err == nil {
		c.P.Permutation = &flip.P
	}
}

func unpaired(base, other *stats.Sample) (stats.Estimate, error) {
	b, err := base.Cluster()
	if err != nil {
		return stats.Estimate{}, err
	}
	o, err := other.Cluster()
	if err != nil {
		return stats.Estimate{}, err
	}
	return stats.Unpaired(b, o)
}

// judge says which cases broke and which were fixed, if the scores are successes. Both
// samples have the same cases.
func (c *Change) evaluate(base, other *stats.Sample) error {
	if !binary(base) || !binary(other) {
		return nil
	}
	now := other.CaseMeans().Rows()
	for i, was := range base.CaseMeans().Rows() {
		const half = 0.5
		switch {
		case was.Value > half && now[i].Value < half:
			c.Regressed = append(c.Regressed, was.Case)
		case was.Value < half && now[i].Value > half:
			c.Fixed = append(c.Fixed, was.Case)
		}
	}
	slices.Sort(c.Regressed)
	slices.Sort(c.Fixed)
	c.Discordant = &discordant{len(c.Regressed), len(c.Fixed)}
	if base.Clusters() < base.Len() || other.Len() > c.Pairs {
		return nil // McNemar's test takes runs for independent
	}
	exact, _, err := stats.McNemar(len(c.Regressed), len(c.Fixed))
	c.P.McNemarExact = &exact
	return err
}

// binary reports whether all values are 0 or 1.
func binary(s *stats.Sample) bool {
	_, err := s.Wilson(level)
	return err == nil
}
