package scorers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// sampleRuns are lists of messages with metadata, one per line.
const sampleRuns = `{"case":"a","epoch":0,"before":{"n":1,"l":[1]},"after":{"n":2,"l":[1,2]},"goal":{"n":2},"function":[{"name":"add","parameters":{"properties":{"x":{"type":"integer"}},"required":["x"]}}],"ground_truth":[{"add":{"x":[2]}}],"usage":{"prompt_tokens":7,"completion_tokens":3},"model":"m","total_time":1.5,"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"add","arguments":"{\"x\":2}"}}]},{"role":"tool","tool_call_id":"1","content":"{\"n\":4}"},{"role":"assistant","content":"{\"a\":[4]} B) 4"}]}
{"case":"a","epoch":1,"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"5"}]}
{"case":"b","epoch":0,"before":[1,2],"after":[2],"goal":[2],"messages":[{"role":"user","content":"b?"},{"role":"assistant","content":"B"}]}
{"case":"c","messages":[{"role":"user","content":"c?"}]}
{"messages":[{"role":"user","content":"d?"},{"role":"assistant","content":"I cannot."}]}
`

// sampleTrace is a trace of a run.
func sampleTrace(t *testing.T) string {
	t.Helper()
	call := llm.ToolCall{ID: "1", Name: "add", Arguments: `{"x":3}`}
	run := traceRun(
		trace.RunStart{}, trace.ModelConfig{Model: "m", Tools: []llm.Tool{{Name: "add", Parameters: json.RawMessage(`{"type":"object"}`)}}},
		trace.ModelRequest{NewMessages: []llm.Message{llm.User("a?")}},
		trace.ModelResponse{Message: llm.Assistant(call), FinishReason: llm.FinishToolCalls, Usage: llm.Usage{InputTokens: 5, OutputTokens: 2}},
		trace.ToolEnd{ToolCallID: "1", Result: llm.ToolResult{ID: "1", Content: []llm.Part{llm.Text{Text: `{"n":3}`}}}},
		trace.Custom{Name: "state", Data: json.RawMessage(`{"n":3}`)},
		response("3", llm.FinishStop), trace.RunEnd{})
	var out bytes.Buffer
	w := trace.NewWriter(&out, trace.Header{})
	for _, ev := range run.Events {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// settingsOf are settings of each kind, with which the samples succeed and fail.
var settingsOf = map[string][]string{
	"exact": {``, `{"expected":["B"]}`}, "contains": {`{"expected":["4","B"]}`}, "regexp": {`{"pattern":"[0-9]"}`}, "numeric": {`{"expected":["4"]}`}, "json": {``, `{"expected":{"a":[4]},"ignore":["/a/0"]}`},
	"normalized": {`{"expected":["b"]}`}, "choice": {``, `{"expected":"B"}`}, "called": {`{"tools":{"add":{"min":1}}}`}, "not_called": {``},
	"trajectory": {`{"expected":[{"name":"add","arguments":{"x":2}}],"ignore":{"add":["/y"]},"defaults":{"add":{"y":1}}}`}, "call_match": {`{"expected":[{"name":"add","arguments":{"x":2}}],"partial":true}`},
	"bfcl": {``}, "arg_schema": {`{"schemas":{"add":{"required":["x"]}}}`},
	"state":      {`{"at":"/after","expected_at":"/goal","ignore":["/l/*"]}`, `{"event":"state","expected":{"n":3}}`, `{"result":"add","expected":{"n":4}}`},
	"state_diff": {`{"before":{"at":"/before"},"after":{"at":"/after"},"goal":{"at":"/goal"},"ignore":["/l/0"],"partial":true}`, `{"before":{"at":"/before"},"after":{"at":"/after"},"expected":[{"op":"add","path":"/l/-","value":{"x":1}},{"op":"remove","path":"/n"}]}`},
	"invariants": {``}, "finish": {``}, "refusal": {`{"patterns":["(?i)cannot"]}`}, "errors": {``}, "steps": {``}, "tokens": {``},
	"cost": {`{"prices":{"m":{"input":1,"output":2}}}`}, "latency": {``},
	"rubric":   {`{"criteria":"x","grader":{},"samples":3}`, `{"criteria":"x","grader":{},"conversation":true,"scale":[0,9]}`},
	"pairwise": {`{"criteria":"x","grader":{},"against":["base.jsonl"]}`},
	"program":  {`{"command":["sh","-c","n=$(grep -o role | wc -l); echo \"{\\\"score\\\":$((n))}\""]}`},
}

// byHash returns a grade that depends on the whole prompt and on nothing else.
func byHash(question string) string {
	_, a, _ := strings.Cut(question, "BEGIN answer A ")
	if _, b, pair := strings.Cut(a, "BEGIN answer B "); pair { // the codes of the texts
		return "Grade: " + map[int]string{-1: "A", 0: "tie", 1: "B"}[strings.Compare(a[:16], b[:16])]
	}
	n := 0
	for _, c := range question {
		n = (31*n + int(c)) % 1000003
	}
	if strings.Contains(question, "a number") {
		return "Grade: " + string(rune('0'+n%10))
	}
	return "Grade: " + []string{"pass", "fail"}[n%2]
}

// allScorers returns new scorers of all kinds.
func allScorers(t tb) (all []evals.Scoring) {
	t.Helper()
	m := Maker{
		Environ: os.Environ(),
		Files:   fstest.MapFS{"base.jsonl": {Data: []byte(strings.NewReplacer("5", "7", "B", "E", "cannot", "can").Replace(sampleRuns))}},
		Grader:  func(*Grader) (llm.Model, error) { return &fakeGrader{of: byHash}, nil },
	}
	for _, k := range Kinds() {
		if len(settingsOf[k.Name]) == 0 {
			t.Fatal("add settings of " + k.Name + " to the cases of this test")
		}
		for i, settings := range settingsOf[k.Name] {
			name := k.Name + string(rune('0'+i))
			s, err := m.Parse(k.Name, name, json.RawMessage(settings))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, evals.Scoring{Name: name, Scorer: s})
		}
	}
	return all
}

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
}

