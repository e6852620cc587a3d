// Package stats computes statistics of scored runs: means with standard errors, intervals, tests
// of differences, pass@k and pass^k, and the number of cases that a comparison needs.
//
// Runs of one case are correlated, so a standard error that assumes independent runs is too
// small. Methods that account for this have Cluster in their name or mention it; all others
// assume independent rows. Each function cites the source of its formula.
//
// All functions are pure. They sort the rows, and their sums are exact before they are rounded (see [Sum]), so that
// the result does not depend on the order of the rows, bit by bit. [Totals] has what the means and intervals of many
// cases need, in parts that can be computed anywhere. Randomness starts from a seed that the
// caller passes. A function returns an error if the value is undefined. It never returns NaN or a
// placeholder 0. [ErrTooFew] and [ErrNotBinary] mark statistics that a set of rows does not have.
// The package gonum supplies the distributions.
package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	// ErrTooFew reports that a statistic needs more rows, cases or clusters.
	ErrTooFew = errors.New("too few")

	// ErrImpossible reports a difference that a mean cannot have.
	ErrImpossible = errors.New("impossible")

	// ErrNotBinary reports a value other than 0 or 1 where a statistic needs successes.
	ErrNotBinary = errors.New("not 0 or 1")
)

// Limits of the formulas.
const (
	MaxValue = 1e100     // largest absolute value of a score: the sum of larger squares could overflow
	MaxCases = 1_000_000 // largest number of cases of a power analysis
)

// Row is the score of one run.
type Row struct {
	// Case names what was run, such as a task.
	Case string

	// Epoch distinguishes the runs of a case.
	Epoch int

	// Cluster names what correlated cases share, such as text that several questions are about.
	// Empty means the name of the case, so that each case is a cluster.
	Cluster string

	// Value is the score; a binary score is 1 for a success and 0 for a failure. Values that
	// differ by less than about 1e-150 count as equal.
	Value float64
}

// Sample is a set of scored runs, one row per run. [New] creates it. A Sample never changes and
// is safe for use by many goroutines.
type Sample struct {
	rows     []Row   // by cluster, case and epoch
	cases    [][]Row // parts of rows
	clusters [][]Row // parts of rows

	// trials is the number of scored runs, more than that of rows if a row is computed from several, or
	// infinite if a score is not 0 or 1.
	trials float64
}

// New returns the sample of rows and keeps no reference to them.
//
// New returns an error without rows, for two rows of the same case and epoch, for a case in two
// clusters, and for a value that is NaN or beyond [MaxValue].
func New(rows []Row) (*Sample, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("sample without rows: %w: score at least one run", ErrTooFew)
	}
	rows = slices.Clone(rows)
	for i, r := range rows {
		if !(math.Abs(r.Value) <= MaxValue) {
			return nil, fmt.Errorf("case %q, epoch %d: the value %v: want a number within ±%v: count the score as missing instead", r.Case, r.Epoch, r.Value, MaxValue)
		}
		rows[i].Cluster = cmp.Or(r.Cluster, r.Case)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Case, b.Case), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Cluster, b.Cluster))
	})
	for i, b := range rows[1:] {
		switch a := rows[i]; {
		case a.Case != b.Case:
		case a.Cluster != b.Cluster:
			return nil, fmt.Errorf("case %q is in the clusters %q and %q: give it one", a.Case, a.Cluster, b.Cluster)
		case a.Epoch == b.Epoch:
			return nil, fmt.Errorf("case %q has two rows of epoch %d: number its runs and pass each once", a.Case, a.Epoch)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return arrange(rows), nil
}

// arrange returns the sample of sorted rows.
func arrange(rows []Row) *Sample {
	s := &Sample{
		rows:     rows,
		cases:    split(rows, func(r Row) string { return r.Case }),
		clusters: split(rows, func(r Row) string { return r.Cluster }),
		trials:   float64(len(rows)),
	}
	if _, err := successes(rows); err != nil {
		s.trials = math.Inf(1)
	}
	return s
}

// split divides rows where the key changes.
func split(rows []Row, key func(Row) string) (parts [][]Row) {
	from := 0
	for i := range rows {
		if i+1 == len(rows) || key(rows[i]) != key(rows[i+1]) {
			parts = append(parts, rows[from:i+1])
			from = i + 1
		}
	}
	return parts
}

// Rows returns the rows by cluster, case and epoch, each with its cluster. The caller owns the
// slice.
func (s *Sample) Rows() []Row { return slices.Clone(s.rows) }

// Len returns the number of rows, at least 1.
func (s *Sample) Len() int { return len(s.rows) }

// Cases returns the number of cases, at least 1.
func (s *Sample) Cases() int { return len(s.cases) }

// Clusters returns the number of clusters, at least 1.
func (s *Sample) Clusters() int { return len(s.clusters) }

// FewestEpochs returns the number of rows of the case that has the fewest.
func (s *Sample) FewestEpochs() int {
	return len(slices.MinFunc(s.cases, func(a, b []Row) int { return cmp.Compare(len(a), len(b)) }))
}

// byCase returns the rows of each case.
func (s *Sample) byCase() map[string][]Row {
	by := make(map[string][]Row, len(s.cases))
	for _, runs := range s.cases {
		by[runs[0].Case] = runs
	}
	return by
}

// Epochs returns the number of rows of each case.
func (s *Sample) Epochs() map[string]int {
	n := make(map[string]int, len(s.cases))
	for _, runs := range s.cases {
		n[runs[0].Case] = len(runs)
	}
	return n
}

// CaseMeans returns the sample with one row per case, of epoch 0: the mean of the values of the
// case. Each case has the same weight in it.
func (s *Sample) CaseMeans() *Sample {
	rows := make([]Row, len(s.cases))
	for i, runs := range s.cases {
		rows[i] = asOne(runs, mean(runs))
	}
	return s.computed(rows)
}

// computed returns the sample of rows that were computed from the runs of s.
func (s *Sample) computed(rows []Row) *Sample {
	c := arrange(rows)
	c.trials = s.trials
	return c
}

// asOne returns the row that represents the runs of a case.
func asOne(runs []Row, value float64) Row {
	return Row{Case: runs[0].Case, Cluster: runs[0].Cluster, Value: value}
}

// successes counts the rows with the value 1. It returns an error if another value is not 0.
func successes(rows []Row) (n int, err error) {
	for _, r := range rows {
		switch r.Value {
		case 0:
		case 1:
			n++
		default:
			return 0, fmt.Errorf("case %q, epoch %d: the value %v is %w: decide first which values are a success", r.Case, r.Epoch, r.Value, ErrNotBinary)
		}
	}
	return n, nil
}
