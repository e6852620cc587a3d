package report

import (
	"maps"
	"slices"
)

// column is a column of a table of runs: what it has of a run that has it. One of text,
// whole and real is there.
type column struct {
	name  string
	text  func(*Run) string // "" stands for nothing, too
	whole func(*Run) (int64, bool)
	real  func(*Run) (float64, bool)
}

// columns are those of CSV and Parquet, in their order.
func (r *Report) columns() []column {
	list := []column{
		texts("set", func(r *Run) string { return r.Set }),
		texts("case", func(r *Run) string { return r.Case }),
		wholes("epoch", func(r *Run) int64 { return int64(r.Epoch) }, func(r *Run) bool { return r.Epoch >= 0 }),
		texts("cluster", func(r *Run) string { return r.Cluster }),
		texts("run", func(r *Run) string { return r.Row.Run }),
		texts("file", func(r *Run) string { return r.File }),
		wholes("line", func(r *Run) int64 { return int64(r.Line) }, func(*Run) bool { return true }),
		texts("digest", func(r *Run) string { return r.Digest }),
		texts("outcome", func(r *Run) string { return string(r.Outcome) }),
		tokens("input_tokens", func(r *Run) int64 { return r.Usage.Input }),
		tokens("output_tokens", func(r *Run) int64 { return r.Usage.Output }),
		tokens("cached_tokens", func(r *Run) int64 { return r.Usage.Cached }),
		tokens("cache_write_tokens", func(r *Run) int64 { return r.Usage.CacheWrite }),
		tokens("reasoning_tokens", func(r *Run) int64 { return r.Usage.Reasoning }),
		{name: "cost", real: func(r *Run) (float64, bool) { return r.Cost, r.Cost != 0 }},
		wholes("latency_ns", func(r *Run) int64 { return int64(r.Latency) }, func(r *Run) bool { return r.Latency != 0 }),
	}
	if r.Base == nil {
		list = list[1:]
	}
	for _, metric := range r.metrics() {
		list = append(list,
			column{name: "score." + metric, real: func(r *Run) (float64, bool) { v, ok := r.Scores[metric]; return v, ok }},
			texts("error."+metric, func(r *Run) string { return r.Errors[metric] }),
			texts("explanation."+metric, func(r *Run) string { return r.Explanations[metric] }))
	}
	return list
}

func texts(name string, of func(*Run) string) column { return column{name: name, text: of} }

func wholes(name string, of func(*Run) int64, has func(*Run) bool) column {
	return column{name: name, whole: func(r *Run) (int64, bool) { return of(r), has(r) }}
}

// tokens are there where the recording tells any.
func tokens(name string, of func(*Run) int64) column {
	return wholes(name, of, func(r *Run) bool { return r.Usage.Total() != 0 })
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
