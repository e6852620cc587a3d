// Package report shows scored runs: for people as Markdown, for programs as JSON, JSON
// Lines, CSV and Parquet. It computes no figures; it tells which cases failed, and in what
// words. It leaves out what a terminal shows, and where a report goes.
package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/looptape/looptape/evals"
)

// Outcome is how a run or a case ended.
type Outcome string

// The outcomes, in the order in which cases are told.
const (
	// Failed is a run that a metric of success says to have failed; a metric of success is
	// one whose scores are all 0 or 1, and of which more is better.
	Failed Outcome = "failed"
	// Mixed is a case whose runs have several outcomes.
	Mixed Outcome = "mixed"
	// NotScored is a run of which no metric of success has a score, or, unless it failed,
	// a score could not be made.
	NotScored Outcome = "not_scored"
	// Passed is a run that is 1 by each metric of success that it has a score of.
	Passed Outcome = "passed"
)

// Outcomes are all of them, in their order.
func Outcomes() []Outcome { return []Outcome{Failed, Mixed, NotScored, Passed} }

// Report is a result with all that its forms show. It is not to be changed.
type Report struct {
	Result  *evals.Result
	Summary *evals.Summary
	// Cases are sorted by outcome and then by name.
	Cases []Case

	// Base and Comparison are the result that this one was compared with, and what
	// changed; nil if none was.
	Base       *evals.Result
	Comparison *evals.Comparison

	success, baseSuccess success
}

// Case is what the runs of a case come to.
type Case struct {
	Case    string  `json:"case"`
	Cluster string  `json:"cluster,omitempty"`
	Outcome Outcome `json:"outcome"`
	Runs    int     `json:"runs"`
	// Scores are the means of the runs that have a score, by metric, and Errors counts the
	// runs whose score could not be made.
	Scores map[string]float64 `json:"scores"`
	Errors map[string]int     `json:"errors,omitempty"`

	rows []evals.Row
}

// Options of a report; the zero value shows one result alone.
type Options struct {
	// Base is what the result is compared with; may be nil.
	Base *evals.Result
	// Lower are the metrics of which less is better, which are none of success.
	Lower []string
	// Seed is where what is random starts.
	Seed uint64
}

// New returns the report of a result. The error is that of [evals.Result.Summary] or of
// [evals.Compare]. o may be nil.
func New(r *evals.Result, o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	f, err := r.Summary(o.Seed)
	if err != nil {
		return nil, err
	}
	rep := &Report{Result: r, Summary: f, Base: o.Base, success: successOf(r, o.Lower)}
	for _, rows := range r.Cases() {
		rep.Cases = append(rep.Cases, rep.success.ofCase(rows))
	}
	order := Outcomes()
	slices.SortStableFunc(rep.Cases, func(a, b Case) int {
		return cmp.Compare(slices.Index(order, a.Outcome), slices.Index(order, b.Outcome))
	})
	if o.Base != nil {
		rep.baseSuccess = successOf(o.Base, o.Lower)
		all, err := evals.CompareAll(o.Base, []*evals.Result{r}, o.Seed)
		if err != nil {
			return nil, err
		}
		rep.Comparison = all[0]
	}
	return rep, nil
}

// Of returns the cases of an outcome.
func (r *Report) Of(o Outcome) (cases []Case) {
	for i := range r.Cases {
		if r.Cases[i].Outcome == o {
			cases = append(cases, r.Cases[i])
		}
	}
	return cases
}

// Metrics are the names of those that a run has a score or an error of, in the base too if
// there is one, sorted.
func (r *Report) Metrics() []string {
	if r.Comparison != nil {
		return slices.Sorted(maps.Keys(r.Comparison.Metrics))
	}
	return slices.Sorted(maps.Keys(r.Summary.Metrics))
}

// Tells reports whether a metric is one of success, in the base too if there is one.
func (r *Report) Tells(metric string) bool {
	return r.success[metric] && (r.Base == nil || r.baseSuccess[metric])
}

// success are the metrics that say whether a run succeeded.
type success map[string]bool

func successOf(r *evals.Result, lower []string) success {
	s := success{}
	for i := range r.Rows {
		for metric, value := range r.Rows[i].Scores.All() {
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

// of is the outcome of a run.
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

// ofCase is what the runs of a case come to.
func (s success) ofCase(rows []evals.Row) Case {
	c := Case{Case: rows[0].Case, Cluster: rows[0].Cluster, Outcome: s.of(&rows[0]), Runs: len(rows), Scores: map[string]float64{}, rows: rows}
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
