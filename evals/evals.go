// Package evals scores recorded runs, computes statistics with their uncertainty, and compares
// sets of runs.
//
// A run becomes a [Row]: its case, its epoch and its scores by metric. A [Result] stores rows;
// [Result.Summary] and [Result.Compare] compute everything else from them. So [Merge] of the results
// of several score files is, byte for byte, the result of all recordings, in any order.
//
// Scoring needs no network and changes no recording. Missing and failed scores are counted and
// reported. They do not enter any mean. Package stats contains the formulas.
package evals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// Score is the value that a scorer assigns to a run for one metric.
type Score struct {
	Metric string
	Value  float64 // 1 for a success and 0 for a failure where it is binary
	// Err is the reason for a missing Value. It counts as an error of the metric. A scorer omits
	// a score that the run does not have; that score counts as missing.
	Err error
	// Explanation describes in a few words what was expected and what the run did; may be empty.
	Explanation string
	// Findings are the rules that the run breaks, such as INV-04, each once. A [Gate] fails for those
	// that no run of the case breaks in the baseline.
	Findings []string
	// Grading contains the responses of the model that graded the run, or nil.
	Grading *Grading
}

// Grading contains the responses of a model that graded a run.
type Grading struct {
	Responses []string `json:"responses"` // unchanged, in order
	// Usage is the usage of the responses. It is not part of the usage of the run.
	Usage llm.Usage `json:"usage,omitzero"`
}

// UnmarshalJSON reads a grading. Version 1 of score files has the member answers.
func (g *Grading) UnmarshalJSON(b []byte) error {
	var v struct {
		Responses, Answers []string
		Usage              llm.Usage
	}
	err := json.Unmarshal(b, &v)
	*g = Grading{append(v.Responses, v.Answers...), v.Usage}
	return err
}

// Scorer scores a run. It must be safe for concurrent use and return equal scores for equal runs.
// It must not change or keep the run.
type Scorer interface {
	Score(ctx context.Context, run *importer.Run) []Score
}

// ScorerFunc adapts a function to [Scorer].
type ScorerFunc func(ctx context.Context, run *importer.Run) []Score

// Score calls f.
func (f ScorerFunc) Score(ctx context.Context, run *importer.Run) []Score { return f(ctx, run) }

// appendRecorded appends the scores in the recording, such as the reward of a benchmark.
func appendRecorded(scores []Score, run *importer.Run) []Score {
	for _, s := range run.Scores {
		scores = append(scores, Score{Metric: s.Name, Value: s.Value, Err: s.Err})
	}
	return scores
}

// Scoring is a scorer with a name that identifies all that its scores depend on. Only results
// with equal names can be merged.
type Scoring struct {
	Name   string
	Scorer Scorer // nil for the scores in the recording, such as the reward of a benchmark
}

// scored stores all scores of a run. A metric with two scores gets an error.
func (r *Row) scored(scores []Score) {
	if r.plain(scores) {
		return
	}
	values, wrong := map[string]float64{}, map[string]string{}
	explained, graded, found := map[string]string{}, map[string]Grading{}, map[string][]string{}
	for _, s := range scores {
		metric := validText(s.Metric)
		if s.Grading != nil && len(s.Grading.Responses) > 0 {
			graded[metric] = s.Grading.valid()
		}
		_, before := values[metric]
		_, failed := wrong[metric]
		if err := s.wrong(before || failed); err != nil {
			delete(values, metric)
			delete(explained, metric)
			delete(found, metric)
			wrong[metric] = validText(err.Error())
			continue
		}
		values[metric] = s.Value
		if s.Explanation != "" {
			explained[metric] = validText(s.Explanation)
		}
		for _, rule := range s.Findings {
			found[metric] = append(found[metric], validText(rule))
		}
	}
	r.Scores, r.Errors = newByName(values), newByName(wrong)
	r.Explanations, r.Gradings, r.Findings = newByName(explained), newByName(graded), newByName(found)
}

// plain stores scores with the memory of r.Scores, if they are only valid values of different metrics. It reports
// whether they are.
func (r *Row) plain(scores []Score) bool {
	values := r.Scores[:0]
	r.Scores = nil
	for i := range scores {
		if !scores[i].plain() {
			return false
		}
		values = append(values, item[float64]{validText(scores[i].Metric), scores[i].Value})
	}
	slices.SortFunc(values, func(a, b item[float64]) int { return cmp.Compare(a.Name, b.Name) })
	for i := range values[min(1, len(values)):] {
		if values[i].Name == values[i+1].Name {
			return false
		}
	}
	if len(values) > 0 {
		r.Scores = values
	}
	return true
}

// plain reports whether a score is only a valid value.
func (s *Score) plain() bool {
	return s.Explanation == "" && s.Grading == nil && len(s.Findings) == 0 && s.wrong(false) == nil
}

// wrong returns the reason for a missing value.
func (s *Score) wrong(again bool) error {
	switch {
	case again:
		return errors.New("the metric has two scores: use unique metric names")
	case s.Err != nil:
		return s.Err
	case !(math.Abs(s.Value) <= stats.MaxValue):
		return fmt.Errorf("the score %v: want a number within ±%v", s.Value, stats.MaxValue)
	}
	return nil
}

// valid returns a copy with valid texts.
func (g *Grading) valid() Grading {
	own := Grading{Usage: g.Usage}
	for _, text := range g.Responses {
		own.Responses = append(own.Responses, validText(text))
	}
	return own
}
