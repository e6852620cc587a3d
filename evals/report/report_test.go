package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// row is a run of a case with scores; of metrics in wrong no score could be made.
func row(name string, epoch int, scores map[string]float64, wrong ...string) evals.Row {
	r := evals.Row{Case: name, Epoch: epoch, Run: "run", File: "runs.jsonl", Line: epoch + 1, Scores: byName(scores)}
	for _, metric := range wrong {
		r.Errors = byName(map[string]string{metric: "it is no number"})
	}
	return r
}

type scores = map[string]float64

// whole is the result of rows.
func whole(t *testing.T, rows ...evals.Row) *evals.Result {
	t.Helper()
	r, err := evals.Merge(&evals.Result{Scorers: []string{"recorded"}, Rows: evals.NewRows(rows...)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reported is the report of a result.
func reported(t *testing.T, r *evals.Result, o *report.Options) *report.Report {
	t.Helper()
	rep, err := report.New(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		want report.Outcome
		runs []evals.Row
	}{
		"passed":                                {report.Passed, []evals.Row{row("c", 0, scores{"m": 1}), row("c", 1, scores{"m": 1})}},
		"failed":                                {report.Failed, []evals.Row{row("c", 0, scores{"m": 0}), row("c", 1, scores{"m": 0})}},
		"runs that differ":                      {report.Mixed, []evals.Row{row("c", 0, scores{"m": 1}), row("c", 1, scores{"m": 0})}},
		"a run without a score":                 {report.Mixed, []evals.Row{row("c", 0, scores{"m": 1}), row("c", 1, scores{})}},
		"no score":                              {report.NotScored, []evals.Row{row("c", 0, scores{})}},
		"an error":                              {report.NotScored, []evals.Row{row("c", 0, scores{"m": 1}, "n")}},
		"an error next to a 0":                  {report.Failed, []evals.Row{row("c", 0, scores{"m": 0}, "n")}},
		"one of two":                            {report.Failed, []evals.Row{row("c", 0, scores{"m": 1, "n": 0})}},
		"both":                                  {report.Passed, []evals.Row{row("c", 0, scores{"m": 1, "n": 1})}},
		"an additional graded metric":           {report.Passed, []evals.Row{row("c", 0, scores{"m": 1, "graded": 0})}},
		"a graded metric alone":                 {report.NotScored, []evals.Row{row("c", 0, scores{"graded": 1})}},
		"a metric whose lower values are worse": {report.Passed, []evals.Row{row("c", 0, scores{"m": 1, "low": 0})}},
	} {
		t.Run(name, func(t *testing.T) {
			// The other case shows which metrics are graded, from either side.
			rows := append(c.runs, row("a", 0, scores{"graded": 0.5}), row("b", 0, scores{"graded": 1}), row("d", 0, scores{"graded": 0.5}))
			for _, got := range reported(t, whole(t, rows...), &report.Options{Lower: []string{"low"}}).Cases {
				if got.Case == "c" && got.Outcome != c.want {
					t.Errorf("got %s, want %s", got.Outcome, c.want)
				}
			}
		})
	}
}

// hostile is a result with all that rows have, and text that means something elsewhere.
func hostile(t *testing.T) *evals.Result {
	a := row("=HYPERLINK(\"x\")", 0, scores{"m|n": 0, "f1": 0.25})
	a.Explanations = byName(map[string]string{"m|n": "expected <b>,\ngot @all #1 " + strings.Repeat("x", 200), "f1": "-half"})
	a.Usage, a.Cost, a.Latency = llm.Usage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 3, CacheCreationInputTokens: 2, ReasoningOutputTokens: 1}, 0.5, 1500*time.Millisecond
	a.Steps, a.Calls = 3, byName(map[string]evals.Calls{"<find>": {N: 3, Failed: 1}, "read": {N: 1}})
	b := row("=HYPERLINK(\"x\")", 1, scores{"m|n": 1})
	b.Cluster = "+k"
	a.Cluster = b.Cluster
	c := row("| `c` </details>", importer.NoEpoch, scores{}, "m|n")
	c.Digest, c.Line = "abc", 7
	d := row("d", 0, scores{"m|n": 1, "f1": 1})
	d.Usage, d.Latency, d.Steps, d.Calls = llm.Usage{InputTokens: 40, OutputTokens: 20}, time.Second/3, 2, a.Calls
	d.Cost = 12345.6
	e := row("e", 0, scores{})
	e.Usage, e.Cost, e.Steps = llm.Usage{InputTokens: 4, OutputTokens: 3}, 0.00025, 1
	r := whole(t, a, b, c, d, e)
	r.Unreadable = []evals.Unreadable{{File: "a*b*.jsonl", Line: 3, Error: "<i>cut</i>"}}
	return r
}

func TestForms(t *testing.T) {
	lists := report.Lists{Max: 1, All: "ask for all"}
	before := row("d", 0, scores{"m|n": 0})
	few := row("e", 0, scores{"m|n": 1})
	few.Usage, few.Cost, few.Steps, few.Calls = llm.Usage{InputTokens: 3, OutputTokens: 1}, 0.000125, 1, byName(map[string]evals.Calls{"search": {N: 1}})
	before.Cost = 0.5
	before.Usage, before.Latency, before.Steps, before.Calls = llm.Usage{InputTokens: 1000, OutputTokens: 30}, time.Second, 9, byName(map[string]evals.Calls{"search": {N: 7}})
	base := whole(t, before, few, row("g", 0, scores{"m|n": 1}))
	for name, rep := range map[string]*report.Report{
		"one": reported(t, hostile(t), nil),
		"two": reported(t, hostile(t), &report.Options{Base: base}),
	} {
		for form, write := range map[string]func(io.Writer) error{
			"md": func(w io.Writer) error { return rep.Markdown(w, lists) }, "json": rep.JSON, "jsonl": rep.Lines, "csv": rep.CSV, "parquet": rep.Parquet,
		} {
			t.Run(name+"."+form, func(t *testing.T) {
				var text bytes.Buffer
				if err := write(&text); err != nil {
					t.Fatal(err)
				}
				goldie.New(t).Assert(t, name+"."+form, text.Bytes())
				if err := write(failing{}); !errors.Is(err, errBroken) {
					t.Errorf("writing fails with %v", err)
				}
			})
		}
	}
}

var errBroken = errors.New("the pipe is broken")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errBroken }

// TestCSVBothWays checks that a reader returns the cells of CSV with escapes, except that it changes line
// ends.
func TestCSVBothWays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a\",\n\r =+-@\t'ü＝:#[\u202e"))).Draw(rt, "text")
		r := row("c"+text, 0, scores{"m" + text: 0.1})
		r.Explanations = byName(map[string]string{"m" + text: text})
		var out bytes.Buffer
		if err := reported(t, whole(t, r), nil).CSV(&out); err != nil {
			rt.Fatal(err)
		}
		records, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			rt.Fatal(err)
		}
		got := map[string]string{}
		for i, name := range records[0] {
			got[name] = records[1][i]
		}
		guard := ""
		if strings.IndexAny(text, "=+-@\t\r\n＝") == 0 {
			guard = "'"
		}
		want := map[string]string{"case": "c" + text, "score.m" + text: "0.1", "explanation.m" + text: guard + text}
		for name, value := range want {
			name, value = unix(string(visible.Text([]byte(name)))), unix(string(visible.Text([]byte(value))))
			if got[name] != value {
				rt.Errorf("%q: got %q, want %q", name, got[name], value)
			}
		}
	})
}

