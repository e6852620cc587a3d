package evals_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

const suiteText = `# What we hold ourselves to.
suite: 2
runs: [runs/*.jsonl, more]
rows:
  case: /question
  epoch: /try
  cluster: /document
  prompt: /prompt
  expected: /gold
  answer: /said
  scores: {right: /right}
scorers:
  - recorded
  - exact
  - kind: contains
    metric: polite
    settings: {any: [please, "1", null, 1.5, true], deep: {b: <x>, a: []}}
baseline: baseline.json
gate:
  alpha: 0.01
  drop: 0
  max_drop: 0.1
  min: {exact: 0.8, steps: 7}
  detect: 0.05
  require_power: 0.9
  metrics: [exact, polite]
  lower: [steps]
  must_pass: [book]
  seed: 7
`

// kinds is a registry of any kind but "none" whose scores do not matter.
func kinds(kind, metric string, settings json.RawMessage) (evals.Scorer, error) {
	if kind == "none" {
		return nil, errors.New("there is no kind none for " + metric + string(settings))
	}
	return evals.ScorerFunc(evals.Recorded), nil
}

func TestSuite(t *testing.T) {
	got, err := evals.ParseSuite("eval.yaml", []byte(suiteText), kinds)
	if err != nil {
		t.Fatal(err)
	}
	want := &evals.Suite{
		Runs:     []string{"runs/*.jsonl", "more"},
		Baseline: "baseline.json",
		Gate:     evals.Gate{Alpha: 0.01, MaxDrop: map[string]float64{"": 0.1}, Min: map[string]float64{"exact": 0.8, "steps": 7}, Detect: 0.05, RequirePower: 0.9, Metrics: []string{"exact", "polite"}, Lower: []string{"steps"}, MustPass: []string{"book"}, Seed: 7},
		Options: evals.Options{
			Rows: &importer.Mapping{Case: "/question", Epoch: "/try", Cluster: "/document", Prompt: "/prompt", Expected: "/gold", Answer: "/said", Scores: map[string]string{"right": "/right"}},
			Scorers: []evals.Scoring{{Name: "recorded"}, {Name: "exact"},
				{Name: `polite=contains{"any":["please","1",null,1.5,true],"deep":{"a":[],"b":"<x>"}}`}},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(evals.Scoring{}, "Scorer")); diff != "" {
		t.Errorf("the suite (-want +got):\n%s", diff)
	}
	for _, s := range got.Scorers {
		if (s.Scorer == nil) != (s.Name == "recorded") {
			t.Errorf("%s has the scorer %v, want one unless it is recorded", s.Name, s.Scorer)
		}
	}
}

// Recordings are named as in the suite, also those with other names in the file. A run without
// a name is an error; a nested run needs no name.
func TestSuiteNames(t *testing.T) {
	s, err := evals.ParseSuite("eval.yaml", []byte("suite: 2\nruns: [a]\nnames: {case: /info/task, epoch: /info/try, cluster: /on}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	recorded := `{"case":"old","info":{"task":"book","try":3},"on":"rail","reward":1,"messages":[]}
{"case":"old","reward":1,"messages":[]}
`
	r, err := evals.ScoreFiles(t.Context(), []evals.Input{file("f", recorded)}, &s.Options)
	if err != nil {
		t.Fatal(err)
	}
	want := &evals.Result{
		Scorers:    []string{"recorded", "names case=/info/task epoch=/info/try cluster=/on"},
		Rows:       evals.NewRows(evals.Row{Case: "book", Epoch: 3, Cluster: "rail", Run: "run-1", File: "f", Line: 1, Scores: evals.NewByName(map[string]float64{"reward": 1})}),
		Unreadable: []evals.Unreadable{{File: "f", Line: 2, Error: `the run "run-2" has no case at /info/task`}},
	}
	if diff := cmp.Diff(want, r, listed); diff != "" {
		t.Errorf("the result (-want +got):\n%s", diff)
	}
	only := &importer.Mapping{Epoch: "/info/try"}
	r, err = evals.ScoreFiles(t.Context(), []evals.Input{file("t", nested(t))}, &evals.Options{Names: only})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]evals.Unreadable{{File: "t", Line: r.Unreadable[0].Line, Error: `the run "outer" has no epoch at /info/try: for a trace, begin the pointer with the name of a custom event`}}, r.Unreadable); diff != "" {
		t.Errorf("unreadable (-want +got):\n%s", diff)
	}
	describePointers := traced(t, "r", trace.RunStart{}, trace.Custom{Name: "info", Data: json.RawMessage(`{"try":2}`)}, trace.RunEnd{})
	r, err = evals.ScoreFiles(t.Context(), []evals.Input{file("t", describePointers)}, &evals.Options{Names: only})
	if err != nil || r.Rows.Len() != 1 || r.Rows.At(0).Epoch != 2 {
		t.Errorf("of a trace: %+v, %v", r, err)
	}
}

// nested is the trace of a run that another one started.
func nested(t *testing.T) string {
	t.Helper()
	inner := traced(t, "inner", trace.RunStart{Parent: &trace.Parent{Run: "outer", ToolCallID: "c"}}, trace.RunEnd{})
	_, outer, _ := strings.Cut(traced(t, "outer", trace.RunStart{}, trace.RunEnd{}), "\n")
	return inner + outer
}

// Settings that a suite omits have their default value.
func TestSuiteLeast(t *testing.T) {
	got, err := evals.ParseSuite("eval.yaml", []byte("suite: 2\nruns: [a]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&evals.Suite{Runs: []string{"a"}, Gate: evals.Gate{Drop: 0.02}}, got); diff != "" {
		t.Errorf("the suite (-want +got):\n%s", diff)
	}
}

func TestSuiteErrors(t *testing.T) {
	const least = "suite: 2\nruns: [a]\n"
	for text, want := range map[string]string{
		"":                                            "s:1:1: empty file: begin with version",
		"runs: [a]":                                   "s:1:1: missing suite: 2: write it as the first key",
		"{}":                                          "s:1:1: missing suite: 2",
		"suite: 2":                                    "s:1:1: missing key runs",
		"suite: 3\nruns: [a]":                         `s:1:8: unknown version "3" of the format: want 1 to 2`,
		"suite: '1'\nruns: [a]":                       `s:1:8: unknown version "1" of the format`,
		"suite: 2\nrun: [a]":                          `s:2:1: unknown key "run" of the suite; did you mean "runs"? allowed: baseline, dataset, gate, missing_as_zero, names, rows, runs, scorers, suite`,
		least + "gaet: {}":                            `s:3:1: unknown key "gaet" of the suite; did you mean "gate"?`,
		least + "gate: {level: 1}":                    `s:3:8: unknown key "level" of gate; allowed: alpha, detect, drop, lower, max_drop, metrics, min, must_pass, require_power, seed`,
		least + "gate: [a]":                           "s:3:7: expected gate, which is a map, found a list",
		least + "gate: {alpha: 0}":                    "s:3:15: 0: want more than 0",
		least + "gate: {alpha: x}":                    "s:3:15: expected a number, found a string",
		least + "gate: {alpha: 0.5}":                  "s:3:7: gate: alpha 0.5: want 0 to 0.5",
		least + "gate: {min: {a: x}}":                 "s:3:17: expected a number, found a string",
		least + "gate: {max_drop: -1}":                "s:3:7: gate: max_drop -1: want 0 or more",
		least + "gate: {seed: -1}":                    "s:3:14: expected a whole number from 0 on, found a number",
		least + "gate: {seed: '1'}":                   "s:3:14: expected a whole number from 0 on, found a string",
		least + "gate: {lower: a}":                    "s:3:15: expected a list of one item or more, found a string",
		least + "gate: {lower: [1]}":                  "s:3:16: expected a string, found a number: quote it if it is a string",
		"suite: 2\nruns: []":                          "s:2:7: expected a list of one item or more, found a list",
		"suite: 2\nruns: [../a]":                      `s:2:8: "../a": want a name or pattern of files in the folder of the suite, such as runs/*.jsonl`,
		"suite: 2\nruns: ['[a']":                      `s:2:8: "[a": want a name`,
		"suite: 2\nruns: ['']":                        "s:2:8: expected a string",
		least + "baseline: /b":                        `s:3:11: "/b": want a name`,
		least + "rows: {case: a}":                     `s:3:14: "a": want a JSON pointer such as /question`,
		least + "rows: {case: /a~2}":                  `s:3:14: "/a~2": want a JSON pointer`,
		least + "names: {case: a}":                    `s:3:15: "a": want a JSON pointer`,
		least + "names: {want: /a}":                   `s:3:9: unknown key "want" of names; allowed: case, cluster, epoch`,
		least + "names: {case: /a}\nrows: {case: /b}": "s:3:8: names: not allowed with rows: move the pointers to rows",
		least + "rows: {scores: a}":                   "s:3:16: expected pointers by the name of a score, found a string",
		least + "rows: {scores: {a: b}}":              `s:3:20: "b": want a JSON pointer`,
		least + "scorers: [{metric: a}]":              "s:3:11: a scorer needs the key kind",
		least + "scorers: [[a]]":                      "s:3:11: expected a scorer, which is a map, found a list",
		least + "scorers: [none]":                     "s:3:11: there is no kind none for ",
		least + "scorers: [{kind: none, metric: m, settings: {a: 1}}]": `s:3:45: there is no kind none for m{"a":1}`,
		least + "runs: [b]":   `s:3:1: duplicate key "runs"`,
		least + "gate: &a {}": "s:3:7: an anchor (&a) is not allowed",
		"[a]":                 "s:1:1: expected options by name (a map), found a list",
	} {
		_, err := evals.ParseSuite("s", []byte(text), kinds)
		fails(t, err, want)
	}
	v1, err := evals.ParseSuite("s", []byte("suite: 1\nruns: [a]\nrows: {want: /w}"), kinds)
	if err != nil || v1.Rows.Expected != "/w" {
		t.Errorf("a suite of version 1: %v, %v", v1, err)
	}
	_, err = evals.ParseSuite("s", []byte("suite: 2\na: 1\nb: 2"), kinds)
	fails(t, err, "s:2:1:", "s:3:1:")
}

// The published schema accepts the suite above and contains all keys.
func TestSuiteSchema(t *testing.T) {
	text, err := os.ReadFile("schema/suite-v2.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema *jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var suite any
	if err := yaml.Unmarshal([]byte(suiteText), &suite); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(suite); err != nil {
		t.Error(err)
	}
	for text, inputResult := range map[string]*jsonschema.Schema{
		"suite: 2\nunknown: 1":                       schema,
		"suite: 2\nrows: {unknown: 1}":               schema.Properties["rows"],
		"suite: 2\nnames: {unknown: 1}":              schema.Properties["names"],
		"suite: 2\ngate: {unknown: 1}":               schema.Properties["gate"],
		"suite: 2\nscorers: [{unknown: 1, kind: a}]": schema.Properties["scorers"].Items.AnyOf[1],
	} {
		_, err := evals.ParseSuite("s", []byte(text), kinds)
		fails(t, err, "allowed: "+strings.Join(slices.Sorted(maps.Keys(inputResult.Properties)), ", "))
	}
}

func TestIsSuite(t *testing.T) {
	for text, want := range map[string]bool{
		suiteText: true, "suite: 2": true, "\ufeff---\n# a\n\n  # b\r\nsuite : 1": true,
		"": false, "version: 1\nsuite: 2": false, "{\"suite\": 1}": false, "suites: 1": false, "a\nsuite: 2": false,
	} {
		if got := evals.IsSuite([]byte(text)); got != want {
			t.Errorf("IsSuite(%q) = %v", text, got)
		}
	}
}

func TestSuiteMatch(t *testing.T) {
	folder := fstest.MapFS{"a/1.jsonl": {}, "a/2.jsonl": {}, "a/b.txt": {}, "c.jsonl": {}}
	got, err := (&evals.Suite{Runs: []string{"c.jsonl", "a/*.jsonl", "a/1*"}}).Match(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/1.jsonl", "a/2.jsonl", "c.jsonl"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for pattern, want := range map[string]string{"b/*": "runs: no file matches b/* in the folder of the suite", "[": "runs: [: syntax error in pattern"} {
		_, err := (&evals.Suite{Runs: []string{pattern}}).Match(folder)
		fails(t, err, want)
	}
}

// A suite of any text is read or refused.
func FuzzSuite(f *testing.F) {
	f.Add(suiteText)
	f.Add("suite: 2\nruns: [a]\nscorers: [{kind: none, settings: [1e400, .inf, .nan, 0x1f, 1_000]}]\n")
	f.Add("suite: 2\nruns: {a: *b}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := evals.ParseSuite("s", []byte(text), kinds)
		if (err == nil) != (s != nil) {
			t.Errorf("got %v and the error %v", s, err)
		}
	})
}
