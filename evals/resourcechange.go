package evals

import (
	"maps"
	"slices"

	"github.com/looptape/looptape/evals/stats"
)

// resourceChange is the change of a resource over the cases that report it in both sets; a case
// with several runs counts by their mean.
type resourceChange struct {
	Pairs      int         `json:"pairs"`
	Base       float64     `json:"base"` // mean
	New        float64     `json:"new"`
	Difference float64     `json:"difference"` // New − Base
	SE         *float64    `json:"se"`         // of the difference, paired
	CI95       *[2]float64 `json:"ci95"`       // of the difference
}

// toolChange is the change of the calls of a tool per run, and the failed calls in all runs.
type toolChange struct {
	resourceChange

	Failed perSet `json:"failed"`
}

// resourceChanges returns the change of each measure with data.
func resourceChanges(base, other *Result) (map[string]resourceChange, error) {
	by := map[string]resourceChange{}
	for _, m := range measures {
		s, err := resourceChangeOf(base, other, m.of)
		if err != nil {
			return nil, err
		}
		if s.Base != 0 || s.New != 0 {
			by[m.name] = s
		}
	}
	return by, nil
}

// toolUse returns the change of the calls of each tool that the common cases call.
func toolUse(base, other *Result) (map[string]toolChange, error) {
	by := map[string]toolChange{}
	for _, name := range toolsOf(base, other) {
		s, err := resourceChangeOf(base, other, func(r *Row) (float64, bool) { return float64(r.Calls.Of(name).N), r.Steps > 0 })
		if err != nil {
			return nil, err
		}
		if s.Base != 0 || s.New != 0 {
			by[name] = toolChange{s, perSet{failedCalls(base, other, name), failedCalls(other, base, name)}}
		}
	}
	return by, nil
}

// toolsOf returns the most called tools. The limit protects against recordings with a unique tool
// per run.
func toolsOf(sets ...*Result) []string {
	const maxTools = 200
	n := map[string]int{}
	for _, r := range sets {
		for i := range r.Rows {
			for name, calls := range r.Rows[i].Calls.All() {
				n[name] += calls.N
			}
		}
	}
	names := slices.Sorted(maps.Keys(n))
	slices.SortStableFunc(names, func(a, b string) int { return n[b] - n[a] })
	return names[:min(len(names), maxTools)]
}

// failedCalls counts the failed calls of a tool in the common cases.
func failedCalls(of, with *Result, tool string) (n int) {
	both := with.names()
	for i := range of.Rows {
		if both[of.Rows[i].Case] {
			n += of.Rows[i].Calls.Of(tool).Failed
		}
	}
	return n
}

// resourceChangeOf returns the change of a value of runs. It is zero if no case has the value in
// both sets.
func resourceChangeOf(base, other *Result, of func(*Row) (float64, bool)) (s resourceChange, err error) {
	rows := [2][]stats.Row{base.values(of), other.values(of)}
	b, n, difference, err := paired(&rows)
	if difference == nil {
		return s, err
	}
	return resourceChange{
		Pairs: difference.Len(), Base: b.CaseMeans().Mean(), New: n.CaseMeans().Mean(), Difference: difference.Mean(),
		SE: known(se(difference.Cluster())), CI95: known(ends(t(difference.Cluster()))),
	}, nil
}

// values returns the sample rows of a value of runs.
func (r *Result) values(of func(*Row) (float64, bool)) (rows []stats.Row) {
	for _, runs := range r.Cases() {
		for i := range runs {
			if v, ok := of(&runs[i]); ok {
				rows = append(rows, stats.Row{Case: runs[i].Case, Epoch: i, Cluster: runs[i].Cluster, Value: v})
			}
		}
	}
	return rows
}
