package evals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/tabular"
)

// Decisions of a [SequentialChange].
const (
	DecisionBetter    = "better"
	DecisionWorse     = "worse"
	DecisionUndecided = "undecided" // add runs, or stop
)

// SequentialChange is the change of a metric that may be read after each added run.
type SequentialChange struct {
	Decision string  `json:"decision"`
	Pairs    int     `json:"pairs"` // of a run in the base and one in the new set
	Base     float64 `json:"base"`  // means over pairs
	New      float64 `json:"new"`
	E        float64 `json:"e"` // e-value of all pairs
	P        float64 `json:"p"` // valid at any time, corrected for the number of metrics
	// Decided is the number of pairs after which the decision was certain; 0 while it is undecided.
	Decided int `json:"decided"`
	// Unpaired counts the scored runs of each set that are in no pair. Missing and Errors count runs as in
	// [Metric].
	Unpaired perSet `json:"unpaired"`
	Missing  perSet `json:"missing"`
	Errors   perSet `json:"errors"`
}

// Sequential compares another result with r, run by run: the n-th run of a case with the n-th run of the
// case in r, in the order of the files and lines of the new runs. So new runs have to be in new files whose names sort
// last, or at the end of a file. It returns the decision of [stats.Sequential] for each metric whose
// scores are from 0 to 1, with the level divided by their number, and an error without such a metric. Less is
// better for the metrics in lower. A case without a run in one set is in no pair, also where missing scores count as
// 0: its runs may be still to come. Sequential returns an error if cases share a cluster, because their runs may change
// together by chance.
func (r *Result) Sequential(other *Result, s stats.Sequential, lower ...string) (map[string]SequentialChange, error) {
	if err := cmp.Or(r.independent(), other.independent()); err != nil {
		return nil, err
	}
	hasRun := func(row *Row) bool { return !row.NoRun }
	r, other = r.where(hasRun), other.where(hasRun)
	by := map[string][]scorePair{}
	for _, name := range r.metrics() {
		if pairs := pairsOf(r, other, name); len(pairs) > 0 && fractions(r, name) && fractions(other, name) {
			by[name] = pairs
		}
	}
	if len(by) == 0 {
		return nil, fmt.Errorf("sequential comparison of %d and %d cases: no metric with scores from 0 to 1 has a case in both sets", r.numCases(), other.numCases())
	}
	const usual = 0.05
	s.Alpha = cmp.Or(s.Alpha, usual) / float64(len(by))
	all := map[string]SequentialChange{}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		pairs := by[name]
		c := SequentialChange{Pairs: len(pairs), Decision: DecisionUndecided}
		differences := make([]float64, len(pairs))
		var base, now stats.Sum
		for i, p := range pairs {
			differences[i] = p.now - p.base
			base.Add(p.base)
			now.Add(p.now)
		}
		c.Base, c.New = base.Value()/float64(len(pairs)), now.Value()/float64(len(pairs))
		c.count(r, other, name)
		t, err := s.Test(differences)
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", name, err)
		}
		c.E, c.P, c.Decided = t.E, min(1, t.P*float64(len(by))), t.Decided
		if t.Decided > 0 {
			c.Decision = DecisionWorse
			if t.Higher != slices.Contains(lower, name) {
				c.Decision = DecisionBetter
			}
		}
		all[name] = c
	}
	return all, nil
}

// independent returns an error if two cases share a cluster.
func (r *Result) independent() error {
	first := map[string]string{} // case of a cluster
	for row := range r.Rows.scan() {
		if row.Cluster == "" {
			continue
		}
		if name, ok := first[row.Cluster]; ok && name != row.Case {
			return fmt.Errorf("sequential comparison: the cases %q and %q share the cluster %q: it needs independent cases: compare once, when all runs are there", name, row.Case, row.Cluster)
		}
		first[row.Cluster] = row.Case
	}
	return nil
}

// count sets the numbers of runs that are in no pair.
func (c *SequentialChange) count(base, other *Result, metric string) {
	c.Missing.Base, c.Errors.Base = base.unscored(metric)
	c.Missing.New, c.Errors.New = other.unscored(metric)
	c.Unpaired.Base = base.Rows.Len() - c.Missing.Base - c.Errors.Base - c.Pairs
	c.Unpaired.New = other.Rows.Len() - c.Missing.New - c.Errors.New - c.Pairs
}

// fractions reports whether all scores are from 0 to 1.
func fractions(r *Result, metric string) bool {
	for row := range r.Rows.scan() {
		if x, ok := row.Scores.Get(metric); ok && !(x >= 0 && x <= 1) {
			return false
		}
	}
	return true
}

// scorePair is a run of the base and one of the new set.
type scorePair struct {
	base, now float64
	row       *Row // of the new set
}

// pairsOf returns the pairs of runs with a score, in the order in which they came.
func pairsOf(base, other *Result, metric string) (pairs []scorePair) {
	scored := func(rows []Row) (list []*Row) {
		for i := range rows {
			if rows[i].Scores.Has(metric) {
				list = append(list, &rows[i])
			}
		}
		slices.SortStableFunc(list, (*Row).compareOrder)
		return list
	}
	before := map[string][]*Row{}
	for rows := range base.Cases() {
		before[rows[0].Case] = scored(rows)
	}
	for rows := range other.Cases() {
		first := before[rows[0].Case]
		for n, row := range scored(rows) {
			if n < len(first) {
				pairs = append(pairs, scorePair{first[n].Scores.Of(metric), row.Scores.Of(metric), row})
			}
		}
	}
	sort.SliceStable(pairs, func(i, j int) bool { return pairs[i].row.compareOrder(pairs[j].row) < 0 })
	return pairs
}

// compareOrder orders runs by the order in which they were recorded: by file, then by line.
func (r *Row) compareOrder(o *Row) int {
	return cmp.Or(tabular.Natural(r.File, o.File), cmp.Compare(r.Line, o.Line), cmp.Compare(r.Case, o.Case), cmp.Compare(r.Epoch, o.Epoch))
}