// The scores of runs depend neither on the order of files nor on how many are scored
// concurrently. Programs, which take long to start, are left to TestProgramsConcurrent.
func TestScoresRepeatable(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSpace(sampleRuns)+"\n", "\n")
	texts := append(lines[:len(lines)-1], sampleTrace(t))
	want := scoredFiles(t, texts, nil)
	for _, part := range []string{`"numeric0":1`, `"state_diff0":`, `"pairwise0":1`, `"pairwise0":0,`, `"rubric1":`, `"errors":{`} {
		if !strings.Contains(want, part) {
			t.Fatalf("no run has %s, so that it shows nothing: %s", part, want)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rapid.Check(t, func(r *rapid.T) {
		runtime.GOMAXPROCS(rapid.IntRange(1, 8).Draw(r, "processors"))
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(r, "order")
		if diff := cmp.Diff(want, scoredFiles(r, texts, order)); diff != "" {
			r.Fatal("the scores differ (-want +got):\n" + diff)
		}
	})
}

// scoredFiles is the file of what the runs of several files score, a run each.
func scoredFiles(t tb, texts []string, order []int) string {
	t.Helper()
	var inputs []evals.Input
	for i := range texts {
		if order != nil {
			i = order[i]
		}
		inputs = append(inputs, evals.Input{Name: string(rune('a' + i)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(texts[i])), nil }})
	}
	all := slices.DeleteFunc(allScorers(t), func(s evals.Scoring) bool { return strings.HasPrefix(s.Name, "program") })
	r, err := evals.ScoreFiles(context.Background(), inputs, &evals.Options{Scorers: all})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// No scorer changes a run, and each returns the same result twice.
func TestRunsStay(t *testing.T) {
	shell(t, "") // which is needed
	all := allScorers(t)
	for _, text := range []string{sampleRuns, sampleTrace(t)} {
		runs, untouched := runsIn(t, text), runsIn(t, text)
		for i, run := range runs {
			for _, s := range all {
				first := describeScores(s.Scorer.Score(t.Context(), run))
				if diff := cmp.Diff(untouched[i], run); diff != "" {
					t.Fatalf("%s changes the run %s (-before +after):\n%s", s.Name, run.Name, diff)
				}
				if diff := cmp.Diff(first, describeScores(s.Scorer.Score(t.Context(), run))); diff != "" {
					t.Errorf("%s returns another score for the run %s (-first +then):\n%s", s.Name, run.Name, diff)
				}
			}
		}
	}
}

// runsIn are the runs of a file.
func runsIn(t *testing.T, text string) (all []*importer.Run) {
	t.Helper()
	src, err := importer.Open("file", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &run)
	}
	return all
}
