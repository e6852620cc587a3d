package evals_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/trace/importer"
)

// The same dataset in each form.
var datasets = map[string]string{
	"JSON Lines": `{"case":"capital","expected":"Bern","calls":[{"name":"find","args":{"q":"Bern"}}],"rubric":"In one word.","state":{"n":1},"tags":["geo","easy"]}
{"case":"river","prompt":"Which river?","expected":["Aare","the Aare"],"calls":[],"tags":["geo"]}`,
	"array": `[{"task_id":"capital","target":"Bern","calls":[{"name":"find","arguments":{"q":"Bern"}}],"rubric":"In one word.","state":{"n":1},"tags":"geo, easy"},
{"id":"river","question":"Which river?","ideal":["Aare","the Aare"],"calls":[],"tags":"geo"}]`,
	"CSV": `case,prompt,expected,calls,rubric,state,tags
capital,,Bern,"[{""name"":""find"",""args"":{""q"":""Bern""}}]",In one word.,"{""n"":1}","geo,easy"
river,Which river?,Aare,[],,,geo
`,
	"YAML": `# what is expected
- case: capital
  expected: Bern
  calls:
  - name: find
    args: {q: Bern}
  rubric: In one word.
  state: {n: 1}
  tags: [geo, easy]
- case: river
  prompt: Which river?
  expected: [Aare, the Aare]
  calls: []
  tags: geo
`,
}

// joined scores a set with a dataset, and returns what was expected of each case.
func joined(t *testing.T, dataset, text string, o evals.Options) (*evals.Result, map[string]importer.Expected) {
	t.Helper()
	d, err := evals.ReadDataset("cases", strings.NewReader(dataset))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	expected := map[string]importer.Expected{}
	o.Dataset = d
	if o.Scorers == nil {
		o.Scorers = []evals.Scoring{{Name: "seen", Scorer: evals.ScorerFunc(func(_ context.Context, run *importer.Run) []evals.Score {
			mu.Lock()
			defer mu.Unlock()
			expected[run.Case] = run.Expected
			return []evals.Score{{Metric: "seen", Value: 1}}
		})}}
	}
	r, err := evals.ScoreFiles(t.Context(), []evals.Input{file("runs", text)}, &o)
	if err != nil {
		t.Fatal(err)
	}
	return r, expected
}

