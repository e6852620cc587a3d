package evals_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
)

// graded are runs of which two cases have two epochs, and one has no epoch.
const graded = `{"task_id":"a","trial":0,"reward":1,"completion":"x"}
{"task_id":"a","trial":1,"reward":0,"completion":"x"}
{"task_id":"b","trial":0,"reward":1,"completion":"x"}
{"task_id":"b","trial":1,"completion":"x"}
{"task_id":"c","reward":1,"completion":"x"}
{"task_id":"d","trial":0,"reward":0.5,"completion":"x"}
`

func agreementOf(t *testing.T, runs, name, labels string) (*evals.Summary, error) {
	t.Helper()
	runs = strings.ReplaceAll(runs, `"completion":"x"`, `"messages":[{"role":"user","content":"x"}]`)
	r := score(t, file("runs.jsonl", runs))
	f, err := r.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := evals.ReadLabels(name, strings.NewReader(labels))
	if err != nil {
		return nil, err
	}
	unread, err := f.AddLabels(r, l)
	if !slices.Equal(unread, f.Unreadable) {
		t.Errorf("%v were not read, in the summary %v", unread, f.Unreadable)
	}
	return f, err
}

// TestLabels joins labels in each form with runs: by case and epoch, and by case alone.
func TestLabels(t *testing.T) {
	for name, labels := range map[string]string{
		"l.jsonl": `{"case":"a","epoch":0,"label":1}` + "\n" + `{"case":"a","epoch":1,"label":true}` + "\n" + `{"case":"b","epoch":0,"metric":"reward","label":1}` +
			"\n" + `{"case":"b","epoch":1,"label":0}` + "\n" + `{"case":"c","label":0}` + "\n",
		"l.json": `[{"case":"a","epoch":0,"label":1},{"case":"a","epoch":1,"label":1},{"case":"b","epoch":0,"label":1},{"case":"b","epoch":1,"label":0},{"case":"c","label":false}]`,
		"l.csv":  "case,epoch,label\na,0,1\na,1,1\nb,0,1\nb,1,0\nc,,0\n",
		"l.yaml": "- {case: a, epoch: 0, label: 1}\n- {case: a, epoch: 1, label: true}\n- {case: b, epoch: 0, label: 1}\n- {case: b, epoch: 1, label: 0}\n- {case: c, label: 0}\n",
	} {
		f, err := agreementOf(t, graded, name, labels)
		if err != nil || len(f.Unreadable) > 0 {
			t.Errorf("%s: %v, %v", name, err, f)
			continue
		}
		a := f.Labels["reward"]
		// of a .5, of b 1, of c 0; the second run of b has no score
		if a.Labels != 4 || a.Unscored != 1 || math.Abs(*a.Agree-0.5) > 1e-12 {
			t.Errorf("%s: %d labels, %d without a score, %v agree", name, a.Labels, a.Unscored, *a.Agree)
		}
		if diff := cmp.Diff([][]int{{0, 1}, {1, 2}}, a.Counts); diff != "" || !cmp.Equal(a.Values, []float64{0, 1}) {
			t.Errorf("%s: values %v, counts (-want +got):\n%s", name, a.Values, diff)
		}
		if a.Corrected != nil || len(a.Notes) != 2 || !strings.Contains(strings.Join(a.Notes, ";"), "scores and labels of 0 and 1") {
			t.Errorf("%s: corrected %v of scores that are not all 0 or 1, notes %q", name, a.Corrected, a.Notes)
		}
	}
}

// TestCorrectedMean gives each case the same weight: of case a, half of the runs have a positive label.
func TestCorrectedMean(t *testing.T) {
	f, err := agreementOf(t, strings.Replace(graded, "0.5", "0", 1), "l", `{"case":"a","epoch":0,"label":1}
{"case":"a","epoch":1,"label":0}
{"case":"b","epoch":0,"label":0}
{"case":"d","label":0}
`)
	if err != nil {
		t.Fatal(err)
	}
	// Weights of the positive grades: a .5, b 1, c 1 of 4; of their labels .5 of 1.5 are positive.
	if got, want := *f.Labels["reward"].Corrected, 2.5/4*(0.5/1.5); math.Abs(got-want) > 1e-12 {
		t.Errorf("the corrected mean is %v, want %v", got, want)
	}
}

// TestLabelsThatAreNotRead names each label without a run or a metric, and each invalid row.
func TestLabelsThatAreNotRead(t *testing.T) {
	for labels, want := range map[string]string{
		`{"case":"z","label":1}`:                                                `l:1: no such run of the case "z"`,
		`{"case":"a","label":1}`:                                                `l:1: 2 runs of the case "a": give the label an epoch, or the digest that a score file has`,
		`{"case":"a","epoch":7,"label":1}`:                                      `l:1: no such run of the case "a"`,
		`{"case":"c","digest":"0","label":1}`:                                   `l:1: no such run of the case "c"`,
		`{"case":"c","metric":"taste","label":1}`:                               `l:1: no run has the metric "taste": the metrics are reward`,
		"{\"case\":\"c\",\"label\":1}\n{\"case\":\"c\",\"label\":0,\"note\":1}": `l:2: a second label of the metric "reward" for the same run of the case "c"`,
	} {
		f, err := agreementOf(t, graded, "l", labels)
		if err != nil || len(f.Unreadable) != 1 || f.Unreadable[0].String() != want {
			t.Errorf("%s: %v, %v, want %s", labels, f, err, want)
		}
	}
	for labels, want := range map[string]string{
		`{"label":1}`:                           "l:1: no case",
		`{"case":"a"}`:                          "l:1: label missing: want a number",
		`{"case":"a","label":"good"}`:           "l:1: label good: want a number",
		`{"case":"a","label":null}`:             "l:1: label null: want a number",
		`{"case":"a","label":"NaN"}`:            "l:1: label NaN: want a number",
		"{\"case\":\"a\",\"label\":1}\n{\"x\":": "l:2: ",
		"":                                      "l: ",
		"[]":                                    "l: no labels",
	} {
		if _, err := agreementOf(t, graded, "l", labels); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", labels, err, want)
		}
	}
	twoMetrics := `{"task_id":"a","completion":"x","reward":1,"score":0}` + "\n"
	f, err := agreementOf(t, twoMetrics, "l", `{"case":"a","label":1}`)
	if err != nil || len(f.Unreadable) != 1 || !strings.Contains(f.Unreadable[0].Error, "no metric: the runs have the metrics reward, score") {
		t.Errorf("a label without a metric of runs with two: %v, %v", f, err)
	}
}
