package evals_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// The case is that of the recording, else the first user message, else the name of the run.
func TestCase(t *testing.T) {
	const user = `{"role":"system","content":"s"},{"role":"user","content":"Where is it?"},{"role":"user","content":"So?"}`
	long := strings.Repeat("é", 150)
	for name, c := range map[string]struct{ run, want string }{
		"said":       {`{"id":"x","case":"a","messages":[` + user + `]}`, "a"},
		"asked":      {`{"messages":[` + user + `]}`, "Where is it?"},
		"named":      {`{"messages":[{"role":"assistant","content":"hi"}]}`, "run-1"},
		"empty":      {`{"messages":[{"role":"user","content":""}]}`, "run-1"},
		"as long as": {`{"messages":[{"role":"user","content":"` + long[:200] + `"}]}`, long[:200]},
		"long":       {`{"messages":[{"role":"user","content":"` + long + `"}]}`, long[:198] + "… cb1fa3158102cb16edae890e78baadd9"},
		"longer":     {`{"messages":[{"role":"user","content":"x` + long + `"}]}`, "x" + long[:198] + "… 4241c5082389ce56c367f4680aca9c25"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, score(t, file("f", c.run)).Rows.At(0).Case); diff != "" {
				t.Errorf("case (-want +got):\n%s", diff)
			}
		})
	}
}

// What is not UTF-8 is the same through a file and not.
func TestNotUTF8(t *testing.T) {
	ask := func(text string) string {
		return traced(t, "a\xff", trace.RunStart{}, trace.ModelRequest{NewMessages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: text}}}}})
	}
	r := score(t, file("f\xff", ask("a\xffb\xfe")), file("g", ask(strings.Repeat("\x80", 300))), file("\xfe", "7"), file("h", ask("\xff")))
	var got []string
	for row := range r.Rows.All() {
		got = append(got, row.Case, row.Run, row.File)
	}
	if diff := cmp.Diff([]string{"a\uFFFDb\uFFFD", "a\uFFFD", "f\uFFFD", "… a02b8868d669060f176d2496cbd334db", "a\uFFFD", "g", "\uFFFD", "a\uFFFD", "h"}, got); diff != "" {
		t.Errorf("cases, runs and files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(written(t, r), written(t, reread(t, r))); diff != "" {
		t.Errorf("through a file (-not +through):\n%s", diff)
	}
}

// The digest distinguishes runs that differ in anything except position and name.
func TestDigest(t *testing.T) {
	digests := map[string]string{}
	for _, run := range []string{
		`{"case":"a","messages":[]}`,
		`{"case":"a","score":1,"messages":[]}`,
		`{"case":"a","score":0,"messages":[]}`,
		`{"case":"a","scor":"e0","messages":[]}`,
		`{"case":"a","messages":[{"role":"user","content":"x"}]}`,
		`{"case":"a","messages":[{"role":"assistant","content":"x"}]}`,
		`{"case":"a","messages":[{"role":"user","content":"x"},{"role":"user","content":"x"}]}`,
		traced(t, "a", trace.RunStart{}),
		traced(t, "a", trace.RunStart{}, trace.ModelResponse{}),
	} {
		d := score(t, file("f", run)).Rows.At(0).Digest
		if other, ok := digests[d]; ok {
			t.Errorf("%s and %s have the same digest", run, other)
		}
		digests[d] = run
		if again := score(t, file("g", "\n"+run)).Rows.At(0).Digest; again != d {
			t.Errorf("%s: the digest is %s, and in another place %s", run, d, again)
		}
	}
	if a, b := score(t, file("f", traced(t, "a", trace.RunStart{}))), score(t, file("f", traced(t, "b", trace.RunStart{}))); a.Rows.At(0).Digest != b.Rows.At(0).Digest {
		t.Error("the name of the run is in the digest")
	}
	if d := score(t, file("f", runs("a/0=1"))).Rows.At(0).Digest; d != "" {
		t.Errorf("a run with an epoch has the digest %s", d)
	}
}

