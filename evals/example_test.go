package evals_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/trace/importer"
)

// before and after are recordings of the same tasks with two versions of an agent.
const (
	before = `{"case":"book","reward":1,"messages":[{"role":"user","content":"Book a seat."},{"role":"assistant","content":"Done."}]}
{"case":"seat","reward":0,"messages":[{"role":"user","content":"At the window."},{"role":"assistant","content":"I am sorry."}]}
{"case":"meal","reward":1,"messages":[{"role":"user","content":"No meat."},{"role":"assistant","content":"Noted."}]}
`
	after = `{"case":"book","reward":0,"messages":[{"role":"user","content":"Book a seat."},{"role":"assistant","content":"I am sorry."}]}
{"case":"seat","reward":1,"messages":[{"role":"user","content":"At the window."},{"role":"assistant","content":"Done."}]}
{"case":"meal","reward":1,"messages":[{"role":"user","content":"No meat."},{"role":"assistant","content":"Noted."}]}
`
)

// input returns a recording in memory. A program opens a file here.
func input(name, text string) evals.Input {
	return evals.Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func scoreRecording(name, text string, scorings ...evals.Scoring) *evals.Result {
	result, err := evals.ScoreFiles(context.Background(), []evals.Input{input(name, text)}, &evals.Options{Scorers: scorings})
	if err != nil {
		log.Fatal(err)
	}
	return result
}

// Scoring uses the scores in a recording, here the rewards of a benchmark.
func ExampleScoreFiles() {
	result, err := evals.ScoreFiles(context.Background(), []evals.Input{input("before.jsonl", before)}, nil)
	if err != nil {
		log.Fatal(err)
	}
	summary, err := result.Summary(nil)
	if err != nil {
		log.Fatal(err)
	}
	reward := summary.Metrics["reward"]
	fmt.Printf("%d runs of %d cases, mean %.2f, 95 %% from %.2f to %.2f\n",
		summary.Runs, summary.Cases, *reward.Mean, reward.CI95.Wilson[0], reward.CI95.Wilson[1])
	// Output: 3 runs of 3 cases, mean 0.67, 95 % from 0.21 to 0.94
}

// A scorer of your own is a function over one run.
func ExampleScorerFunc() {
	apologizes := evals.ScorerFunc(func(_ context.Context, run *importer.Run) []evals.Score {
		score := evals.Score{Metric: "apologizes", Explanation: "the final answer has no apology"}
		if last := run.Messages[len(run.Messages)-1].Text(); strings.Contains(last, "sorry") {
			score.Value, score.Explanation = 1, last
		}
		return []evals.Score{score}
	})
	result := scoreRecording("before.jsonl", before, evals.Scoring{Name: "apologizes", Scorer: apologizes})
	for row := range result.Rows.All() {
		fmt.Println(row.Case, row.Scores.Of("apologizes"), row.Explanations.Of("apologizes"))
	}
	// Output:
	// book 0 the final answer has no apology
	// meal 0 the final answer has no apology
	// seat 1 I am sorry.
}

func ExampleResult_Compare() {
	base, changed := scoreRecording("before.jsonl", before), scoreRecording("after.jsonl", after)
	comparisons, err := base.Compare([]*evals.Result{changed}, 0)
	if err != nil {
		log.Fatal(err)
	}
	reward := comparisons[0].Metrics["reward"]
	fmt.Printf("%d cases, difference %+.2f, p = %.2f\n", reward.Pairs, *reward.Difference, *reward.P.Best())
	fmt.Println("regressed:", reward.Regressed)
	fmt.Println("fixed:", reward.Fixed)
	// Output:
	// 3 cases, difference +0.00, p = 1.00
	// regressed: [book]
	// fixed: [seat]
}

// A gate fails if a case that must pass fails.
func ExampleGate_Evaluate() {
	baseline, err := scoreRecording("before.jsonl", before).Baseline(nil, []string{"book"})
	if err != nil {
		log.Fatal(err)
	}
	result, err := (&evals.Gate{}).Evaluate(baseline, scoreRecording("after.jsonl", after))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("passed:", result.Passed)
	for _, f := range result.Findings {
		fmt.Printf("%s: %s %s: %s\n", f.Title(), f.Metric, f.Case, f.Message)
	}
	// Output:
	// passed: false
	// must pass: reward book: the run run-1 failed
}

// A score file of each machine gives the result of all runs.
func ExampleMerge() {
	first, rest, _ := strings.Cut(before, "\n")
	whole, err := evals.Merge(scoreRecording("first.jsonl", first), scoreRecording("rest.jsonl", rest))
	if err != nil {
		log.Fatal(err)
	}
	for row := range whole.Rows.All() {
		fmt.Printf("%s %v from %s:%d\n", row.Case, row.Scores.Of("reward"), row.File, row.Line)
	}
	// Output:
	// book 1 from first.jsonl:1
	// meal 1 from rest.jsonl:2
	// seat 0 from rest.jsonl:1
}

// Power computes how many cases would show a difference of 0.1.
func ExampleResult_Power() {
	base, changed := scoreRecording("before.jsonl", before), scoreRecording("after.jsonl", after)
	power, err := base.Power(changed, 0.1, stats.Test{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("existing cases:", power.Metrics["reward"].Same.Cases)
	fmt.Println("required cases:", *power.Metrics["reward"].Same.Needed)
	// Output:
	// existing cases: 3
	// required cases: 521
}

// A suite file names recordings, scorers and the baseline.
func ExampleParseSuite() {
	suite, err := evals.ParseSuite("eval.yaml", []byte(`
suite: 2
runs: [runs/*.jsonl]
scorers:
  - kind: exact
    settings: {expected: [Done.]}
gate: {must_pass: [book]}
`), scorers.Parse)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(suite.Runs, suite.Scorers[0].Name, suite.Gate.MustPass)
	// Output: [runs/*.jsonl] exact{"expected":["Done."]} [book]
}
