package evals

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/tabular"
)

// Gate compares runs with a baseline. Runs fail only for a significant drop, or for a case that
// is missing, is marked must-pass and fails, violates an invariant, or could not be scored. The
// zero value reports any significant drop of any metric.
type Gate struct {
	// Alpha is the probability of finding a drop if nothing has changed; 0 means 0.05.
	Alpha float64
	// Drop is the smallest significant drop of a mean that counts, in the unit of the metric.
	Drop float64
	// MaxDrop is, by metric, the largest drop of a mean that passes, significant or not. The metric "" is
	// all others.
	MaxDrop map[string]float64
	// Min is, by metric, the worst mean over all cases that passes: the least, or the highest of a
	// metric in Lower. The metric "" is all others that are not in Lower.
	Min map[string]float64
	// Detect is a drop that the gate is able to find, if nothing else changes, with the probability
	// RequirePower; less is a finding. RequirePower 0 means that the probability is only reported.
	Detect, RequirePower float64
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
	// Passed is true if there are no findings and no unreadable records.
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
	Pairs      int         `json:"pairs"`
	Base       *float64    `json:"base"`
	New        *float64    `json:"new"`
	Difference *float64    `json:"difference"` // New − Base
	CI95       *[2]float64 `json:"ci95"`       // of Difference, as [pairBounds.Best]
	// P is the one-sided probability of a decline at least as large without a real change, by
	// [stats.Within]; 1 without a decline. Test is its method. Holm is P corrected for the number of metrics.
	P    *float64 `json:"p"`
	Holm *float64 `json:"holm"`
	Test string   `json:"test,omitempty"`
	// SmallestDrop is the smallest drop that this gate finds with a probability of 0.8, nil if it
	// finds none so often. Power is the probability that it finds a drop of [Gate.Detect].
	SmallestDrop *float64 `json:"smallest_drop"`
	Power        *float64 `json:"power,omitempty"`
	// Missing counts new runs without a score.
	Missing int `json:"missing"`
	// Worse are the cases whose mean declined, the largest decline first.
	Worse []CaseChange `json:"worse,omitempty"`
	// Impossible is true if the mean of the baseline cannot drop by Detect.
	Impossible bool `json:"impossible,omitempty"`
}

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
	others := now.others()
	base, must := base.without(others), base.marked(g.MustPass)
	maps.DeleteFunc(must, func(name string, _ bool) bool { return others[name] })
	before := base.result()
	c, err := compare(before, now, g.Seed)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(c.Metrics))
	if err := g.known(names); err != nil {
		return nil, err
	}
	v := &GateResult{
		Findings: []finding{}, Metrics: map[string]metricResult{},
		NewCases: c.OnlyNew, Unreadable: append([]Unreadable{}, now.Unreadable...),
	}
	j := evaluation{Gate: g, change: c, v: v, must: must, base: before, now: now}
	if err := j.means(names); err != nil {
		return nil, err
	}
	j.cases(base, now)
	sort.SliceStable(v.Findings, func(i, j int) bool { return v.Findings[i].compare(v.Findings[j]) < 0 })
	v.Passed = len(v.Findings) == 0 && len(v.Unreadable) == 0
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
	case !(g.Detect >= 0 && g.Detect <= stats.MaxValue):
		return fmt.Errorf("detect %v: want 0 or more", g.Detect)
	case !(g.RequirePower >= 0 && g.RequirePower < 1):
		return fmt.Errorf("require_power %v: want 0 to 1, such as 0.8", g.RequirePower)
	case g.RequirePower > 0 && g.Detect == 0:
		return fmt.Errorf("require_power %v: set detect to the drop that the gate must be able to find", g.RequirePower)
	}
	for _, name := range slices.Sorted(maps.Keys(g.MaxDrop)) {
		if x := g.MaxDrop[name]; !(x >= 0 && x <= stats.MaxValue) {
			return fmt.Errorf("max_drop %v: want 0 or more", x)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Min)) {
		if x := g.Min[name]; !(math.Abs(x) <= stats.MaxValue) {
			return fmt.Errorf("min %v: want a number within ±%v", x, stats.MaxValue)
		}
	}
	return nil
}

// known returns an error for a setting of a metric that is none of these.
func (g *Gate) known(metrics []string) error {
	named := slices.Concat(g.Metrics, g.Lower, slices.Sorted(maps.Keys(g.MaxDrop)), slices.Sorted(maps.Keys(g.Min)))
	for _, name := range named {
		if name != "" && !slices.Contains(metrics, name) {
			return fmt.Errorf("unknown metric %q: want one of %q", name, metrics)
		}
	}
	return nil
}

// Title returns the kind as words.
func (f *finding) Title() string { return strings.ReplaceAll(f.Kind, "_", " ") }

// kinds returns the kinds in the order of the findings.
func kinds() []string {
	return []string{KindDrop, KindMaxDrop, KindMin, KindPower, KindMustPass, KindMissing, KindInvariant, KindError}
}

func (f finding) compare(o finding) int {
	kind := cmp.Compare(slices.Index(kinds(), f.Kind), slices.Index(kinds(), o.Kind))
	return cmp.Or(kind, cmp.Compare(f.Metric, o.Metric), cmp.Compare(f.Case, o.Case))
}

// evaluation is a gate result while it is computed.
type evaluation struct {
	*Gate

	change    *Comparison
	v         *GateResult
	must      map[string]bool
	base, now *Result
}

func (g *Gate) includes(metric string) bool {
	return len(g.Metrics) == 0 || slices.Contains(g.Metrics, metric)
}

