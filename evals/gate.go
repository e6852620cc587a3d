package evals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/stats"
)

// Gate compares runs with a baseline. Runs fail only for a significant drop, or for a case that
// is missing, is marked must-pass and fails, violates an invariant, or could not be scored. The
// zero value reports any significant drop of any metric.
type Gate struct {
	// Alpha is the probability of finding a drop if nothing has changed; 0 means 0.05.
	Alpha float64
	// Drop is the smallest drop of a mean that counts, in the unit of the metric.
	Drop float64
	// Metrics are the metrics to check; empty means all.
	Metrics []string
	// Lower are metrics for which less is better, such as steps; for them a rise is a drop.
	Lower []string
	// MustPass are cases that must not fail, in addition to those that the baseline marks.
	MustPass []string
	// Seed starts the random numbers.
	Seed uint64
}

// GateResult is the result of a gate. Its JSON is the output of `looptape eval gate --format
// json`.
type GateResult struct {
	// Passed is true if there are no findings.
	Passed bool `json:"passed"`
	// Findings are the reasons for the failure, by kind, metric and case.
	Findings []finding               `json:"findings"`
	Metrics  map[string]metricResult `json:"metrics"` // the checked metrics
	// Cases are the cases of the baseline and of the runs. NewCases are not in the baseline; they
	// count only for must-pass, invariants and errors.
	Cases      []string     `json:"cases"`
	NewCases   []string     `json:"new_cases"`
	Unreadable []Unreadable `json:"unreadable"`
}

// metricResult is the change of the mean of a metric over the cases that have it in both sets.
// Unknown values are nil.
type metricResult struct {
	Pairs      int      `json:"pairs"`
	Base       *float64 `json:"base"`
	New        *float64 `json:"new"`
	Difference *float64 `json:"difference"` // New − Base
	// P is the one-sided probability of a decline at least as large without a real change: half
	// of [pValues.Best], whose distribution is symmetric, and 1 without a decline. Holm is P
	// corrected for the number of metrics.
	P    *float64 `json:"p"`
	Holm *float64 `json:"holm"`
	// Missing counts new runs without a score.
	Missing int `json:"missing"`
}

// finding is a reason for failure.
type finding struct {
	Kind   string `json:"kind"`
	Metric string `json:"metric,omitempty"`
	Case   string `json:"case,omitempty"`
	// File and Line locate the run, for findings about a run.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"` // one line that does not repeat the other members
}

// Evaluate compares a result with a baseline. It returns an error for invalid settings, for results
// of other scorers, and the errors of [Result.Compare].
func (g *Gate) Evaluate(base *Baseline, now *Result) (*GateResult, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if !slices.Equal(base.Scorers, now.Scorers) {
		return nil, fmt.Errorf("the baseline has the scorers %q and the runs %q: use the same scorers, or write the baseline again with --update", base.Scorers, now.Scorers)
	}
	all, err := base.result().Compare([]*Result{now}, g.Seed)
	if err != nil {
		return nil, err
	}
	c := all[0]
	names := slices.Sorted(maps.Keys(c.Metrics))
	for _, name := range slices.Concat(g.Metrics, g.Lower) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("unknown metric %q: want one of %q", name, names)
		}
	}
	v := &GateResult{Findings: []finding{}, Metrics: map[string]metricResult{}, NewCases: c.OnlyNew, Unreadable: c.Unreadable}
	j := evaluation{g, c, v, base.marked(g.MustPass)}
	if err := j.drops(names); err != nil {
		return nil, err
	}
	j.cases(base, now)
	slices.SortStableFunc(v.Findings, finding.compare)
	v.Passed = len(v.Findings) == 0
	return v, nil
}

// check rejects invalid settings.
func (g *Gate) check() error {
	const half = 0.5 // a larger level would report drops without a change
	switch {
	case !(g.Alpha >= 0 && g.Alpha < half):
		return fmt.Errorf("alpha %v: want 0 to %v", g.Alpha, half)
	case !(g.Drop >= 0 && g.Drop <= stats.MaxValue):
		return fmt.Errorf("drop %v: want 0 or more", g.Drop)
	}
	return nil
}

// Title returns the kind as words.
func (f *finding) Title() string { return strings.ReplaceAll(f.Kind, "_", " ") }

// kinds returns the kinds in the order of the findings.
func kinds() []string {
	return []string{KindDrop, KindMustPass, KindMissing, KindInvariant, KindError}
}

func (f finding) compare(o finding) int {
	return cmp.Or(cmp.Compare(slices.Index(kinds(), f.Kind), slices.Index(kinds(), o.Kind)), cmp.Compare(f.Metric, o.Metric), cmp.Compare(f.Case, o.Case))
}