// unix returns a text as a reader of CSV returns it.
func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// TestReportErrors checks that a report needs no options and returns the errors of statistics.
func TestReportErrors(t *testing.T) {
	a, b := row("a", 0, scores{"m": 1}), row("a", 1, scores{"m": 1})
	a.Cluster = "k"
	if _, err := report.New(whole(t, a, b), nil); err == nil || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("a case in two clusters: got %v", err)
	}
	o := &report.Options{Base: whole(t, row("z", 0, scores{"m": 1}))}
	if _, err := report.New(whole(t, b), o); err == nil || !strings.Contains(err.Error(), "use the same names") {
		t.Errorf("no case in common: got %v", err)
	}
}

// The text of a case is short, and that of its worst run.
func TestDescription(t *testing.T) {
	good, bad := row("c", 0, scores{"m": 1}), row("c", 1, scores{"m": 0})
	good.Explanations, bad.Explanations = byName(map[string]string{"m": "all is well"}), byName(map[string]string{"m": "it is not"})
	wrong := row("c", 2, scores{}, "m")
	passed := row("f", 0, scores{"m": 1})
	passed.Explanations = good.Explanations
	rep := reported(t, whole(t, good, bad, wrong, row("d", 0, scores{}), row("e", 0, scores{}, "n"), passed, row("f", 1, scores{})), nil)
	got := map[string]string{}
	for _, c := range rep.Cases {
		got[c.Case] = c.Description()
	}
	if diff := cmp.Diff(map[string]string{
		"c": "m 0.5 (1 not scored): it is no number",
		"d": "no score",
		"e": "n (1 not scored): it is no number",
		"f": "m 1 (1 not scored)",
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, want := rep.Counts(), "2 mixed, 2 not scored"; got != want {
		t.Errorf("counts: got %q, want %q", got, want)
	}
}

// A change of the steps alone is not reported.
func TestResourceSteps(t *testing.T) {
	r := row("a", 0, scores{"m": 1})
	r.Steps = 1
	if got := report.SummaryTables(reported(t, whole(t, r), nil).Summary)[2].Rows; got != nil {
		t.Errorf("got %q, want nothing", got)
	}
	all, err := whole(t, r).Compare([]*evals.Result{whole(t, r)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := all[0]
	if got := len(report.ChangeTables(c, report.Lists{})[2].Rows); got > 0 {
		t.Errorf("%d rows of what changed, want none", got)
	}
	r.Calls = byName(map[string]evals.Calls{"find": {N: 1}})
	want := [][]string{{"steps", "1", "1", "1"}, {"calls", "1", "1", "1"}}
	if diff := cmp.Diff(want, report.SummaryTables(reported(t, whole(t, r), nil).Summary)[2].Rows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// byName returns the values of a map.
func byName[T any](of map[string]T) (b evals.ByName[T]) {
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		panic(err)
	}
	return b
}