// traced is a trace of one run, an event a second.
func traced(t testing.TB, run string, bodies ...trace.Body) string {
	t.Helper()
	var b bytes.Buffer
	w := trace.NewWriter(&b, trace.Header{})
	for i, body := range bodies {
		if err := w.Write(trace.Event{Seq: i, Run: run, At: time.Duration(i) * time.Second, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The row of a trace has the prompt, the resources and the duration. The resources of runs that a
// call started count for the run with the call.
func TestTraceRows(t *testing.T) {
	ask := func(text string) trace.ModelRequest {
		return trace.ModelRequest{NewMessages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: text}}}}}
	}
	turn := func(in int64) trace.ModelResponse {
		return trace.ModelResponse{Usage: llm.Usage{InputTokens: in, OutputTokens: 1}}
	}
	child := func(of string) trace.RunStart { return trace.RunStart{Parent: &trace.Parent{Run: of, ToolCallID: "c"}} }
	r := score(t, file("f", traced(t, "grandchild", child("child"), ask("deep"), turn(1000), trace.RunEnd{})+
		traced(t, "child", child("top"), ask("sub"), turn(100), trace.RunEnd{})+
		traced(t, "top", trace.RunStart{}, ask("Hello"), trace.ModelError{Usage: llm.Usage{InputTokens: 10}}, ask("again"), turn(1), trace.RunEnd{})+
		traced(t, "other", trace.RunStart{}, ask("Hi"), turn(5))))
	want := []evals.Row{
		{Case: "Hello", Epoch: importer.NoEpoch, Run: "top", Usage: llm.Usage{InputTokens: 1111, OutputTokens: 3}, Latency: 5 * time.Second},
		{Case: "Hi", Epoch: importer.NoEpoch, Run: "other", Usage: llm.Usage{InputTokens: 5, OutputTokens: 1}, Latency: 2 * time.Second},
	}
	if diff := cmp.Diff(evals.NewRows(want...), r.Rows, listed, cmpopts.IgnoreFields(evals.Row{}, "File", "Line", "Digest")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Seen gets each run that is read with its row, a nested run before its caller; an
// incomplete run is not.
func TestSeen(t *testing.T) {
	child := trace.RunStart{Parent: &trace.Parent{Run: "top", ToolCallID: "c"}}
	text := traced(t, "child", child, trace.RunEnd{}) + traced(t, "top", trace.RunStart{}, trace.RunEnd{}) + traced(t, "cut", trace.RunStart{}, trace.StepStart{}, trace.RunEnd{})
	var got []string
	seen := func(row *evals.Row, run *importer.Run) {
		got = append(got, fmt.Sprintf("%s, %d events, scores %v", row.Run, len(run.Events), row.Scores))
	}
	one := evals.Scoring{Name: "one", Scorer: evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score { return []evals.Score{{Metric: "m", Value: 1}} })}
	in := file("f", strings.Replace(text, `{"seq":1,"run":"cut"`, `{"seq"-1,"run":"cut"`, 1))
	if _, err := evals.ScoreFiles(t.Context(), []evals.Input{in}, &evals.Options{Scorers: []evals.Scoring{one}, Seen: seen}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"child, 2 events, scores []", "top, 2 events, scores [{m 1}]"}, got); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

// A run with a missing line is not scored, and the run and the line are reported.
func TestLostLine(t *testing.T) {
	whole := traced(t, "a", trace.RunStart{}, trace.StepStart{}, trace.RunEnd{})
	r := score(t, file("f", strings.Replace(whole, `{"seq":1`, `{"seq"-1`, 1)))
	var got []string
	for _, u := range r.Unreadable {
		got = append(got, fmt.Sprintf("%d %s", u.Line, u.Error))
	}
	if diff := cmp.Diff([]string{`2 the run "a" may be incomplete (an event is missing) and is not scored`, "3 expected a colon after the member's name at seq (byte 7)"}, got); diff != "" || r.Rows.Len() > 0 {
		t.Errorf("%d rows, want none; unreadable (-want +got):\n%s", r.Rows.Len(), diff)
	}
}

// The results of scorers for a run are stored by metric; a value that is not a number is an error.
func TestScorers(t *testing.T) {
	scores := func(scores ...evals.Score) evals.Scorer {
		return evals.ScorerFunc(func(context.Context, *importer.Run) []evals.Score { return scores })
	}
	r, err := evals.ScoreFiles(context.Background(), []evals.Input{file("f", runs("a/0=1"))}, &evals.Options{Scorers: []evals.Scoring{
		{Name: "x", Scorer: scores(evals.Score{Metric: "one", Value: 1, Explanation: "as expected: \xff"}, evals.Score{Metric: "broken", Value: 1, Err: errors.New("no answer")})},
		{Name: "y", Scorer: scores(evals.Score{Metric: "nan", Value: math.NaN()}, evals.Score{Metric: "inf", Value: math.Inf(-1)}, evals.Score{Metric: "most", Value: 1e100})},
		{Name: "z", Scorer: scores(evals.Score{Metric: "twice", Value: 1, Explanation: "gone"}, evals.Score{Metric: "twice", Value: 1}, evals.Score{Metric: "twice", Value: 1})},
		{Name: "w"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := evals.Row{
		Scores: evals.NewByName(map[string]float64{"one": 1, "most": 1e100, "score": 1}),
		Errors: evals.NewByName(map[string]string{
			"broken": "no answer", "nan": "the score NaN: want a number within ±1e+100", "inf": "the score -Inf: want a number within ±1e+100",
			"twice": "the metric has two scores: use unique metric names",
		}),
		Explanations: evals.NewByName(map[string]string{"one": "as expected: \uFFFD"}),
	}
	if diff := cmp.Diff(want, evals.Row{Scores: r.Rows.At(0).Scores, Errors: r.Rows.At(0).Errors, Explanations: r.Rows.At(0).Explanations}, cmpopts.IgnoreUnexported(evals.Row{})); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x", "y", "z", "w"}, r.Scorers); diff != "" {
		t.Errorf("scorers (-want +got):\n%s", diff)
	}
}

// Rows of any shape are read by their mapping, which the result contains, because its
// scores depend on it.
func TestRowsOfAnyShape(t *testing.T) {
	csv := file("f.csv", "q,n,doc,ok,text,right,said\nx,3,d,yes,Is it?,yes,no\n")
	rows := &importer.Mapping{Case: "/q", Epoch: "/n", Cluster: "/doc", Prompt: "/text", Expected: "/right", Answer: "/said", Scores: map[string]string{"fine": "/ok", "done": "/n"}}
	r, err := evals.ScoreFiles(t.Context(), []evals.Input{csv}, &evals.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"format":"looptape-eval","version":2,"scorers":["recorded","rows case=/q epoch=/n cluster=/doc prompt=/text want=/right answer=/said score done=/n score fine=/ok"],"runs":1,"unreadable":0}
{"run":{"case":"x","epoch":3,"cluster":"d","run":"run-1","file":"f.csv","line":2,"scores":{"done":3,"fine":1},"steps":1}}
`
	if diff := cmp.Diff(want, written(t, r)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}
