package evals

import (
	"cmp"
	"math"
	"sort"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/tabular"
)

// CaseChange is a case whose mean changed.
type CaseChange struct {
	Case       string      `json:"case"`
	Base       float64     `json:"base"` // mean of the runs
	New        float64     `json:"new"`
	BaseRuns   int         `json:"base_runs"`
	NewRuns    int         `json:"new_runs"`
	Difference float64     `json:"difference"`
	CI95       *[2]float64 `json:"ci95"` // of Difference, for scores of 0 and 1
	File       string      `json:"file,omitempty"`
	Line       int         `json:"line,omitempty"` // of the worst new run, in a gate
}

// rounding is the relative loss of precision of a difference of means.
const rounding = 1e-9

// caseChanges returns the cases whose means differ, the largest difference first. Both samples have the
// same cases.
func caseChanges(base, now *stats.Sample) (list []CaseChange) {
	rates := binary(base) && binary(now)
	runs := [2]map[string]int{base.Epochs(), now.Epochs()}
	after := now.CaseMeans().Rows()
	for i, b := range base.CaseMeans().Rows() {
		c := CaseChange{Case: b.Case, Base: b.Value, New: after[i].Value, BaseRuns: runs[0][b.Case], NewRuns: runs[1][b.Case], Difference: after[i].Value - b.Value}
		if math.Abs(c.Difference) <= rounding*max(math.Abs(c.Base), math.Abs(c.New)) {
			continue
		}
		if rates {
			of := func(mean float64, n int) int { return int(math.Round(mean * float64(n))) }
			c.CI95 = known(ends(stats.UnpairedRates(of(c.Base, c.BaseRuns), c.BaseRuns, of(c.New, c.NewRuns), c.NewRuns, level)))
		}
		list = append(list, c)
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		return cmp.Or(cmp.Compare(math.Abs(b.Difference), math.Abs(a.Difference)), tabular.Natural(a.Case, b.Case)) < 0
	})
	return list
}
