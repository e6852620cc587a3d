package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
)

// explained is a run that failed with an explanation.
func explained(name, why string, calls map[string]evals.Calls) evals.Row {
	r := row(name, 0, scores{"m": 0})
	if why != "" {
		r.Explanations = byName(map[string]string{"m": why})
	}
	r.Calls = byName(calls)
	return r
}

func TestFailureTables(t *testing.T) {
	violates := explained("c5", "INV-04: a call without a result", nil)
	violates.Findings = byName(map[string][]string{"m": {"INV-04", "INV-07"}})
	failed := map[string]evals.Calls{"book": {N: 3, Failed: 2}, "find": {N: 1}}
	wrong := row("c7", 0, scores{}, "m")
	passed := row("c9", 0, scores{"m": 1})
	passed.Tags = []string{"easy", "geo"}
	violates.Tags, wrong.Tags = []string{"geo", "hard"}, []string{"geo"}
	passed.Calls = byName(map[string]evals.Calls{"book": {N: 1, Failed: 1}})
	set := whole(t, explained("c10", `want "Aare", got "a \"b\" c"`, failed), explained("c2", `want "Bern", got "x"`, failed),
		explained("c3", `/n: want {"a": [1]}, got 12.5`, map[string]evals.Calls{"find": {N: 1, Failed: 1}}),
		explained("c4", "", nil), violates, passed, wrong)
	all := []report.Table{
		{Header: []string{"cause of failure", "runs", "cases", "such as"}, Rows: [][]string{
			{`m: want "…", got "…"`, "2", "2", "c2"},
			{"m: /n: want {…}, got #", "1", "1", "c3"},
			{"m: INV-04", "1", "1", "c5"},
			{"m: INV-07", "1", "1", "c5"},
			{"m: it is no number", "1", "1", "c7"},
			{"m: no explanation", "1", "1", "c4"},
		}},
		{Header: []string{"tool with failed calls", "failed runs", "other runs", "failed calls in failed runs"}, Rows: [][]string{
			{"book", "2", "1", "4 of 6"},
			{"find", "1", "0", "1 of 3"},
		}},
		{Header: []string{"tag with failures", "failed runs", "failed cases"}, Rows: [][]string{
			{"hard", "1 of 1", "1"},
			{"geo", "2 of 3", "2"},
		}},
	}
	rep := reported(t, set, nil)
	if diff := cmp.Diff(all, rep.FailureTables(report.Lists{})); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	all[0].Rows = append(all[0].Rows[:1], []string{"5 more; ask", "", "", ""})
	all[1].Rows = append(all[1].Rows[:1], []string{"1 more; ask", "", "", ""})
	all[2].Rows = append(all[2].Rows[:1], []string{"1 more; ask", "", ""})
	if diff := cmp.Diff(all, rep.FailureTables(report.Lists{Max: 1, All: "ask"})); diff != "" {
		t.Errorf("one (-want +got):\n%s", diff)
	}
	unlike := reported(t, whole(t, explained("a", "no answer", nil), explained("b", "no call", nil)), nil)
	for _, table := range unlike.FailureTables(report.Lists{}) {
		if len(table.Rows) > 0 {
			t.Errorf("runs without a common cause: got %q", table.Rows)
		}
	}
}

func TestCasesInNaturalOrder(t *testing.T) {
	var got []string
	for _, c := range reported(t, whole(t, row("case 10", 0, scores{"m": 1}), row("case 9", 0, scores{"m": 1}), row("case 100", 0, scores{"m": 0})), nil).Cases {
		got = append(got, c.Case)
	}
	if diff := cmp.Diff([]string{"case 100", "case 9", "case 10"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
