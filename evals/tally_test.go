package evals_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
)

// drawnRows draws rows of a few cases and clusters.
func drawnRows(t *rapid.T) (rows []evals.Row) {
	value := rapid.SampledFrom([]*rapid.Generator[float64]{rapid.SampledFrom([]float64{0, 1}), rapid.Float64Range(0, 1), rapid.Float64Range(-1e9, 1e9)}).Draw(t, "kind")
	for c := range rapid.IntRange(1, 6).Draw(t, "cases") {
		cluster := rapid.SampledFrom([]string{"", "x", "case-0"}).Draw(t, "cluster")
		for epoch := range rapid.IntRange(1, 4).Draw(t, "runs") {
			row := evals.Row{Case: fmt.Sprintf("case-%d", c), Epoch: epoch, Cluster: cluster, File: "f", Line: 1, Steps: 1}
			row.Cost, row.Usage = rapid.Float64Range(0, 3).Draw(t, "cost"), llm.Usage{InputTokens: rapid.Int64Range(0, 9).Draw(t, "tokens")}
			scores, wrong := map[string]float64{}, map[string]string{}
			for _, metric := range []string{"m", "n"} {
				kind := rapid.IntRange(0, 5).Draw(t, metric)
				if kind > 1 {
					scores[metric] = value.Draw(t, "value")
				}
				if kind%3 == 1 {
					wrong[metric] = "error"
				}
			}
			row.Scores, row.Errors = evals.NewByName(scores), evals.NewByName(wrong)
			rows = append(rows, row)
		}
	}
	return rows
}

// jsonCopy returns a value that was JSON.
func jsonCopy[T any](t tb, value *T) *T {
	t.Helper()
	text, err := json.Marshal(value)
	got := new(T)
	if err == nil {
		err = json.Unmarshal(text, got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestTally adds runs in any order, in parts of cases and clusters and through JSON, and compares the summary with
// that of the result.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawnRows(t)
		cases, clusters := map[string]*evals.CaseTally{}, map[string]*evals.Tally{}
		for _, row := range rapid.Permutation(rows).Draw(t, "order") {
			one := &evals.CaseTally{}
			one.Add(&row)
			one.AddEpoch(row.Epoch)
			if cases[row.Case] == nil {
				cases[row.Case] = &evals.CaseTally{}
			}
			cases[row.Case].Merge(jsonCopy(t, one))
		}
		for _, c := range cases { // in any order
			one := &evals.Tally{}
			one.AddCase(jsonCopy(t, c))
			if clusters[c.Cluster] == nil {
				clusters[c.Cluster] = &evals.Tally{}
			}
			clusters[c.Cluster].Merge(jsonCopy(t, one))
		}
		var parts [2]evals.Tally
		for name, c := range clusters {
			parts[len(name)%2].AddCluster(c)
		}
		parts[0].Merge(jsonCopy(t, &parts[1]))
		got, err := parts[0].Summary()
		if err != nil {
			t.Fatal(err)
		}
		want, err := must(evals.Merge(&evals.Result{Rows: evals.NewRows(rows...)}))(t).Summary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(oneJSON(t, want)), string(oneJSON(t, got))); diff != "" {
			t.Errorf("summary (-of the result +of tallies):\n%s", diff)
		}
	})
}

func oneJSON(t tb, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTallyWrongTwice checks that the error does not depend on the order of the cases.
func TestTallyWrongTwice(t *testing.T) {
	const want = `case "a" is in the clusters "x" and "y": give it one`
	for _, order := range []string{"ab", "ba"} {
		var all evals.Tally
		for _, name := range order {
			var c evals.CaseTally
			c.Add(&evals.Row{Case: string(name), Cluster: "x"})
			c.Add(&evals.Row{Case: string(name), Epoch: 1, Cluster: "y"})
			all.AddCase(&c)
		}
		if _, err := all.Summary(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestTallyWrong checks that runs which cannot be in one result are an error, whichever part comes first.
func TestTallyWrong(t *testing.T) {
	row := func(epoch int, cluster string) evals.Row { return evals.Row{Case: "a", Epoch: epoch, Cluster: cluster} }
	for name, c := range map[string]struct {
		rows []evals.Row
		want string
	}{
		"two runs of an epoch": {[]evals.Row{row(70, ""), row(3, ""), row(70, "")}, `two runs of case "a" have the same epoch`},
		"two clusters":         {[]evals.Row{row(0, "x"), row(1, "y")}, `case "a" is in the clusters "x" and "y"`},
		"a large epoch":        {[]evals.Row{row(1<<16, "")}, `case "a" has the epoch 65536: the largest one is 65535`},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.rows {
				var whole evals.CaseTally
				for j := range c.rows {
					var one evals.CaseTally
					r := c.rows[(i+j)%len(c.rows)]
					one.Add(&r)
					one.AddEpoch(r.Epoch)
					whole.Merge(&one)
				}
				var all evals.Tally
				all.AddCase(&whole)
				if _, err := all.Summary(); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
			}
		})
	}
}
