package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/parquet"
)

// column is a column of a table of runs: what it has of a run, as package parquet takes
// values of its kind, or nil where the run has nothing.
type column struct {
	name string
	kind parquet.Kind
	of   func(*Run) any
}

// columns are those of CSV and Parquet, in their order.
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
		tokens("input_tokens", func(r *Run) int64 { return r.Usage.Input }),
		tokens("output_tokens", func(r *Run) int64 { return r.Usage.Output }),
		tokens("cached_tokens", func(r *Run) int64 { return r.Usage.Cached }),
		tokens("cache_write_tokens", func(r *Run) int64 { return r.Usage.CacheWrite }),
		tokens("reasoning_tokens", func(r *Run) int64 { return r.Usage.Reasoning }),
		{"cost", parquet.Real, func(r *Run) any { return unless(r.Cost == 0, r.Cost) }},
		{"latency_ns", parquet.Whole, func(r *Run) any { return unless(r.Latency == 0, int64(r.Latency)) }},
	}
	if r.Base == nil {
		list = list[1:]
	}
	for _, metric := range r.metrics() {
		score := func(r *Run) any { v, ok := r.Scores[metric]; return unless(!ok, v) }
		list = append(list, column{"score." + metric, parquet.Real, score},
			text("error."+metric, func(r *Run) string { return r.Errors[metric] }),
			text("explanation."+metric, func(r *Run) string { return r.Explanations[metric] }))
	}
	return list
}

// unless is a value, or nil.
func unless[T any](not bool, v T) any {
	if not {
		return nil
	}
	return v
}

func text(name string, of func(*Run) string) column {
	return column{name, parquet.Text, func(r *Run) any {
		text := strings.ToValidUTF8(of(r), "\uFFFD")
		return unless(text == "", text)
	}}
}

// tokens are there where the recording tells any.
func tokens(name string, of func(*Run) int64) column {
	return column{name, parquet.Whole, func(r *Run) any { return unless(r.Usage.Total() == 0, of(r)) }}
}

// metrics are the metrics of all runs, sorted.
func (r *Report) metrics() []string {
	names := map[string]bool{}
	for run := range r.Runs() {
		for _, metric := range slices.AppendSeq(slices.Collect(maps.Keys(run.Scores)), maps.Keys(run.Errors)) {
			names[metric] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
