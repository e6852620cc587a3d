package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/evals/report/page"
	"github.com/looptape/looptape/trace/importer"
)

type object = map[string]any

// run returns a run as a message list: a prompt, a call, its result and a final answer.
func run(name string, epoch int, score float64, asked, tool, args, result, answer string) string {
	line, _ := json.Marshal(object{
		"case": name, "epoch": epoch, "score": score,
		"messages": []object{
			{"role": "system", "content": "You are " + strings.Repeat("very ", 100) + "kind."},
			{"role": "user", "content": asked},
			{"role": "assistant", "content": nil, "tool_calls": []object{{"id": "1", "type": "function", "function": object{"name": tool, "arguments": args}}}},
			{"role": "tool", "tool_call_id": "1", "content": result},
			{"role": "assistant", "content": answer},
		},
	})
	return string(line) + "\n"
}

// made returns the page of the scored runs of a file, compared with those of a base if there are any.
func made(t *testing.T, title, file, runs, base string, scorers ...evals.Scoring) string {
	t.Helper()
	return written(t, pageOf(t, title, file, runs, base, scorers...))
}

func written(t *testing.T, p *page.Page) string {
	t.Helper()
	var html bytes.Buffer
	if err := p.Write(&html); err != nil {
		t.Fatal(err)
	}
	return html.String()
}

func pageOf(t *testing.T, title, file, runs, base string, scorers ...evals.Scoring) *page.Page {
	t.Helper()
	set := func(text string) (*evals.Result, *page.Runs) {
		said := page.NewRuns(64 << 20)
		in := evals.Input{Name: file, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
		r, err := evals.ScoreFiles(t.Context(), []evals.Input{in}, &evals.Options{Scorers: scorers, Seen: said.Add})
		if err != nil {
			t.Fatal(err)
		}
		return r, said
	}
	p := &page.Page{Title: title}
	var result *evals.Result
	o := &report.Options{}
	result, p.Runs = set(runs)
	if base != "" {
		o.Base, p.Base = set(base)
	}
	var err error
	if p.Report, err = report.New(result, o); err != nil {
		t.Fatal(err)
	}
	return p
}

// plain returns a page with a case of each outcome.
func plain(t *testing.T) string {
	t.Helper()
	return written(t, plainPage(t))
}

func plainPage(t *testing.T) *page.Page {
	t.Helper()
	runs := run("book", 0, 1, "Book a table.", "book", `{"at": "19:00"}`, `{"table": 7}`, "Booked.") +
		run("book", 1, 0, "Book a table.", "book", `{"at": "20:00"}`, "Error: nothing is free", "No table.") +
		run("cancel", 0, 0, "Cancel it.", "cancel", `{}`, "gone", "Done.") +
		run("pay", 0, 1, "Pay the bill.", "pay", `{"amount": 12.50}`, "paid", "Paid.") +
		`{"case":"wait","epoch":0,"messages":[{"role":"user","content":"Wait."}]}` + "\n"
	base := run("book", 0, 0, "Book a table.", "book", `{"at": "18:00"}`, `{"table": 7}`, "Booked.") +
		run("cancel", 0, 1, "Cancel it.", "cancel", `{}`, "gone", "Done.") +
		run("pay", 0, 1, "Pay the bill.", "pay", `{"amount": 12.50}`, "paid", "Paid.")
	length := evals.ScorerFunc(func(_ context.Context, run *importer.Run) []evals.Score {
		return []evals.Score{{Metric: "messages", Value: float64(len(run.Messages)), Explanation: "as many as were said", Grading: &evals.Grading{Responses: []string{"I count them."}}}}
	})
	return pageOf(t, "runs against base", "runs.jsonl", runs, base, evals.Scoring{Name: "recorded"}, evals.Scoring{Name: "length", Scorer: length})
}

// payloads returns texts that would run as HTML or code.
func payloads() []string {
	return []string{
		`<script>window.planted = "script"</script>`,
		`</script><script>window.planted = "end of data"</script>`,
		`<img src="x" onerror="window.planted = 'image'">`,
		`"><svg onload="window.planted = 'attribute'">`,
		`javascript:window.planted='link'`,
		`[a link](javascript:window.planted='markdown')`,
		`<a href="javascript:window.planted='anchor'">here</a>`,
		`<!--<script>window.planted = "comment"`,
		`<iframe srcdoc="<script>parent.planted='frame'</script>"></iframe>`,
		`</title></style></head><body onload="window.planted='head'">`,
		"${window.planted='template'}`",
		"\u2028window.planted = 'line'\u2029",
		`__proto__`,
		`constructor`,
	}
}

// hostile returns a page with scripts in each text of a recording or a scorer.
func hostile(t *testing.T) string {
	t.Helper()
	var runs, base strings.Builder
	for i, bad := range payloads() {
		runs.WriteString(run(bad, 0, 0, bad, bad, bad, bad, bad))
		runs.WriteString(run(bad, 1, 1, bad, bad, fmt.Sprintf(`{%q: %q}`, bad, bad), `{"html": `+fmt.Sprintf("%q", bad)+`}`, bad))
		if i > 0 {
			base.WriteString(run(bad, 0, 1, bad, bad, "{}", bad, bad))
		}
	}
	for _, bad := range payloads() { // unreadable records
		base.WriteString(bad + "\n")
	}
	bad := evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score {
		var scores []evals.Score
		for i, bad := range payloads() {
			s := evals.Score{Metric: bad, Value: 1, Explanation: bad, Grading: &evals.Grading{Responses: []string{bad}}}
			if i%2 > 0 {
				s.Err = errors.New(bad)
			}
			scores = append(scores, s)
		}
		return scores
	})
	return made(t, strings.Join(payloads(), " "), payloads()[0]+".jsonl", runs.String(), base.String(), evals.Scoring{Name: "recorded"}, evals.Scoring{Name: payloads()[0], Scorer: bad})
}
