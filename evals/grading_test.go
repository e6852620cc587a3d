package evals_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// What graders said is kept with the row, whether it came to a score or not; what they took
// is counted apart from what the run took.
func TestGradings(t *testing.T) {
	grader := evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score {
		return []evals.Score{
			{Metric: "good", Value: 1, Grading: &evals.Grading{Answers: []string{"yes\xff", "no"}, Usage: llm.Usage{Input: 30, Output: 4}}},
			{Metric: "bad", Err: errors.New("unreadable"), Grading: &evals.Grading{Answers: []string{"what"}, Usage: llm.Usage{Input: 1, Output: 2, Reasoning: 1}}},
			{Metric: "silent", Err: errors.New("no answer"), Grading: &evals.Grading{}},
			{Metric: "plain", Value: 1},
		}
	})
	text := strings.Replace(runs("a=1:x b=1:x"), `"score":1`, `"usage":{"prompt_tokens":5}`, 1)
	r, err := evals.ScoreFiles(t.Context(), []evals.Input{file("f", text)}, &evals.Options{Scorers: []evals.Scoring{{Name: "g", Scorer: grader}}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]evals.Grading{
		"good": {Answers: []string{"yes\uFFFD", "no"}, Usage: llm.Usage{Input: 30, Output: 4}},
		"bad":  {Answers: []string{"what"}, Usage: llm.Usage{Input: 1, Output: 2, Reasoning: 1}},
	}
	for _, row := range r.Rows {
		if diff := cmp.Diff(want, row.Gradings); diff != "" {
			t.Errorf("the gradings of %s (-want +got):\n%s", row.Case, diff)
		}
	}
	if got := []llm.Usage{r.Rows[0].Usage, r.Rows[1].Usage}; got[0].Input != 5 || got[1].Input != 0 {
		t.Errorf("the runs took %v", got)
	}
	f, err := r.Figures(0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(llm.Usage{Input: 62, Output: 12, Reasoning: 2}, f.Graders); diff != "" {
		t.Errorf("what the graders took (-want +got):\n%s", diff)
	}
	again, err := evals.ReadResult("part", strings.NewReader(written(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written(t, r), written(t, again)); diff != "" {
		t.Errorf("read and written again (-want +got):\n%s", diff)
	}
}
