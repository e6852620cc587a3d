package evals

import (
	"context"

	"github.com/looptape/looptape/trace/importer"
)

// Types of fields that tests compare.
type (
	Amount       = amount
	MetricResult = metricResult
	Sizes        = sizes
)

// Recorded is the scorer of recorded scores.
func Recorded(_ context.Context, run *importer.Run) []Score { return appendRecorded(nil, run) }

// NewByName returns the values of a map.
func NewByName[T any](of map[string]T) ByName[T] { return newByName(of) }

// Compare compares two results.
func Compare(base, other *Result, seed uint64) (*Comparison, error) {
	all, err := base.Compare([]*Result{other}, seed)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Change changes the rows of a result.
func (r *Result) Change(change func(i int, row *Row)) {
	i := -1
	r.Rows = r.Rows.each(func(row *Row) {
		i++
		change(i, row)
	})
}
