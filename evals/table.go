package evals

import (
	"maps"
	"slices"

	"github.com/looptape/looptape/evals/stats"
)

// cases are the rows of each case.
func (r *Result) cases() (cases [][]Row) {
	from := 0
	for i := range r.Rows {
		if i+1 == len(r.Rows) || r.Rows[i].Case != r.Rows[i+1].Case {
			cases = append(cases, r.Rows[from:i+1])
			from = i + 1
		}
	}
	return cases
}

// metrics are the names of all metrics, sorted.
func (r *Result) metrics() []string {
	names := map[string]bool{}
	for i := range r.Rows {
		for name := range r.Rows[i].Scores {
			names[name] = true
		}
		for name := range r.Rows[i].Errors {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// scores are the rows of a metric as package stats takes them, and how many have no
// score and an error.
func (r *Result) scores(metric string) (rows []stats.Row, missing, failed int) {
	for _, runs := range r.cases() {
		for i, epoch := range epochs(runs) {
			value, scored := runs[i].Scores[metric]
			_, wrong := runs[i].Errors[metric]
			switch {
			case scored:
				rows = append(rows, stats.Row{Case: runs[i].Case, Epoch: epoch, Cluster: runs[i].Cluster, Value: value})
			case wrong:
				failed++
			default:
				missing++
			}
		}
	}
	return rows, missing, failed
}

// epochs are the epochs of the rows of a case. Those that have none, which are the last,
// get the smallest numbers that are left.
func epochs(runs []Row) []int {
	list := make([]int, len(runs))
	taken := map[int]bool{}
	next := 0
	for i, r := range runs {
		list[i] = r.Epoch
		if r.Epoch < 0 {
			for taken[next] {
				next++
			}
			list[i] = next
		}
		taken[list[i]] = true
	}
	return list
}
