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

// The responses of graders are kept with the row, with or without a score; their usage
// is counted separately from that of the run.
func TestGradings(t *testing.T) {
	grader := evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score {
		return []evals.Score{
			{Metric: "good", Value: 1, Grading: &evals.Grading{Responses: []string{"yes\xff", "no"}, Usage: llm.Usage{InputTokens: 30, OutputTokens: 4}}},
			{Metric: "bad", Err: errors.New("unreadable"), Grading: &evals.Grading{Responses: []string{"what"}, Usage: llm.Usage{InputTokens: 1, OutputTokens: 2, ReasoningOutputTokens: 1}}},
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
		"good": {Responses: []string{"yes\uFFFD", "no"}, Usage: llm.Usage{InputTokens: 30, OutputTokens: 4}},
		"bad":  {Responses: []string{"what"}, Usage: llm.Usage{InputTokens: 1, OutputTokens: 2, ReasoningOutputTokens: 1}},
	}
	for row := range r.Rows.All() {
		if diff := cmp.Diff(evals.NewByName(want), row.Gradings); diff != "" {
			t.Errorf("the gradings of %s (-want +got):\n%s", row.Case, diff)
		}
	}
	if got := []llm.Usage{r.Rows.At(0).Usage, r.Rows.At(1).Usage}; got[0].InputTokens != 5 || got[1].InputTokens != 0 {
		t.Errorf("the runs took %v", got)
	}
	f, err := r.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(llm.Usage{InputTokens: 62, OutputTokens: 12, ReasoningOutputTokens: 2}, f.Graders); diff != "" {
		t.Errorf("usage of the graders (-want +got):\n%s", diff)
	}
	again, err := evals.ReadResult("part", strings.NewReader(written(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written(t, r), written(t, again)); diff != "" {
		t.Errorf("read and written again (-want +got):\n%s", diff)
	}
}

// Brief rows have no explanations and no grader responses, and the same statistics. Options.Seen
// gets complete rows, and a journal stores them.
func TestBrief(t *testing.T) {
	grader := evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score {
		return []evals.Score{{Metric: "m", Value: 1, Explanation: "why", Grading: &evals.Grading{Responses: []string{"yes"}, Usage: llm.Usage{InputTokens: 3}}}}
	})
	rowAndSummary := func(o *evals.Options) (evals.Row, *evals.Summary) {
		o.Scorers = []evals.Scoring{{Name: "g", Scorer: grader}}
		r := must(evals.ScoreFiles(t.Context(), []evals.Input{again("f", runs("a/0"))}, o))(t)
		return r.Rows.At(0), must(r.Summary(nil))(t)
	}
	whole, statistics := rowAndSummary(&evals.Options{})
	var seen []string
	brief, same := rowAndSummary(&evals.Options{Brief: true, Seen: func(row *evals.Row, _ *importer.Run) {
		seen = append(seen, row.Explanations.Of("m"), row.Gradings.Of("m").Responses[0])
	}})
	if diff := cmp.Diff(statistics, same); diff != "" {
		t.Errorf("statistics (-whole +brief):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"why", "yes"}, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if brief.Explanations != nil || brief.Gradings.Of("m").Responses != nil || brief.Scores.Of("m") != 1 {
		t.Errorf("brief is %+v", brief)
	}
	journaled, _ := rowAndSummary(&evals.Options{Brief: true, Journal: must(evals.OpenJournal(&disk{}, "v"))(t)})
	if diff := cmp.Diff(whole, journaled, listed); diff != "" {
		t.Errorf("with a journal (-whole +got):\n%s", diff)
	}
}
