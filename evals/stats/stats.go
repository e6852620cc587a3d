// Package stats says how well scored runs did, and how sure that is: means with
// standard errors, intervals, tests of differences, pass@k and pass^k, and how many
// cases a comparison needs.
//
// Runs of one case are alike, so an error that takes them for independent is too
// small. What depends on that has Cluster in its name or says so; the rest takes each
// row for itself. Each figure names where its formula is from.
//
// All functions are pure: the same rows give the same bits, in whatever order they
// come, because they are sorted first and added up in that order (see [New]). What is
// random takes its seed as a parameter. What cannot be computed is an error, never a
// NaN or a 0 that means nothing; [ErrTooFew] and [ErrNotBinary] tell apart the figures
// that certain rows do not have from mistakes. Distributions are gonum's.
//
// The package leaves out where values come from, which figure to show, and every
// decision.
package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	// ErrTooFew is the error of a figure that needs more rows, cases or clusters than
	// there are.
	ErrTooFew = errors.New("too few")

	// ErrNotBinary is the error of a figure that is about successes, each 0 or 1,
	// where a value is something else.
	ErrNotBinary = errors.New("not 0 or 1")
)

// MaxValue is how far from 0 a value may be: the squares of larger ones might be too
// large to add.
const MaxValue = 1e100

// Row is the score of one run.
type Row struct {
	// Case names what was run, such as a task.
	Case string

	// Epoch tells the runs of a case apart.
	Epoch int

	// Cluster names what cases have in common that makes them alike, such as a text
	// that several questions are about. Empty: the case's name, so that each case is
	// a cluster.
	Cluster string

	// Value is the score, 1 for a success and 0 for a failure where it is binary.
	// Values that differ by less than about 1e-150 count as equal.
	Value float64
}

// Sample is what was scored: one row a run, of one or more cases. [New] makes it; it
// never changes, and may be used by many goroutines at once.
type Sample struct {
	rows     []Row   // by cluster, case and epoch
	cases    [][]Row // parts of rows
	clusters [][]Row // parts of rows
}

// New returns the sample of rows, which stay the caller's. Every figure adds up the
// rows by cluster, case and epoch, with the compensation of Neumaier ("Rundungsfehler-
// analyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974).
//
// There must be a row; two rows of the same case and epoch, a case in two clusters,
// and a value that is NaN or beyond [MaxValue] are errors.
func New(rows []Row) (*Sample, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("sample without rows: %w: score at least one run", ErrTooFew)
	}
	rows = slices.Clone(rows)
	for i, r := range rows {
		if !(math.Abs(r.Value) <= MaxValue) {
			return nil, fmt.Errorf("case %q, epoch %d: the value %v is no number within ±%v: count it as missing instead", r.Case, r.Epoch, r.Value, MaxValue)
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
			return nil, fmt.Errorf("case %q has two rows of epoch %d: number its runs, and hand in each once", a.Case, a.Epoch)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return arrange(rows), nil
}

// arrange makes a sample of rows that are in order.
func arrange(rows []Row) *Sample {
	return &Sample{
		rows:     rows,
		cases:    split(rows, func(r Row) string { return r.Case }),
		clusters: split(rows, func(r Row) string { return r.Cluster }),
	}
}

// split parts rows where the key changes.
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

// Rows returns the rows by cluster, case and epoch, each with its cluster. The slice
// is the caller's.
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

// CaseMeans returns the sample with one row a case, of epoch 0: the mean of the
// case's values. In it each case counts the same, however often it ran.
func (s *Sample) CaseMeans() *Sample {
	rows := make([]Row, len(s.cases))
	for i, runs := range s.cases {
		rows[i] = asOne(runs, mean(runs))
	}
	return arrange(rows)
}

// asOne returns the row that stands for the runs of a case.
func asOne(runs []Row, value float64) Row {
	return Row{Case: runs[0].Case, Cluster: runs[0].Cluster, Value: value}
}

// successes counts the rows with the value 1. It fails unless all others are 0.
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
