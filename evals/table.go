package evals

import (
	"maps"
	"slices"

	"github.com/looptape/looptape/evals/stats"
)

// Cases returns the rows of each case, by name. The caller must not change them.
func (r *Result) Cases() (cases [][]Row) {
	from := 0
	for i := range r.Rows {
		if i+1 == len(r.Rows) || r.Rows[i].Case != r.Rows[i+1].Case {
			cases = append(cases, r.Rows[from:i+1])
			from = i + 1
		}
	}
	return cases
}

// names returns the names of the cases.
func (r *Result) names() map[string]bool {
	have := map[string]bool{}
	for i := range r.Rows {
		have[r.Rows[i].Case] = true
	}
	return have
}

// metrics returns the names of all metrics, sorted.
func (r *Result) metrics() []string {
	names := map[string]bool{}
	for i := range r.Rows {
		for name := range r.Rows[i].Scores.All() {
			names[name] = true
		}
		for name := range r.Rows[i].Errors.All() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// scores returns the rows of a metric for package stats, with epochs numbered by order, and the
// numbers of missing and failed scores.
func (r *Result) scores(metric string) (rows []stats.Row, missing, failed int) {
	for _, runs := range r.Cases() {
		for i, r := range runs {
			value, scored := r.Scores.Get(metric)
			switch {
			case scored:
				rows = append(rows, stats.Row{Case: r.Case, Epoch: i, Cluster: r.Cluster, Value: value})
			case r.Errors.Has(metric):
				failed++
			default:
				missing++
			}
		}
	}
	return rows, missing, failed
}
