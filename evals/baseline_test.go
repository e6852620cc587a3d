package evals_test

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
)

const baselineText = `{
"format": "looptape-baseline",
"version": 1,
"scorers": ["test"],
"metrics": {
  "<m>": 0.625,
  "n": 7
},
"cases": [
  {"case":"a","must_pass":true,"scores":{"<m>":[1,0.5]}},
  {"case":"b","cluster":"x","scores":{"<m>":[1,0],"n":[7]}},
  {"case":"c","scores":{}}
]
}
`

// scored is the result for the baseline above.
func scored(t *testing.T) *evals.Result {
	t.Helper()
	r := rowsOf(t, "a <m>=1", "a <m>=0.5", "b <m>=1 n=7", "b <m>=0", "c <m>=!no o=!no")
	r.Change(func(_ int, row *evals.Row) {
		if row.Case == "b" {
			row.Cluster = "x"
		}
	})
	return r
}

// The file is what it was, a line a case, and keeps its marks.
func TestBaselineFile(t *testing.T) {
	b, err := scored(t).Baseline(nil, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(baselineText, text(t, b.Write)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	read, err := evals.ReadBaseline("b.json", strings.NewReader(baselineText))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, read); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	again, err := scored(t).Baseline(read, []string{"c"})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(baselineText, `"case":"c"`, `"case":"c","must_pass":true`, 1)
	if diff := cmp.Diff(want, text(t, again.Write)); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
}

// Nothing is still a file.
func TestBaselineEmpty(t *testing.T) {
	b, err := (&evals.Result{}).Baseline(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evals.ReadBaseline("b.json", strings.NewReader(text(t, b.Write))); err != nil {
		t.Error(err)
	}
}

func TestBaselineErrors(t *testing.T) {
	_, err := scored(t).Baseline(nil, []string{"a", "z"})
	fails(t, err, `the must-pass case "z" is unknown`)
	twoClusters := scored(t)
	twoClusters.Change(func(i int, row *evals.Row) {
		if i == 0 {
			row.Cluster = "y"
		}
	})
	_, err = twoClusters.Baseline(nil, nil)
	fails(t, err, `metric "<m>"`, `"a"`)
	for _, c := range [][3]string{
		{`"looptape-baseline"`, `"other"`, `b.json: unknown format "other": want looptape-baseline: write it with looptape eval gate --update`},
		{`"version": 1`, `"version": 2`, "b.json: version 2: this version of looptape reads 1"},
		{`"must_pass"`, `"mustpass"`, `b.json: not a baseline of looptape eval gate --update: json: unknown field "mustpass"`},
		{`"case":"b"`, `"case":7`, "b.json:11: not a baseline"},
		{`"case":"b"`, `"case":b`, "b.json:11: not a baseline"},
		{`"case":"b"`, `"case":"a"`, `b.json: duplicate case "a"`},
		{"[7]", "[null]", `b.json: not a baseline of looptape eval gate --update: score 1 of "n" is null: want a number`},
		{"[7]", "[1e101]", `b.json: case "b": the score 1e+101 of "n": want a number within`},
		{"]\n}\n", "]\n}\n}", "b.json: unexpected data after the baseline"},
		{"]\n}\n", "", "b.json: not a baseline of looptape eval gate --update: unexpected EOF"},
	} {
		_, err := evals.ReadBaseline("b.json", strings.NewReader(strings.Replace(baselineText, c[0], c[1], 1)))
		fails(t, err, c[2])
	}
	_, err = evals.ReadBaseline("b.json", iotest.ErrReader(errPipe))
	fails(t, err, "b.json: the pipe is broken")
}