func (j *evaluation) cases(base *Baseline, now *Result) {
	runs, had := map[string][]Row{}, map[string]*baselineCase{}
	for rows := range now.Cases() {
		runs[rows[0].Case] = rows
	}
	for i := range base.Cases {
		had[base.Cases[i].Case] = &base.Cases[i]
	}
	names := slices.Collect(maps.Keys(j.must))
	names = slices.AppendSeq(slices.AppendSeq(names, maps.Keys(had)), maps.Keys(runs))
	slices.Sort(names)
	j.v.Cases = slices.Compact(names)
	for _, name := range j.v.Cases {
		rows := runs[name]
		if len(rows) == 0 || rows[0].NoRun && len(rows[0].Scores) == 0 {
			j.found(&Row{Case: name}, KindMissing, "", "the case has no run")
			continue
		}
		before := had[name]
		if before == nil {
			before = &baselineCase{}
		}
		j.missing(before, rows)
		for metric := range j.v.Metrics {
			j.runs(metric, rows, before)
		}
		if j.must[name] {
			j.mustPass(rows, before)
		}
	}
}

// found records a finding about a run, or about a case or a metric.
func (j *evaluation) found(r *Row, kind, metric, format string, args ...any) {
	j.v.Findings = append(j.v.Findings, finding{kind, metric, r.Case, r.File, r.Line, fmt.Sprintf(format, args...)})
}

// missing records metrics of which a smaller share of the runs has a score than in the baseline. Fewer
// runs are no finding.
func (j *evaluation) missing(had *baselineCase, runs []Row) {
	for metric, before := range had.Scores {
		without := slices.DeleteFunc(slices.Clone(runs), func(r Row) bool {
			return r.Scores.Has(metric) || r.Errors.Has(metric) // errors are separate findings
		})
		share := float64(len(before)) / float64(had.runs())
		if !j.includes(metric) || len(without) == 0 || float64(len(runs)-len(without)) >= share*float64(len(runs)) {
			continue
		}
		j.found(&without[0], KindMissing, metric, "%d of %d runs of the case have no score, first %s", len(without), len(runs), without[0].Run)
	}
}

// runs records the first run of a case for each rule that no run breaks in the baseline, and the first
// with a failed score.
func (j *evaluation) runs(metric string, runs []Row, before *baselineCase) {
	known := slices.Clone(before.Findings[metric])
	unknown := metric == InvariantMetric && len(known) == 0 && before.failed(metric) // of an earlier version
	for i := range runs {
		r := &runs[i]
		if unknown {
			break
		}
		fresh := slices.DeleteFunc(slices.Clone(r.Findings.Of(metric)), func(rule string) bool { return slices.Contains(known, rule) })
		known = append(known, fresh...)
		if len(fresh) > 0 {
			j.found(r, KindInvariant, metric, "the run %s breaks %s%s", r.Run, strings.Join(fresh, ", "), explain(r, metric))
		}
	}
	// Score files of earlier versions have no rules.
	if r := firstFailed(runs, metric); r != nil && metric == InvariantMetric && !r.Findings.Has(metric) && !before.failed(metric) {
		j.found(r, KindInvariant, metric, "the run %s violates an invariant%s", r.Run, explain(r, metric))
	}
	wrong := slices.IndexFunc(runs, func(r Row) bool { return r.Errors.Has(metric) })
	if wrong >= 0 {
		j.found(&runs[wrong], KindError, metric, "%s", runs[wrong].Errors.Of(metric))
	}
}

// passes reports whether the scores of the case are successes and failures: those of the baseline or, without
// any, those of the runs.
func (c *baselineCase) passes(metric string, runs []Row) bool {
	scores := slices.Clone(c.Scores[metric])
	for i := range runs {
		if x, ok := runs[i].Scores.Get(metric); ok && len(c.Scores[metric]) == 0 {
			scores = append(scores, x)
		}
	}
	return len(scores) > 0 && !slices.ContainsFunc(scores, func(x float64) bool { return x != 0 && x != 1 })
}

// failed reports whether a run of the case has a score below 1.
func (c *baselineCase) failed(metric string) bool {
	return slices.ContainsFunc(c.Scores[metric], func(x float64) bool { return x < 1 })
}

// explain returns the explanation of a score on one line, with a leading colon.
func explain(r *Row, metric string) string {
	const maxLength = 200 // characters
	text := strings.Join(strings.Fields(r.Explanations.Of(metric)), " ")
	if text == "" {
		return ""
	}
	return ": " + tabular.Short(text, maxLength)
}

// firstFailed returns the first run with a score below 1, or nil.
func firstFailed(runs []Row, metric string) *Row {
	for i := range runs {
		if value, ok := runs[i].Scores.Get(metric); ok && value < 1 {
			return &runs[i]
		}
	}
	return nil
}

// mustPass records the first run of a case that fails, for each binary metric for which more is
// better, and the first run without such a score.
func (j *evaluation) mustPass(runs []Row, before *baselineCase) {
	scored := make([]bool, len(runs))
	for metric := range j.v.Metrics {
		if slices.Contains(j.Lower, metric) || !before.passes(metric, runs) {
			continue
		}
		for i, r := range runs {
			scored[i] = scored[i] || r.Scores.Has(metric)
		}
		if r := firstFailed(runs, metric); r != nil {
			j.found(r, KindMustPass, metric, "the run %s failed%s", r.Run, explain(r, metric))
		}
	}
	if n := slices.Index(scored, false); n >= 0 {
		j.found(&runs[n], KindMustPass, "", "the run %s has no score that shows whether it passed", runs[n].Run)
	}
}
