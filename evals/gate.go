package evals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/stats"
)

// Gate holds runs against a baseline and fails them for a reason only: a drop that is
// significant, or a case that is missing, has to pass and does not, breaks an invariant,
// or could not be scored. The zero value takes any significant drop of any metric for one.
type Gate struct {
	// Alpha is the probability of finding any drop where nothing has changed; 0 stands
	// for 0.05.
	Alpha float64
	// Drop is the least drop of a mean that counts, in the metric's own units.
	Drop float64
	// Metrics are those that the gate looks at; none stands for all.
	Metrics []string
	// Lower are the metrics of which less is better, such as steps; they drop by rising.
	Lower []string
	// MustPass are cases that may not fail, beside those that the baseline marks.
	MustPass []string
	// Seed is where what is random starts.
	Seed uint64
}

// Verdict is what a gate says. Its JSON is what `looptape eval gate --format json` prints.
type GateResult struct {
	// Passed says that there is no finding.
	Passed bool `json:"passed"`
	// Findings are why the runs failed, by kind, metric and case.
	Findings []Finding               `json:"findings"`
	Metrics  map[string]metricResult `json:"metrics"` // those that the gate looked at
	// Cases are those of the baseline and of the runs. NewCases are those that the baseline
	// lacks, which count for nothing but as must-pass, invariants and errors.
	Cases      []string     `json:"cases"`
	NewCases   []string     `json:"new_cases"`
	Unreadable []Unreadable `json:"unreadable"`
}

// Judged is what changed of a metric's mean, of the cases that have it before and now. A
// figure that the runs do not have is nil.
type metricResult struct {
	Pairs      int      `json:"pairs"`
	Base       *float64 `json:"base"`
	New        *float64 `json:"new"`
	Difference *float64 `json:"difference"` // New − Base
	// P is the probability of a change for the worse as large, if there was none: half
	// that of [PValues.Best], whose distribution is symmetric, and 1 if there is no such
	// change. Holm is P corrected for the number of metrics.
	P    *float64 `json:"p"`
	Holm *float64 `json:"holm"`
	// Missing are the runs now that have no score.
	Missing int `json:"missing"`
}

// Kind is why runs fail.
type Kind string

// The kinds of findings, in their order.
const (
	KindDrop      Kind = "drop"         // the mean is significantly worse
	KindMustPass  Kind = "must_pass"    // a case that has to pass does not
	KindMissing   Kind = "missing"      // the baseline has the case, or more scores of it, and the runs have not
	KindInvariant Kind = "invariant"    // a run broke one
	KindError     Kind = "scorer_error" // a score could not be made
)

// String is the kind in words.
func (k Kind) String() string { return strings.ReplaceAll(string(k), "_", " ") }

// Finding is a reason to fail.
type Finding struct {
	Kind   Kind   `json:"kind"`
	Metric string `json:"metric,omitempty"`
	Case   string `json:"case,omitempty"`
	// File and Line say where the run stands, if it is a run's fault.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"` // one line, without what the members above say
}

// Judge holds a result against a baseline. The error is for settings that cannot be, for
// results of other scorers, and that of [Compare].
func (g *Gate) Evaluate(base *Baseline, now *Result) (*GateResult, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if !slices.Equal(base.Scorers, now.Scorers) {
		return nil, fmt.Errorf("the baseline is of the scorers %q and the runs of %q: score them alike, or write the baseline anew with --update", base.Scorers, now.Scorers)
	}
	all, err := CompareAll(base.result(), []*Result{now}, g.Seed)
	if err != nil {
		return nil, err
	}
	c := all[0]
	names := slices.Sorted(maps.Keys(c.Metrics))
	for _, name := range slices.Concat(g.Metrics, g.Lower) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no metric %q, only %q", name, names)
		}
	}
	v := &GateResult{Findings: []Finding{}, Metrics: map[string]metricResult{}, NewCases: c.OnlyNew, Unreadable: c.Unreadable}
	j := evaluation{g, c, v, base.marked(g.MustPass)}
	if err := j.drops(names); err != nil {
		return nil, err
	}
	j.cases(base, now)
	slices.SortStableFunc(v.Findings, Finding.compare)
	v.Passed = len(v.Findings) == 0
	return v, nil
}

// check refuses settings that cannot be.
func (g *Gate) check() error {
	const half = 0.5 // beyond it no change at all would be a drop
	switch {
	case !(g.Alpha >= 0 && g.Alpha < half):
		return fmt.Errorf("the level %v is not between 0 and %v", g.Alpha, half)
	case !(g.Drop >= 0 && g.Drop <= stats.MaxValue):
		return fmt.Errorf("the least drop %v is no number from 0 on", g.Drop)
	}
	return nil
}

// kinds are in the order in which findings are told.
func kinds() []Kind {
	return []Kind{KindDrop, KindMustPass, KindMissing, KindInvariant, KindError}
}

func (f Finding) compare(o Finding) int {
	return cmp.Or(cmp.Compare(slices.Index(kinds(), f.Kind), slices.Index(kinds(), o.Kind)), cmp.Compare(f.Metric, o.Metric), cmp.Compare(f.Case, o.Case))
}