// A run is joined by its case, or else by its first user message, and the expectation is equal in each
// form of the dataset.
func TestDatasetForms(t *testing.T) {
	const text = `{"task_id":"capital","prompt":"Capital?","completion":"Bern"}` + "\n" + `{"task_id":"r-17","prompt":"Which river?","completion":"Aare"}`
	want := map[string]importer.Expected{
		"capital": {
			Answers: []string{"Bern"}, Criteria: "In one word.", State: json.RawMessage(`{"n":1}`),
			Calls: []importer.Call{{Name: "find", Arguments: json.RawMessage(`{"q":"Bern"}`), Turn: importer.NoTurn}},
		},
		"river": {Answers: []string{"Aare", "the Aare"}, Calls: []importer.Call{}},
	}
	for name, dataset := range datasets {
		r, got := joined(t, dataset, text, evals.Options{})
		for i, e := range got {
			if e.State != nil {
				e.State = compact(e.State)
			}
			if name == "CSV" && i == "river" { // a field is one answer
				e.Answers = append(e.Answers, "the Aare")
			}
			got[i] = e
		}
		for c := range got {
			for i := range got[c].Calls {
				got[c].Calls[i].Arguments = compact(got[c].Calls[i].Arguments)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if got := fmt.Sprint(r.Rows.At(0).Tags, r.Rows.At(1).Tags, r.Unreadable); got != "[easy geo] [geo] []" {
			t.Errorf("%s: got tags %s", name, got)
		}
	}
}

func compact(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(string(raw), " ", ""))
}

// What does not join is listed: a run without a case, and a case without a run.
func TestDatasetJoin(t *testing.T) {
	const dataset = `{"case":"a","expected":"1"}` + "\n" + `{"case":"b","expected":"2","tags":["x"]}` + "\n" + `{"case":"c","prompt":"same","expected":"1"}` + "\n" + `{"case":"d","prompt":"same","expected":"1"}`
	r, _ := joined(t, dataset, runs("a/0=1 a/1=0 other/0=1:same"), evals.Options{Scorers: []evals.Scoring{{Name: "recorded"}}})
	f, err := r.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`cases:2: no run of the case "b"`, `cases:3: no run of the case "c"`, `cases:4: no run of the case "d"`,
		`runs:3: the run "run-3" of the case "other" has no case in cases, and is scored without`,
	}
	var got []string
	for _, u := range f.Unreadable {
		got = append(got, u.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if f.Runs != 3 || f.Cases != 5 || f.Metrics["score"].Missing != 3 || *f.Metrics["score"].Mean != 0.75 {
		t.Errorf("got %d runs of %d cases: %+v", f.Runs, f.Cases, f.Metrics["score"])
	}
}

// Parts of a set have the result of the whole set: a case without a run in a part has one in another.
func TestDatasetMerge(t *testing.T) {
	const dataset = `{"case":"a","expected":"1"}` + "\n" + `{"case":"b","expected":"2"}` + "\n" + `{"case":"c","expected":"2"}`
	for _, zero := range []bool{false, true} {
		o := evals.Options{Scorers: []evals.Scoring{{Name: "recorded"}}, MissingAsZero: zero}
		whole, _ := joined(t, dataset, runs("a/0=1")+runs("b/0=:x"), o)
		first, _ := joined(t, dataset, runs("a/0=1"), o)
		second, _ := joined(t, dataset, "\n"+runs("b/0=:x"), o)
		parts, err := evals.Merge(second, first)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := written(t, whole), written(t, parts); a != strings.Replace(b, `"run":"run-1","file":"runs","line":2`, `"run":"run-2","file":"runs","line":2`, 1) {
			t.Errorf("whole:\n%s\nparts:\n%s", a, b)
		}
	}
}

// A dataset with the other line ends, as git writes them on Windows, is the same dataset.
func TestDatasetLineEnds(t *testing.T) {
	const dataset = `{"case":"a","expected":"1"}` + "\n" + `{"case":"b","expected":"2"}` + "\n"
	o := evals.Options{Scorers: []evals.Scoring{{Name: "recorded"}}}
	unix, _ := joined(t, dataset, runs("a/0=1"), o)
	windows, _ := joined(t, strings.ReplaceAll(dataset, "\n", "\r\n"), runs("a/0=1"), o)
	if diff := cmp.Diff(unix.Scorers, windows.Scorers); diff != "" || len(unix.Scorers) < 2 {
		t.Errorf("-LF +CRLF:\n%s", diff)
	}
}

// Missing and failed scores count as 0 in means and pass^k, and are counted.
func TestMissingAsZero(t *testing.T) {
	const dataset = `{"case":"a","expected":"1","tags":["x"]}` + "\n" + `{"case":"b","expected":"2"}`
	failing := evals.ScorerFunc(func(_ context.Context, run *importer.Run) []evals.Score {
		if run.Epoch == 2 {
			return []evals.Score{{Metric: "m", Err: fmt.Errorf("failed")}}
		}
		if run.Epoch == 1 {
			return nil
		}
		return []evals.Score{{Metric: "m", Value: 1}}
	})
	o := evals.Options{Scorers: []evals.Scoring{{Name: "m", Scorer: failing}}, MissingAsZero: true}
	r, _ := joined(t, dataset, runs("a/0=1 a/1=1 a/2=1 a/3=1"), o)
	f, err := r.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := f.Metrics["m"]
	if !f.MissingAsZero || m.N != 5 || m.Zeros != 3 || m.Errors+m.Missing != 0 || *m.Mean != 0.25 || len(f.Unreadable) > 0 {
		t.Errorf("got %+v with mean %v, %v", m, *m.Mean, f.Unreadable)
	}
	if diff := cmp.Diff([]string{"b"}, f.WithoutRun); diff != "" {
		t.Error(diff)
	}
	if got := *f.Tags["x"]["m"].Mean; got != 0.5 {
		t.Errorf("got mean %v of tag x, want 0.5", got)
	}
}

// Each tag has its own changes, corrected together.
func TestCompareTags(t *testing.T) {
	const dataset = `{"case":"a","tags":["x","y"]}` + "\n" + `{"case":"b","tags":["x"]}` + "\n" + `{"case":"c"}`
	o := evals.Options{Scorers: []evals.Scoring{{Name: "recorded"}}}
	before, _ := joined(t, dataset, runs("a/0=1 b/0=1 c/0=0"), o)
	after, _ := joined(t, dataset, runs("a/0=0 b/0=1 c/0=1"), o)
	all, err := before.Compare([]*evals.Result{after}, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for tag, metrics := range all[0].Tags {
		c := metrics["score"]
		got[tag] = *c.Difference
		if *c.P.Holm < *c.P.Best() {
			t.Errorf("tag %s: corrected probability %v is less than %v", tag, *c.P.Holm, *c.P.Best())
		}
	}
	if diff := cmp.Diff(map[string]float64{"x": -0.5, "y": -1}, got); diff != "" {
		t.Error(diff)
	}
}

// A gate fails for a case of the dataset without a run, also if the baseline does not have it.
func TestGateDataset(t *testing.T) {
	o := evals.Options{Scorers: []evals.Scoring{{Name: "recorded"}}}
	const dataset = `{"case":"a","expected":"1"}` + "\n" + `{"case":"b","expected":"2"}`
	now, _ := joined(t, dataset, runs("a/0=1"), o)
	base, err := now.Baseline(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := (&evals.Gate{}).Evaluate(base, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(v.Passed, v.Findings); !strings.Contains(got, "false [{missing  b") {
		t.Errorf("got %s", got)
	}
}

// An ADK eval set is a dataset for traces of OpenTelemetry, joined by the first user message.
func TestDatasetOfADK(t *testing.T) {
	const set = `{"eval_set_id":"s","name":"n","eval_cases":[{"eval_id":"weather","conversation":[{"invocation_id":"i","user_content":{"role":"user","parts":[{"text":"Weather in Bern?"}]},"final_response":{"role":"model","parts":[{"text":"Sunny"}]},"intermediate_data":{"tool_uses":[{"name":"weather","args":{"city":"Bern"}}],"intermediate_responses":[]}}],"session_input":{"app_name":"a","user_id":"u","state":{}}}]}`
	const span = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1","spanId":"1","name":"chat m","attributes":[` +
		`{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},` +
		`{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Weather in Bern?\"}]}]"}},` +
		`{"key":"gen_ai.output.messages","value":{"stringValue":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"c\",\"name\":\"weather\",\"arguments\":{\"city\":\"Bern\"}}],\"finish_reason\":\"tool_call\"}]"}}]}]}]}]}`
	s, err := scorers.Parse("trajectory", "calls", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := joined(t, set, span, evals.Options{Scorers: []evals.Scoring{{Name: "calls", Scorer: s}}})
	if r.Rows.Len() != 1 || r.Rows.At(0).Case != "weather" || r.Rows.At(0).Scores.Of("calls") != 1 || len(r.Unreadable) > 0 {
		t.Errorf("got %+v, %v", r.Rows, r.Unreadable)
	}
}

func TestDatasetErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "the file is empty",
		`{"expected":"x"}`:           "cases:1: no case",
		`{"case":"a"}`:               "no row has an expected answer, calls, rubric, state or tags",
		`{"case":"a","expected":`:    "cases:1",
		`{"case":"a","calls":{}}`:    "cases:1: calls: want a list such as",
		`{"case":"a","calls":[{}]}`:  "cases:1: calls: call 0: want a name",
		`{"case":"a","calls":["x"]}`: "cases:1: calls: want a list such as",
		`{"case":"a","rubric":1}`:    "cases:1: rubric: want a text",
		`{"case":"a","tags":"[1"}`:   "cases:1: tags: want a list of texts",
		`{"case":"a","tags":1}`:      "cases:1: tags: want a list of texts",
		"- case: a\n  tags: [x\n- y": "cases: ",
		"{\"case\":\"a\",\"tags\":\"x\"}\n{\"case\":\"a\",\"tags\":\"x\"}": `cases:2: duplicate case "a": line 1 has it`,
	} {
		if _, err := evals.ReadDataset("cases", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", text, err, want)
		}
	}
	d, err := evals.ReadDataset("cases", strings.NewReader(`{"case":"a","expcted":"x","tags":"t","expected":null}`))
	if err != nil || cmp.Diff([]string{"expcted"}, d.Ignored) != "" {
		t.Errorf("got %v ignored, error %v", d.Ignored, err)
	}
}
