// Package report writes scored runs as Markdown for people, and as JSON, JSON Lines, CSV and
// Parquet for programs. It lists the failed cases with explanations. Package evals computes the
// statistics.
package report

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/tabular"
)

// Outcome is the result of a run or a case.
type Outcome string

// Outcomes in the order of reports.
const (
	// Failed is a run that fails by a success metric: one whose scores are all 0 or 1 and for
	// which more is better.
	Failed Outcome = "failed"
	// Mixed is a case with runs of several outcomes.
	Mixed Outcome = "mixed"
	// NotScored is a run without a score of a success metric or, unless it failed, with a failed
	// score.
	NotScored Outcome = "not_scored"
	// Passed is a run with the score 1 by each success metric it has.
	Passed Outcome = "passed"
)

func outcomes() []Outcome { return []Outcome{Failed, Mixed, NotScored, Passed} }

// Report is a result with all that its formats show. It must not be changed.
type Report struct {
	Result  *evals.Result
	Summary *evals.Summary
	// Cases are sorted by outcome and then by name, in its natural order.
	Cases []Case

	// Base and Comparison are the base and the changes; nil without a base.
	Base       *evals.Result
	Comparison *evals.Comparison

	success, baseSuccess success

	// compared are the comparisons of several sets with the base, Comparison last; setNames are their names.
	compared []*evals.Comparison
	setNames []string
}

// Case summarizes the runs of a case.
type Case struct {
	Case    string  `json:"case"`
	Cluster string  `json:"cluster,omitempty"`
	Outcome Outcome `json:"outcome"`
	Runs    int     `json:"runs"`
	// Scores are the mean scores by metric. Errors counts the runs with a failed score.
	Scores map[string]float64 `json:"scores"`
	Errors map[string]int     `json:"errors,omitempty"`

	rows []evals.Row
}

// Options configure a report. The zero value reports one result.
type Options struct {
	// Base is the result to compare with; may be nil.
	Base *evals.Result
	// More are results to compare with the base, too, as columns before the result. Names are their names
	// and that of the result. Probabilities are corrected for all sets.
	More  []*evals.Result
	Names []string
	// Lower are metrics for which less is better; they are not success metrics.
	Lower []string
	// Seed starts the random numbers.
	Seed uint64
}

// New returns the report of a result. It returns the errors of [evals.Result.Summary] and
// [evals.Result.Compare]. o may be nil.
func New(r *evals.Result, o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	f, err := r.Summary(nil)
	if err != nil {
		return nil, err
	}
	rep := &Report{Result: r, Summary: f, Base: o.Base, success: successOf(r, o.Lower)}
	for rows := range r.Cases() {
		rep.Cases = append(rep.Cases, rep.success.ofCase(rows))
	}
	order := outcomes()
	sort.SliceStable(rep.Cases, func(i, j int) bool {
		a, b := &rep.Cases[i], &rep.Cases[j]
		return cmp.Or(cmp.Compare(slices.Index(order, a.Outcome), slices.Index(order, b.Outcome)), tabular.Natural(a.Case, b.Case)) < 0
	})
	if o.Base != nil {
		rep.baseSuccess = successOf(o.Base, o.Lower)
		if rep.compared, err = o.Base.Compare(append(slices.Clone(o.More), r), o.Seed, o.Lower...); err != nil {
			return nil, err
		}
		rep.Comparison, rep.setNames = rep.compared[len(o.More)], o.Names
	}
	return rep, nil
}

// Of returns the cases of an outcome.
func (r *Report) Of(o Outcome) []Case {
	return slices.DeleteFunc(slices.Clone(r.Cases), func(c Case) bool { return c.Outcome != o })
}

// Metrics returns the names of all metrics with a score or an error, sorted.
func (r *Report) Metrics() []string {
	if r.Comparison != nil {
		return slices.Sorted(maps.Keys(r.Comparison.Metrics))
	}
	return slices.Sorted(maps.Keys(r.Summary.Metrics))
}

// IsSuccess reports whether a metric is a success metric, in the base too.
func (r *Report) IsSuccess(metric string) bool {
	return r.success[metric] && (r.Base == nil || r.baseSuccess[metric])
}

type success map[string]bool

func successOf(r *evals.Result, lower []string) success {
	s := success{}
	for row := range r.Rows.All() {
		for metric, value := range row.Scores.All() {
			if was, seen := s[metric]; was || !seen {
				s[metric] = value == 0 || value == 1
			}
		}
	}
	for _, metric := range lower {
		delete(s, metric)
	}
	return s
}

func (s success) of(r *evals.Row) Outcome {
	o := NotScored
	for metric, value := range r.Scores.All() {
		switch {
		case !s[metric]:
		case value == 0:
			return Failed
		default:
			o = Passed
		}
	}
	if len(r.Errors) > 0 {
		return NotScored
	}
	return o
}

func (s success) ofCase(rows []evals.Row) Case {
	c := Case{
		Case: rows[0].Case, Cluster: rows[0].Cluster, Outcome: s.of(&rows[0]),
		Runs: len(rows), Scores: map[string]float64{}, rows: rows,
	}
	n := map[string]float64{}
	for i := range rows {
		r := &rows[i]
		if s.of(r) != c.Outcome {
			c.Outcome = Mixed
		}
		for metric, value := range r.Scores.All() {
			n[metric]++
			c.Scores[metric] += (value - c.Scores[metric]) / n[metric]
		}
		for metric := range r.Errors.All() {
			if c.Errors == nil {
				c.Errors = map[string]int{}
			}
			c.Errors[metric]++
		}
	}
	return c
}
