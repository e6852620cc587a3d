package evals_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// took is a run that took something.
func took(name string, epoch, steps int, calls map[string]evals.Calls, usage llm.Usage) evals.Row {
	return evals.Row{Case: name, Epoch: epoch, Run: "r", File: "f", Line: epoch, Scores: evals.NewByName(map[string]float64{"m": 1}), Steps: steps, Calls: evals.NewByName(calls), Usage: usage}
}

type calls = map[string]evals.Calls

// The sets for the values below, which were computed by hand.
func resourceSets() (base, other *evals.Result) {
	none := llm.Usage{}
	base = &evals.Result{Rows: evals.NewRows(
		took("a", 0, 2, calls{"find": {N: 1}}, llm.Usage{InputTokens: 10}),
		took("a", 1, 4, calls{"find": {N: 3}}, none),
		took("b", 0, 1, calls{"read": {N: 2, Failed: 1}}, none),
		took("c", 0, 1, calls{"read": {N: 1, Failed: 1}, "gone": {N: 1}}, none),
		took("d", 0, 0, nil, none),
	)}
	other = &evals.Result{Rows: evals.NewRows(
		took("a", 0, 5, calls{"find": {N: 2}}, llm.Usage{InputTokens: 30}),
		took("b", 0, 5, calls{"search": {N: 4}}, llm.Usage{InputTokens: 50}),
		took("d", 0, 7, nil, none),
	)}
	return base, other
}

func TestResourcesByHand(t *testing.T) {
	base, _ := resourceSets()
	base.Change(func(i int, row *evals.Row) {
		if i == 4 {
			row.Cost, row.Latency = 0.5, 3
		}
	})
	f, err := base.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]evals.Amount{
		"input_tokens": {N: 1, Sum: 10, Mean: 10},
		"cost":         {N: 1, Sum: 0.5, Mean: 0.5},
		"latency_ns":   {N: 1, Sum: 3, Mean: 3},
		"steps":        {N: 4, Sum: 8, Mean: 2},
		"calls":        {N: 4, Sum: 8, Mean: 2},
		"failed_calls": {N: 4, Sum: 2, Mean: 0.5},
	}, f.Resources); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

// The differences of a and b are 2 and 4 steps, 0 and 2 calls, 0 and −1 failed ones, 0 and
// −2 calls of read, 0 and 4 of search: of two numbers that are 2x apart the error is x. t
// with one degree of freedom is 12.7062. The base has no steps of d and no tokens of b.
func TestResourceChangesByHand(t *testing.T) {
	base, other := resourceSets()
	c, err := evals.Compare(base, other, 0)
	shift := func(pairs, base, now, difference float64, se any, ci any) object {
		return object{"pairs": pairs, "base": base, "new": now, "difference": difference, "se": se, "ci95": ci}
	}
	failed := func(o object, base float64) object {
		o["failed"] = object{"base": base, "new": 0.}
		return o
	}
	got := shape(t, c, err)
	near(t, object{
		"input_tokens": shift(1, 10, 30, 20, nil, nil),
		"steps":        shift(2, 2, 5, 3, 1., list{-9.706205, 15.706205}),
		"calls":        shift(2, 2, 3, 1, 1., list{-11.706205, 13.706205}),
		"failed_calls": shift(2, 0.5, 0, -0.5, 0.5, list{-6.853102, 5.853102}),
	}, got["resources"].(object))
	near(t, object{
		"find":   failed(shift(2, 1, 1, 0, 0., list{0., 0.}), 0),
		"read":   failed(shift(2, 1, 0, -1, 1., list{-13.706205, 11.706205}), 1),
		"search": failed(shift(2, 0, 2, 2, 2., list{-23.412410, 27.412410}), 0),
	}, got["tools"].(object))
}

// Of very many tools those that were called most are compared.
func TestManyTools(t *testing.T) {
	by := calls{}
	for i := range 300 {
		by[fmt.Sprintf("tool-%03d", i)] = evals.Calls{N: 1 + i%2}
	}
	r := &evals.Result{Rows: evals.NewRows(took("a", 0, 1, by, llm.Usage{}))}
	c, err := evals.Compare(r, r, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, often := c.Tools["tool-299"]
	_, first := c.Tools["tool-098"]
	_, last := c.Tools["tool-100"]
	if len(c.Tools) != 200 || !often || !first || last {
		t.Errorf("%d tools, often %v, first %v, last %v", len(c.Tools), often, first, last)
	}
}

// A cluster that a case is not in is an error here, too: also of a case without a score.
func TestShiftErrors(t *testing.T) {
	base, other := resourceSets()
	base.Change(func(_ int, row *evals.Row) { row.Scores = nil })
	inCluster := func(i int, row *evals.Row) {
		if row.Case == "b" {
			row.Cluster = "k"
		}
	}
	other.Change(inCluster)
	_, err := evals.Compare(base, other, 0)
	fails(t, err, `"b"`, "cluster")
	base.Change(inCluster)
	base.Rows = evals.NewRows(base.Rows.At(0), base.Rows.At(1), base.Rows.At(2), took("b", 1, 1, nil, llm.Usage{}))
	_, err = evals.Compare(base, other, 0)
	fails(t, err, `"b"`, "cluster")
}

// TestRowCounts checks that lists of messages and traces have equal counts, and that names with
// equal valid text are one tool.
func TestRowCounts(t *testing.T) {
	call := func(id, name string) llm.ToolCall { return llm.ToolCall{ID: id, Name: name, Arguments: "{}"} }
	first := llm.Assistant(call("1", "find"), call("2", "find"), call("3", "re\xff"))
	results := llm.ToolResults(
		llm.ToolResult{ID: "1", IsError: true}, llm.ToolResult{ID: "2"}, llm.ToolResult{ID: "3", IsError: true})
	r := score(t, file("f", traced(t, "r", trace.RunStart{}, trace.ModelResponse{Message: first},
		trace.ToolEnd{ToolCallID: "1", Outcome: trace.OutcomeError, Result: results.Parts[0].(llm.ToolResult)},
		trace.ToolEnd{ToolCallID: "2", Outcome: trace.OutcomeOK, Result: results.Parts[1].(llm.ToolResult)},
		trace.ToolEnd{ToolCallID: "3", Outcome: trace.OutcomeError, Result: results.Parts[2].(llm.ToolResult)},
		trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "Done."})}, trace.RunEnd{Steps: 2})))
	row := r.Rows.At(0)
	if diff := cmp.Diff(evals.NewByName(calls{"find": {N: 2, Failed: 1}, "re\uFFFD": {N: 1, Failed: 1}}), row.Calls); diff != "" || row.Steps != 2 {
		t.Errorf("%d steps, calls (-want +got):\n%s", row.Steps, diff)
	}
	if diff := cmp.Diff(written(t, r), written(t, reread(t, r))); diff != "" {
		t.Errorf("through a file (-not +through):\n%s", diff)
	}
}
