package evals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/stats"
)

// judging is a verdict in the making.
type evaluation struct {
	*Gate

	change *Comparison
	v      *GateResult
	must   map[string]bool
}

// looksAt reports whether the gate looks at a metric.
func (j *evaluation) includes(metric string) bool {
	return len(j.Metrics) == 0 || slices.Contains(j.Metrics, metric)
}

// drops judges the means of the metrics of these names that the gate looks at.
func (j *evaluation) drops(names []string) error {
	var tested []string
	var p []float64
	for _, name := range names {
		if !j.includes(name) {
			continue
		}
		c := j.change.Metrics[name]
		m := metricResult{Pairs: c.Pairs, Base: c.Base, New: c.New, Difference: c.Difference, P: j.declineProbability(name, &c), Missing: c.Missing.New}
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

// fall is by how much a metric got worse.
func (j *evaluation) decline(metric string, difference float64) float64 {
	if slices.Contains(j.Lower, metric) {
		return difference
	}
	return -difference
}

// worse is the probability of a change for the worse as large.
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

// drop notes a drop that is large enough and significant.
func (j *evaluation) drop(metric string, m *metricResult) {
	const usual, rounding = 0.05, 1e-9
	fall := j.decline(metric, *m.Difference)
	if fall < j.Drop-rounding || *m.Holm >= cmp.Or(j.Alpha, usual) { // which is 1 where nothing fell
		return
	}
	j.found(Finding{Kind: KindDrop, Metric: metric,
		Message: fmt.Sprintf("the mean of %d cases went from %.4f to %.4f, p = %.4f", m.Pairs, *m.Base, *m.New, *m.Holm)})
}

// cases judges each case.
func (j *evaluation) cases(base *Baseline, now *Result) {
	runs, had := map[string][]Row{}, map[string]map[string][]float64{}
	for _, rows := range now.Cases() {
		runs[rows[0].Case] = rows
	}
	for _, c := range base.Cases {
		had[c.Case] = c.Scores
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(j.must)), maps.Keys(had))
	j.v.Cases = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(runs)))))
	for _, name := range j.v.Cases {
		rows := runs[name]
		if len(rows) == 0 {
			j.found(Finding{Kind: KindMissing, Case: name, Message: "no run of the case is there"})
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

func (j *evaluation) found(f Finding) { j.v.Findings = append(j.v.Findings, f) }

// lost notes the metrics of which a case has fewer scores than it had, since a run has none.
// That there are fewer runs is no finding.
func (j *evaluation) missing(had map[string][]float64, runs []Row) {
	for metric, before := range had {
		without := slices.DeleteFunc(slices.Clone(runs), func(r Row) bool {
			return r.Scores.Has(metric) || r.Errors.Has(metric) // which is told
		})
		if !j.includes(metric) || len(without) == 0 || len(runs)-len(without) >= len(before) {
			continue
		}
		f := runFinding(&without[0], KindMissing, metric)
		f.Message = fmt.Sprintf("%d of %d runs of the case have no score any more, the first %s", len(without), len(runs), without[0].Run)
		j.found(f)
	}
}

// at is a finding about a run.
func runFinding(r *Row, kind Kind, metric string) Finding {
	return Finding{Kind: kind, Metric: metric, Case: r.Case, File: r.File, Line: r.Line}
}

// runs notes the first run of a case that broke an invariant, and the first that could not
// be scored.
func (j *evaluation) runs(metric string, runs []Row) {
	broke := slices.IndexFunc(runs, func(r Row) bool { return metric == InvariantMetric && failed(&r, metric) })
	if broke >= 0 {
		f := runFinding(&runs[broke], KindInvariant, metric)
		f.Message = fmt.Sprintf("the run %s broke an invariant%s", runs[broke].Run, explain(&runs[broke], metric))
		j.found(f)
	}
	wrong := slices.IndexFunc(runs, func(r Row) bool { return r.Errors.Has(metric) })
	if wrong >= 0 {
		f := runFinding(&runs[wrong], KindError, metric)
		f.Message = runs[wrong].Errors.Of(metric)
		j.found(f)
	}
}

// why is what explains a score, on the line of a finding; "" if nothing does.
func explain(r *Row, metric string) string {
	const most = 200 // characters
	text := strings.Join(strings.Fields(r.Explanations.Of(metric)), " ")
	if text == "" {
		return ""
	}
	if long := []rune(text); len(long) > most {
		text = string(long[:most]) + "…"
	}
	return ": " + text
}

// failed reports whether a run has a score that is no success.
func failed(r *Row, metric string) bool {
	value, ok := r.Scores.Get(metric)
	return ok && value < 1
}

// mustPass notes the first run of a case that did not succeed, by each metric that is about
// success: one whose scores are all 0 or 1, and of which more is better. It notes the first
// run that none of them tells about.
func (j *evaluation) mustPass(runs []Row) {
	judged := make([]bool, len(runs))
	for metric := range j.v.Metrics {
		if j.change.Metrics[metric].Discordant == nil || slices.Contains(j.Lower, metric) {
			continue
		}
		for i, r := range runs {
			judged[i] = judged[i] || r.Scores.Has(metric)
		}
		if n := slices.IndexFunc(runs, func(r Row) bool { return failed(&r, metric) }); n >= 0 {
			f := runFinding(&runs[n], KindMustPass, metric)
			f.Message = fmt.Sprintf("the run %s failed%s", runs[n].Run, explain(&runs[n], metric))
			j.found(f)
		}
	}
	if n := slices.Index(judged, false); n >= 0 {
		f := runFinding(&runs[n], KindMustPass, "")
		f.Message = fmt.Sprintf("no score says whether the run %s passed", runs[n].Run)
		j.found(f)
	}
}
