package evals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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
	v := &GateResult{
		Findings: []finding{}, Metrics: map[string]metricResult{},
		NewCases: c.OnlyNew, Unreadable: c.Unreadable,
	}
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
	kind := cmp.Compare(slices.Index(kinds(), f.Kind), slices.Index(kinds(), o.Kind))
	return cmp.Or(kind, cmp.Compare(f.Metric, o.Metric), cmp.Compare(f.Case, o.Case))
}

// evaluation is a gate result while it is computed.
type evaluation struct {
	*Gate

	change *Comparison
	v      *GateResult
	must   map[string]bool
}

func (j *evaluation) includes(metric string) bool {
	return len(j.Metrics) == 0 || slices.Contains(j.Metrics, metric)
}

// drops tests the means of the checked metrics.
func (j *evaluation) drops(names []string) error {
	var tested []string
	var p []float64
	for _, name := range slices.DeleteFunc(names, func(name string) bool { return !j.includes(name) }) {
		c := j.change.Metrics[name]
		m := metricResult{
			Pairs: c.Pairs, Base: c.Base, New: c.New, Difference: c.Difference,
			P: j.declineProbability(name, &c), Missing: c.Missing.New,
		}
		j.v.Metrics[name] = m
		if m.P != nil {
			tested, p = append(tested, name), append(p, *m.P)
		}
	}
	holm, err := stats.Holm(p)
	for i, name := range tested {
		m := j.v.Metrics[name]
		m.Holm = &holm[i]
		j.v.Metrics[name] = m
		j.drop(name, &m)
	}
	return err
}

// decline returns by how much a metric got worse.
func (j *evaluation) decline(metric string, difference float64) float64 {
	if slices.Contains(j.Lower, metric) {
		return difference
	}
	return -difference
}

// declineProbability returns the one-sided probability of a decline at least as large.
func (j *evaluation) declineProbability(metric string, c *Change) *float64 {
	p := c.P.Best()
	if p == nil {
		return nil
	}
	if j.decline(metric, *c.Difference) > 0 {
		return new(*p / 2)
	}
	return new(1.0)
}

// drop records a significant drop that is large enough.
func (j *evaluation) drop(metric string, m *metricResult) {
	const usual, rounding = 0.05, 1e-9
	fall := j.decline(metric, *m.Difference)
	if fall < j.Drop-rounding || *m.Holm >= cmp.Or(j.Alpha, usual) { // Holm is 1 without a decline
		return
	}
	j.found(&Row{}, KindDrop, metric, "the mean of %d cases went from %.4f to %.4f, p = %.4f", m.Pairs, *m.Base, *m.New, *m.Holm)
}

func (j *evaluation) cases(base *Baseline, now *Result) {
	runs, had := map[string][]Row{}, map[string]map[string][]float64{}
	for _, rows := range now.Cases() {
		runs[rows[0].Case] = rows
	}
	for _, c := range base.Cases {
		had[c.Case] = c.Scores
	}
	names := slices.Collect(maps.Keys(j.must))
	names = slices.AppendSeq(slices.AppendSeq(names, maps.Keys(had)), maps.Keys(runs))
	slices.Sort(names)
	j.v.Cases = slices.Compact(names)
	for _, name := range j.v.Cases {
		rows := runs[name]
		if len(rows) == 0 {
			j.found(&Row{Case: name}, KindMissing, "", "the case has no run")
			continue
		}
		j.missing(had[name], rows)
		for metric := range j.v.Metrics {
			j.runs(metric, rows)
		}
		if j.must[name] {
			j.mustPass(rows)
		}
	}
}

// found records a finding about a run, or about a case or a metric.
func (j *evaluation) found(r *Row, kind, metric, format string, args ...any) {
	j.v.Findings = append(j.v.Findings, finding{kind, metric, r.Case, r.File, r.Line, fmt.Sprintf(format, args...)})
}

// missing records metrics with fewer scores than the baseline, if a run has none. Fewer runs are
// no finding.
func (j *evaluation) missing(had map[string][]float64, runs []Row) {
	for metric, before := range had {
		without := slices.DeleteFunc(slices.Clone(runs), func(r Row) bool {
			return r.Scores.Has(metric) || r.Errors.Has(metric) // errors are separate findings
		})
		if !j.includes(metric) || len(without) == 0 || len(runs)-len(without) >= len(before) {
			continue
		}
		j.found(&without[0], KindMissing, metric, "%d of %d runs of the case have no score, first %s", len(without), len(runs), without[0].Run)
	}
}

// runs records the first run of a case that violates an invariant, and the first with a failed
// score.
func (j *evaluation) runs(metric string, runs []Row) {
	if r := firstFailed(runs, metric); r != nil && metric == InvariantMetric {
		j.found(r, KindInvariant, metric, "the run %s violates an invariant%s", r.Run, explain(r, metric))
	}
	wrong := slices.IndexFunc(runs, func(r Row) bool { return r.Errors.Has(metric) })
	if wrong >= 0 {
		j.found(&runs[wrong], KindError, metric, "%s", runs[wrong].Errors.Of(metric))
	}
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
func (j *evaluation) mustPass(runs []Row) {
	scored := make([]bool, len(runs))
	for metric := range j.v.Metrics {
		if j.change.Metrics[metric].Discordant == nil || slices.Contains(j.Lower, metric) {
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
