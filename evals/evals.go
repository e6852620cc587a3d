// Package evals scores recorded runs and says how well they did, how sure that is, and
// what changed between two sets of them.
//
// A run becomes a [Row]: its case, its epoch and its scores by metric. Rows are what a
// [Result] keeps and what its file holds; [Result.Summary] and [Compare] compute all
// else of them in the end. So results of parts that are put together with [Merge] are,
// byte for byte, the result of the whole, whatever the order of files and parts.
//
// Scoring needs no network and changes nothing. A score that is missing or could not
// be made is counted and shown, and never taken for a number. The formulas are those of
// package stats. Package evals leaves out where recordings lie, and every decision.
package evals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// Score is what a scorer says of a run by one metric.
type Score struct {
	Metric string
	Value  float64 // 1 for a success and 0 for a failure where it is binary
	// Err says why there is no Value. It counts as an error of the metric; a score
	// that the run does not have is left out instead, and counts as missing.
	Err error
	// Explanation says in a few words what was expected and what came; may be empty.
	Explanation string
	// Grading is what a model said of which the score was made, or could not be; else nil.
	Grading *Grading
}

// Grading is what a model said that was asked to grade a run.
type Grading struct {
	Responses []string `json:"responses"` // as they were, in the order of asking
	// Usage is what the answers took. It is no part of what the run took.
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

// Scorer scores a run. It may be called by several goroutines at once, and returns the
// same for the same run. It may neither change the run nor keep it.
type Scorer interface {
	Score(ctx context.Context, run *importer.Run) []Score
}

// ScorerFunc makes a function a Scorer.
type ScorerFunc func(ctx context.Context, run *importer.Run) []Score

// Score calls f.
func (f ScorerFunc) Score(ctx context.Context, run *importer.Run) []Score { return f(ctx, run) }

// Recorded is the scorer of the scores that the recording itself carries, such as the
// reward of a benchmark.
func Recorded(_ context.Context, run *importer.Run) []Score {
	scores := make([]Score, len(run.Scores))
	for i, s := range run.Scores {
		scores[i] = Score{Metric: s.Name, Value: s.Value, Err: s.Err}
	}
	return scores
}

// Scoring is a scorer by its name, which tells all that its scores depend on: only
// results of the same names are put together.
type Scoring struct {
	Name   string
	Scorer Scorer
}

// scored takes all scores of a run into its row. A metric that is scored twice has an
// error.
func (r *Row) scored(scores []Score) {
	values, wrong := map[string]float64{}, map[string]string{}
	explained, graded := map[string]string{}, map[string]Grading{}
	for _, s := range scores {
		metric := validText(s.Metric)
		if s.Grading != nil && len(s.Grading.Responses) > 0 {
			graded[metric] = s.Grading.kept()
		}
		_, before := values[metric]
		_, failed := wrong[metric]
		if err := s.wrong(before || failed); err != nil {
			delete(values, metric)
			delete(explained, metric)
			wrong[metric] = cloneText(err.Error())
			continue
		}
		values[metric] = s.Value
		if s.Explanation != "" {
			explained[metric] = cloneText(s.Explanation)
		}
	}
	r.Scores, r.Errors = NewByName(values), NewByName(wrong)
	r.Explanations, r.Gradings = NewByName(explained), NewByName(graded)
}

// wrong is why there is no value, which there may be of a metric but once.
func (s *Score) wrong(again bool) error {
	switch {
	case again:
		return errors.New("the metric has two scores: give them names of their own")
	case s.Err != nil:
		return s.Err
	case !(math.Abs(s.Value) <= stats.MaxValue):
		return fmt.Errorf("the score %v is no number within ±%v", s.Value, stats.MaxValue)
	}
	return nil
}

// kept is a grading with texts of its own.
func (g *Grading) kept() Grading {
	own := Grading{Usage: g.Usage}
	for _, text := range g.Responses {
		own.Responses = append(own.Responses, cloneText(text))
	}
	return own
}
