package report_test

import (
	"context"
	"io"
	"log"
	"os"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
)

func ExampleReport_Markdown() {
	const runs = `{"case":"book","reward":1,"messages":[]}
{"case":"seat","reward":0,"messages":[]}
`
	in := evals.Input{Name: "runs.jsonl", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(runs)), nil }}
	result, err := evals.ScoreFiles(context.Background(), []evals.Input{in}, nil)
	if err != nil {
		log.Fatal(err)
	}
	r, err := report.New(result, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Markdown(os.Stdout, report.Lists{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ### looptape eval report
	//
	// **1 of 2 cases passed; reward: pass rate 0.5 \(95 % 0.0945 to 0.905\).**
	//
	// Runs: 2, of 2 cases, up to 1 per case. Cases: 1 failed, 1 passed.
	//
	// | metric | n | mean | 95 % |
	// | --- | --- | --- | --- |
	// | reward | 2 | 0.5000 | 0.0945 to 0.9055 |
	//
	// | failed \(1\) | runs | scores |
	// | --- | --- | --- |
	// | seat | 1 | reward 0 |
	//
	// <details><summary>passed (1)</summary>
	//
	// | passed \(1\) | runs | scores |
	// | --- | --- | --- |
	// | book | 1 | reward 1 |
	//
	// </details>
}
