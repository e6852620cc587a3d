package report

import (
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/parquet"
)

// column is a column of a table of runs: the value of a run for package parquet, or nil.
type column struct {
	name string
	kind parquet.Kind
	of   func(*Run) any
}

// columns returns the columns of CSV and Parquet.
func (r *Report) columns() []column {
	list := []column{
		text("set", func(r *Run) string { return r.Set }),
		text("case", func(r *Run) string { return r.Case }),
		{"epoch", parquet.Whole, func(r *Run) any { return unless(r.Epoch < 0, int64(r.Epoch)) }},
		text("cluster", func(r *Run) string { return r.Cluster }),
		text("run", func(r *Run) string { return r.Row.Run }),
		text("file", func(r *Run) string { return r.File }),
		{"line", parquet.Whole, func(r *Run) any { return int64(r.Line) }},
		text("digest", func(r *Run) string { return r.Digest }),
		text("outcome", func(r *Run) string { return string(r.Outcome) }),
	}
	if r.Base == nil {
		list = list[1:]
	}
	for name := range new(evals.Row).Resources() {
		list = append(list, resource(name))
	}
	for _, metric := range r.Metrics() {
		score := func(r *Run) any { v, ok := r.Scores.Get(metric); return unless(!ok, v) }
		list = append(list, column{"score." + metric, parquet.Real, score},
			text("error."+metric, func(r *Run) string { return r.Errors.Of(metric) }),
			text("explanation."+metric, func(r *Run) string { return r.Explanations.Of(metric) }))
	}
	return list
}

// unless returns a value, or nil.
func unless[T any](not bool, v T) any {
	if not {
		return nil
	}
	return v
}

func text(name string, of func(*Run) string) column {
	return column{name, parquet.Text, func(r *Run) any {
		text := of(r)
		return unless(text == "", text)
	}}
}

// resource returns the column of a resource. All but the cost are integers.
func resource(name string) column {
	amount := func(r *Run) *float64 {
		for n, v := range r.Resources() {
			if n == name {
				return v
			}
		}
		return nil
	}
	if name == "cost" {
		return column{name, parquet.Real, func(r *Run) any {
			v := amount(r)
			if v == nil {
				return nil
			}
			return *v
		}}
	}
	return column{name, parquet.Whole, func(r *Run) any {
		v := amount(r)
		if v == nil {
			return nil
		}
		return int64(*v)
	}}
}
