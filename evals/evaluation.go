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

// evaluation is a gate result while it is computed.
type evaluation struct {
	*Gate

	change *Comparison
	v      *GateResult
	must   map[string]bool
}

// includes reports whether the gate checks a metric.
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
	one := 1.0
	if j.decline(metric, *c.Difference) > 0 {
		one = *p / 2
	}
	return &one
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

// cases checks each case.
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
