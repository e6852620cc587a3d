package evals_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
)

// rowsOf returns a result with one run per line: the case, and scores by metric or, after a !, the
// reason for a missing score, as in "book reward=1 steps=!no_end".
func rowsOf(t tb, lines ...string) *evals.Result {
	t.Helper()
	r := &evals.Result{Scorers: []string{"test"}}
	epochs := map[string]int{}
	for i, line := range lines {
		words := strings.Fields(line)
		row := evals.Row{Case: words[0], Epoch: epochs[words[0]], Run: fmt.Sprint("run-", i+1), File: "f", Line: i + 1}
		epochs[row.Case]++
		scores, wrong := map[string]float64{}, map[string]string{}
		for _, word := range words[1:] {
			metric, value, _ := strings.Cut(word, "=")
			x, err := strconv.ParseFloat(value, 64)
			if err != nil {
				wrong[metric] = strings.TrimPrefix(value, "!")
				continue
			}
			scores[metric] = x
		}
		row.Scores, row.Errors = evals.NewByName(scores), evals.NewByName(wrong)
		r.Rows.Add(&row)
	}
	whole, err := evals.Merge(r)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// baseline is that of a set, after it was written and read.
func baseline(t tb, r *evals.Result, mustPass ...string) *evals.Baseline {
	t.Helper()
	b, err := r.Baseline(nil, mustPass)
	if err != nil {
		t.Fatal(err)
	}
	b, err = evals.ReadBaseline("baseline.json", strings.NewReader(text(t, b.Write)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// evaluate returns the result of a gate and fails the test on an error.
func evaluate(t tb, g *evals.Gate, base *evals.Baseline, now *evals.Result) *evals.GateResult {
	t.Helper()
	v, err := g.Evaluate(base, now)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// each5 is a line for each of five cases.
func each5(scores string) (lines []string) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		lines = append(lines, name+" "+scores)
	}
	return lines
}

// times repeats lines.
func times(n int, lines ...string) []string { return slices.Repeat(lines, n) }

func TestGate(t *testing.T) {
	one, zero := each5("m=1"), each5("m=0")
	const dropped = "drop m  :0 the mean of 5 cases went from 1.0000 to 0.0000, p = 0.0312"
	for name, c := range map[string]struct {
		gate      evals.Gate
		base, now []string
		marked    []string
		want      []string
	}{
		"nothing changed": {base: one, now: one},
		"better":          {base: zero, now: one},
		// All of five pairs got worse, which has a chance of 1 in 32.
		"significant":            {base: one, now: zero, want: []string{dropped}},
		"four of four":           {base: one[:4], now: zero[:4]},
		"four, at another level": {gate: evals.Gate{Alpha: 0.07}, base: one[:4], now: zero[:4], want: []string{"drop m  :0 the mean of 4 cases went from 1.0000 to 0.0000, p = 0.0625"}},
		"five, at another level": {gate: evals.Gate{Alpha: 0.03}, base: one, now: zero},
		"of drop":                {gate: evals.Gate{Drop: 1}, base: one, now: zero, want: []string{dropped}},
		"less than the least":    {gate: evals.Gate{Drop: 1.001}, base: one, now: zero},
		"of a rounded drop":      {gate: evals.Gate{Drop: 0.1}, base: each5("m=0.4"), now: each5("m=0.3"), want: []string{"drop m  :0 the mean of 5 cases went from 0.4000 to 0.3000, p = 0.0312"}},
		"less is better":         {gate: evals.Gate{Lower: []string{"m"}}, base: zero, now: one, want: []string{"drop m  :0 the mean of 5 cases went from 0.0000 to 1.0000, p = 0.0312"}},
		"less is better, and it is": {
			gate: evals.Gate{Lower: []string{"m"}}, base: one, now: zero},
		// Two metrics each have twice the chance.
		"two metrics": {base: each5("m=1 n=1"), now: each5("m=0 n=1")},
		"two that got worse": {gate: evals.Gate{Alpha: 0.07}, base: each5("m=1 n=1"), now: each5("m=0 n=0"), want: []string{
			"drop m  :0 the mean of 5 cases went from 1.0000 to 0.0000, p = 0.0625", "drop n  :0 the mean of 5 cases went from 1.0000 to 0.0000, p = 0.0625"}},
		"one of two metrics": {gate: evals.Gate{Metrics: []string{"m"}}, base: each5("m=1 n=1"), now: each5("m=0 n=0"), want: []string{dropped}},

		// 150 runs of three cases passed, and 150 fail: one of C(100,50)³ assignments.
		"many runs of few cases": {base: times(50, "a m=1", "b m=1", "c m=1"), now: times(50, "a m=0", "b m=0", "c m=0"), want: []string{
			"drop m  :0 the mean of 3 cases went from 1.0000 to 0.0000, p < 0.0001"}},
		"some runs of few cases": {base: times(4, "a m=1", "b m=1"), now: append(times(3, "a m=1", "b m=1"), times(1, "a m=0", "b m=0")...)},

		"max drop":                     {gate: evals.Gate{MaxDrop: map[string]float64{"": 0.2}}, base: one, now: append(one[:3:3], zero[3:]...), want: []string{"max_drop m  :0 the mean of 5 cases went from 1.0000 to 0.6000, by more than max_drop 0.2"}},
		"a drop of max drop":           {gate: evals.Gate{MaxDrop: map[string]float64{"": 0.4}}, base: one, now: append(one[:3:3], zero[3:]...)},
		"max drop of another metric":   {gate: evals.Gate{MaxDrop: map[string]float64{"": 0.2, "m": 1}}, base: one, now: append(one[:3:3], zero[3:]...)},
		"max drop of a metric":         {gate: evals.Gate{MaxDrop: map[string]float64{"m": 0.3}}, base: one, now: append(one[:3:3], zero[3:]...), want: []string{"max_drop m  :0 the mean of 5 cases went from 1.0000 to 0.6000, by more than max_drop 0.3"}},
		"a rise is no max drop":        {gate: evals.Gate{MaxDrop: map[string]float64{"": 0}}, base: zero, now: one},
		"max drop, and less is better": {gate: evals.Gate{MaxDrop: map[string]float64{"": 0.2}, Lower: []string{"m"}, Alpha: 0.01}, base: zero, now: one, want: []string{"max_drop m  :0 the mean of 5 cases went from 0.0000 to 1.0000, by more than max_drop 0.2"}},
		"min":                          {gate: evals.Gate{Min: map[string]float64{"": 0.8}}, base: zero, now: append(one[:3:3], zero[3:]...), want: []string{"min m  :0 the mean of 5 cases is 0.6000, min is 0.8"}},
		"a mean of min":                {gate: evals.Gate{Min: map[string]float64{"": 0.6}}, base: zero, now: append(one[:3:3], zero[3:]...)},
		"min does not find drops": {gate: evals.Gate{Min: map[string]float64{"": 0.9}, Detect: 0.1, RequirePower: 0.8}, base: one[:4], now: one[:4], want: []string{
			"power m  :0 the gate finds a drop of 0.1 with a probability of 0.00, less than require_power 0.8: use more runs or cases"}},
		"min of all new cases": {gate: evals.Gate{Min: map[string]float64{"m": 0.6}}, base: one[:3], now: append(one[:3:3], "x m=0", "y m=0", "z m=0"), want: []string{"min m  :0 the mean of 6 cases is 0.5000, min is 0.6"}},
		"min without a score": {gate: evals.Gate{Min: map[string]float64{"m": 0.6}}, base: []string{"a m=1 n=1"}, now: []string{"a n=1"}, want: []string{
			"min m  :0 no run has a score, min is 0.6", "missing m a f:1 1 of 1 runs of the case have no score, first run-1"}},
		"min of all omits lower ones": {gate: evals.Gate{Min: map[string]float64{"": 0.6}, Lower: []string{"m"}}, base: zero, now: zero},
		"min of a lower one":          {gate: evals.Gate{Min: map[string]float64{"m": 0.6}, Lower: []string{"m"}, Alpha: 0.001}, base: one, now: one, want: []string{"min m  :0 the mean of 5 cases is 1.0000, min is 0.6"}},
		"power": {gate: evals.Gate{Detect: 0.5, RequirePower: 0.8}, base: one[:4], now: one[:4], want: []string{
			"power m  :0 the gate finds a drop of 0.5 with a probability of 0.00, less than require_power 0.8: use more runs or cases"}},
		"power that is unknown": {gate: evals.Gate{Detect: 0.5, RequirePower: 0.8}, base: []string{"a m=3.5", "b m=7.5"}, now: []string{"a m=3.5", "b m=7.5"}, want: []string{
			"power m  :0 nothing shows how runs of a case vary, so that the power is unknown, require_power is 0.8: score each case several times"}},
		"power for a drop that is impossible": {gate: evals.Gate{Detect: 0.9, RequirePower: 0.8}, base: times(10, each5("m=0")...), now: times(10, each5("m=0")...)},
		"power for a drop of the whole mean": {gate: evals.Gate{Detect: 1, RequirePower: 0.8}, base: one[:4], now: one[:4], want: []string{
			"power m  :0 the gate finds a drop of 1 with a probability of 0.00, less than require_power 0.8: use more runs or cases"}},
		"power for a rise of the whole rest": {gate: evals.Gate{Detect: 1, RequirePower: 0.8, Lower: []string{"m"}}, base: zero[:4], now: zero[:4], want: []string{
			"power m  :0 the gate finds a drop of 1 with a probability of 0.00, less than require_power 0.8: use more runs or cases"}},
		"enough power for a drop of the whole mean": {gate: evals.Gate{Detect: 1, RequirePower: 0.8}, base: times(10, one...), now: times(10, one...)},
		"power for a new metric": {gate: evals.Gate{Detect: 0.5, RequirePower: 0.8}, base: times(10, one...), now: times(10, each5("m=1 n=1")...), want: []string{
			"power n  :0 no case has a score in the baseline and in the runs, so that no drop is found, require_power is 0.8: write the baseline again with --update"}},
		"enough power": {gate: evals.Gate{Detect: 0.5, RequirePower: 0.8}, base: times(10, one...), now: times(10, one...)},

		"missing case":                 {base: one, now: one[1:], want: []string{"missing  a :0 the case has no run"}},
		"missing score":                {base: one, now: append(one[1:5:5], "a n=1"), want: []string{"missing m a f:5 1 of 1 runs of the case have no score, first run-5"}},
		"missing score without a gate": {gate: evals.Gate{Metrics: []string{"n"}}, base: each5("m=1 n=1"), now: append(each5("n=1")[1:], "a n=1")},
		"missing scores of some runs":  {base: []string{"a m=1", "a m=0", "a m=0"}, now: []string{"a m=1", "a", "a"}, want: []string{"missing m a f:2 2 of 3 runs of the case have no score, first run-2"}},
		"a smaller share of scores":    {base: []string{"a m=1"}, now: []string{"a m=1", "a m=1", "a"}, want: []string{"missing m a f:3 1 of 3 runs of the case have no score, first run-3"}},
		"missing score made up for":    {base: []string{"a m=1", "a"}, now: []string{"a", "a m=1"}},
		"fewer runs":                   {base: []string{"a m=1", "a m=1"}, now: []string{"a m=1"}},
		"fewer runs, one without score": {base: []string{"a m=1", "a m=1", "a m=1"}, now: []string{"a m=1", "a m=!no_end", "a"}, want: []string{
			"missing m a f:3 1 of 3 runs of the case have no score, first run-3", "scorer_error m a f:2 no_end"}},
		"never had a score": {base: []string{"a", "b m=1"}, now: []string{"a", "b m=1"}},
		"new case":          {base: one[1:], now: one},
		"new metric":        {base: one, now: each5("m=1 n=0")},

		"must pass, marked": {base: one, now: append(one[1:5:5], "a m=0"), marked: []string{"a"}, want: []string{"must_pass m a f:5 the run run-5 failed"}},
		"must pass, set":    {gate: evals.Gate{MustPass: []string{"a"}}, base: one, now: append(one[1:5:5], "a m=0"), want: []string{"must_pass m a f:5 the run run-5 failed"}},
		"must pass, but never did": {
			base: zero, now: zero, marked: []string{"a"}, want: []string{"must_pass m a f:1 the run run-1 failed"}},
		"must pass, and another case has a part": {base: each5("m=1 n=1"), now: append(each5("m=1 n=1")[2:], "a m=0 n=1", "b m=0.5 n=1"), marked: []string{"a"}, want: []string{"must_pass m a f:4 the run run-4 failed"}},
		"must pass, and passes in part":          {base: one, now: append(one[1:5:5], "a m=0.5"), marked: []string{"a"}, want: []string{"must_pass m a f:5 the run run-5 failed"}},
		"must pass in each run":                  {base: []string{"a m=1"}, now: []string{"a m=1", "a m=0", "a m=0"}, marked: []string{"a"}, want: []string{"must_pass m a f:2 the run run-2 failed"}},
		"must pass by success only": {gate: evals.Gate{Lower: []string{"less"}}, marked: []string{"a"},
			base: []string{"a m=1 n=0.5 less=0", "b m=1 n=1 less=0"}, now: []string{"a m=1 n=0.5 less=0", "b m=1 n=1 less=0"}},
		"must pass, and nothing sets it": {base: []string{"a m=0.5"}, now: []string{"a m=0.5"}, marked: []string{"a"}, want: []string{"must_pass  a f:1 the run run-1 has no score that shows whether it passed"}},
		"must pass, and another sets it": {base: []string{"a m=1", "b m=1"}, now: []string{"a", "b m=1"}, marked: []string{"a"}, want: []string{
			"must_pass  a f:1 the run run-1 has no score that shows whether it passed", "missing m a f:1 1 of 1 runs of the case have no score, first run-1"}},
		"must pass, and one run does not set it": {gate: evals.Gate{MustPass: []string{"a"}}, base: []string{"b m=1"}, now: []string{"a m=1", "a", "b m=1"}, want: []string{
			"must_pass  a f:2 the run run-2 has no score that shows whether it passed"}},
		"must pass, set by another metric": {base: []string{"a m=1", "a n=1"}, now: []string{"a m=1", "a n=1"}, marked: []string{"a"}},
		"must pass, missing":               {base: one, now: one[1:], marked: []string{"a"}, want: []string{"missing  a :0 the case has no run"}},
		"must pass, unknown":               {gate: evals.Gate{MustPass: []string{"z"}}, base: one, now: one, want: []string{"missing  z :0 the case has no run"}},

		"invariant": {base: each5("invariants=1"), now: append(each5("invariants=1")[1:], "a invariants=1", "a invariants=0", "a invariants=0"),
			want: []string{"invariant invariants a f:6 the run run-6 violates an invariant"}},
		"invariant without a gate": {gate: evals.Gate{Metrics: []string{"m"}}, base: []string{"a m=1 invariants=1"}, now: []string{"a m=1 invariants=0"}},
		"scorer error": {base: one, now: append(one[1:5:5], "a m=1", "a m=!no_end", "a m=!no_start", "new m=!new"),
			want: []string{"scorer_error m a f:6 no_end", "scorer_error m new f:8 new"}},
		"no score but an error": {base: one, now: append(one[1:5:5], "a m=!no_end"), want: []string{"scorer_error m a f:5 no_end"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := evaluate(t, &c.gate, baseline(t, rowsOf(t, c.base...), c.marked...), rowsOf(t, c.now...))
			var got []string
			for _, f := range v.Findings {
				got = append(got, fmt.Sprintf("%s %s %s %s:%d %s", string(f.Kind), f.Metric, f.Case, f.File, f.Line, f.Message))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if v.Passed != (len(c.want) == 0) {
				t.Errorf("passed: %v", v.Passed)
			}
		})
	}
}

// TestGateRatchet checks that only rules fail which no run of the case breaks in the baseline.
func TestGateRatchet(t *testing.T) {
	set := func(runs ...string) *evals.Result { // such as "a INV-01,INV-04"
		var lines []string
		for _, run := range runs {
			name, rules, _ := strings.Cut(run, " ")
			lines = append(lines, fmt.Sprintf("%s invariants=%d", name, max(0, 1-len(rules))))
		}
		r := rowsOf(t, lines...)
		r.Change(func(_ int, row *evals.Row) {
			if _, rules, _ := strings.Cut(runs[row.Line-1], " "); rules != "" {
				row.Findings = evals.NewByName(map[string][]string{"invariants": strings.Split(rules, ",")})
			}
		})
		return r
	}
	for name, c := range map[string]struct {
		base, now []string
		want      []string
	}{
		"the runs of the baseline": {base: []string{"a INV-01,INV-04", "b"}, now: []string{"a INV-01,INV-04", "b"}},
		"one of them":              {base: []string{"a INV-01,INV-04"}, now: []string{"a INV-04"}},
		"of another run of a case": {base: []string{"a", "a INV-01", "a INV-04"}, now: []string{"a INV-01,INV-04", "a", "a INV-04"}},
		"another rule":             {base: []string{"a INV-01"}, now: []string{"a INV-01,INV-04"}, want: []string{"a f:1 the run run-1 breaks INV-04"}},
		"another case":             {base: []string{"a INV-01", "b"}, now: []string{"a", "b INV-01"}, want: []string{"b f:2 the run run-2 breaks INV-01"}},
		"a new case":               {base: []string{"a"}, now: []string{"a", "z INV-01"}, want: []string{"z f:2 the run run-2 breaks INV-01"}},
		"the first run of each rule": {base: []string{"a"}, now: []string{"a INV-01", "a INV-01,INV-04", "a INV-04"}, want: []string{
			"a f:1 the run run-1 breaks INV-01", "a f:2 the run run-2 breaks INV-04"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := evaluate(t, &evals.Gate{}, baseline(t, set(c.base...)), set(c.now...))
			var got []string
			for _, f := range v.Findings {
				got = append(got, fmt.Sprintf("%s %s:%d %s", f.Case, f.File, f.Line, f.Message))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
	// The rules of a baseline of an earlier version are unknown.
	before := baseline(t, rowsOf(t, "a invariants=0"))
	if v := evaluate(t, &evals.Gate{}, before, set("a INV-01")); !v.Passed {
		t.Errorf("a baseline without rules: got %v", v.Findings)
	}
	// A score file without rules is compared by its scores.
	old := rowsOf(t, "a invariants=0")
	if v := evaluate(t, &evals.Gate{}, baseline(t, old), old); !v.Passed {
		t.Errorf("without rules: got %v", v.Findings)
	}
}

// TestGateResultValues checks the statistics and the cases of a gate result.
func TestGateResultValues(t *testing.T) {
	base := baseline(t, rowsOf(t, "a m=1 n=2", "b m=1", "c m=1", "d m=0.5"))
	now := rowsOf(t, "a m=0", "b m=0", "c m=1", "z m=1")
	now.Unreadable = []evals.Unreadable{{File: "g", Line: 2, Error: "no"}}
	got := evaluate(t, &evals.Gate{MustPass: []string{"y"}}, base, now)
	got.Findings = nil
	x := func(v float64) *float64 { return &v }
	want := &evals.GateResult{
		Metrics: map[string]evals.MetricResult{
			"m": {
				Pairs: 3, Base: x(1), New: x(1. / 3), Difference: x(-2. / 3), CI95: &[2]float64{-0.938508055, 0.269161720}, P: x(0.25), Holm: x(0.25), Test: "exact",
				Worse: []evals.CaseChange{
					{Case: "a", Base: 1, BaseRuns: 1, NewRuns: 1, Difference: -1, CI95: &[2]float64{-1, 0.122108721}, File: "f", Line: 1},
					{Case: "b", Base: 1, BaseRuns: 1, NewRuns: 1, Difference: -1, CI95: &[2]float64{-1, 0.122108721}, File: "f", Line: 2},
				},
			},
			"n": {Missing: 4},
		},
		Cases: []string{"a", "b", "c", "d", "y", "z"}, NewCases: []string{"z"}, Unreadable: now.Unreadable,
	}
	round := cmp.Transformer("rounded", func(v float64) string { return fmt.Sprintf("%.9f", v) })
	if diff := cmp.Diff(want, got, round); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestGateErrors(t *testing.T) {
	one := rowsOf(t, "a m=1")
	base := baseline(t, one)
	for want, g := range map[string]evals.Gate{
		"alpha -1: want 0 to 0.5":                   {Alpha: -1},
		"alpha 0.5: want 0 to 0.5":                  {Alpha: 0.5},
		"drop -1: want 0 or more":                   {Drop: -1},
		"max_drop -1: want 0 or more":               {MaxDrop: map[string]float64{"m": -1}},
		"min 1e+200: want a number":                 {Min: map[string]float64{"": 1e200}},
		"detect -1: want 0 or more":                 {Detect: -1},
		"require_power 1: want 0 to 1":              {RequirePower: 1},
		"require_power 0.8: set detect":             {RequirePower: 0.8},
		`unknown metric "k": want one of ["m"]`:     {Min: map[string]float64{"k": 1}},
		`unknown metric "l": want one of ["m"]`:     {MaxDrop: map[string]float64{"l": 1}},
		`unknown metric "n": want one of ["m"]`:     {Metrics: []string{"m", "n"}},
		`unknown metric "steps": want one of ["m"]`: {Lower: []string{"steps"}},
	} {
		_, err := g.Evaluate(base, one)
		fails(t, err, want)
		_, err = g.Plan(base, 1)
		fails(t, err, want)
	}
	other := *one
	other.Scorers = []string{"other"}
	_, err := new(evals.Gate).Evaluate(base, &other)
	fails(t, err, `the baseline has the scorers ["test"] and the runs ["other"]`, "--update")
	_, err = new(evals.Gate).Evaluate(base, rowsOf(t, "z m=1"))
	fails(t, err, "none of 1 and 1 cases is in both sets")
}

// A gate never fails the runs of its own baseline and returns the same result each time.
func TestGateHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%s m=%v n=%v", rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "case"),
				rapid.IntRange(0, 1).Draw(t, "m"), rapid.Float64Range(-3, 3).Draw(t, "n"))
		}), 1, 20).Draw(t, "runs")
		base := baseline(t, rowsOf(t, lines...))
		if v := evaluate(t, &evals.Gate{}, base, rowsOf(t, lines...)); !v.Passed {
			t.Errorf("the runs of the baseline fail: %v", v.Findings)
		}
		g := &evals.Gate{Metrics: []string{"m"}, MustPass: []string{lines[0][:1]}}
		first, second := evaluate(t, g, base, rowsOf(t, lines...)), evaluate(t, g, base, rowsOf(t, lines...))
		if diff := cmp.Diff(text(t, first.JUnit), text(t, second.JUnit)); diff != "" {
			t.Errorf("twice (-first +second):\n%s", diff)
		}
	})
}

var errPipe = errors.New("the pipe is broken")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

// text is what a function writes, which may not fail, unless its writer does.
func text(t tb, write func(w io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if err := write(brokenPipe{}); !errors.Is(err, errPipe) {
		t.Errorf("to a broken pipe: got %v, want %v", err, errPipe)
	}
	return b.String()
}

// TestGateExplains checks that a finding has the explanation of a score on one line.
func TestGateExplains(t *testing.T) {
	rows := rowsOf(t, "a m=0 invariants=0", "b m=1 invariants=1")
	rows.Change(func(i int, row *evals.Row) {
		if i == 0 {
			row.Explanations = evals.NewByName(map[string]string{"m": "want\n  \"Bern\",\tgot\n" + strings.Repeat("é", 200), "invariants": " INV-04: twice \n"})
		}
	})
	base, err := rowsOf(t, "a m=1 invariants=1", "b m=1 invariants=1").Baseline(nil, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := (&evals.Gate{Metrics: []string{"m", "invariants"}, Drop: 1}).Evaluate(base, rows)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range v.Findings {
		if f.Case != "a" {
			continue
		}
		got[f.Message] = true
	}
	if diff := cmp.Diff(map[string]bool{
		`the run run-1 failed: want "Bern", got ` + strings.Repeat("é", 200-len(`want "Bern", got `)) + "…": true,
		"the run run-1 failed: INV-04: twice":                true,
		"the run run-1 violates an invariant: INV-04: twice": true,
	}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A drop as large as the least that counts does count, also where floating point has a
// little less of it.
func TestGateDropAtItsLeast(t *testing.T) {
	var before, after []string
	for i := range 10 {
		before, after = append(before, fmt.Sprintf("c%d m=0.3", i)), append(after, fmt.Sprintf("c%d m=0.2", i))
	}
	for drop, want := range map[float64]int{0.1: 1, 0.1001: 0} {
		if v := evaluate(t, &evals.Gate{Drop: drop}, baseline(t, rowsOf(t, before...)), rowsOf(t, after...)); len(v.Findings) != want {
			t.Errorf("least drop %v: got %v, want %d", drop, v.Findings, want)
		}
	}
}

// A probability of 1/40, the product of 3/10, 1/3 and 1/4, is not below 0.025, whatever rounding makes of it.
func TestGateAtItsLevel(t *testing.T) {
	before := baseline(t, rowsOf(t, "a m=1", "a m=1", "a m=0", "b m=1", "c m=1"))
	after := rowsOf(t, "a m=0", "a m=0", "b m=0", "b m=0", "c m=0", "c m=0", "c m=0")
	for alpha, want := range map[float64]int{0.025: 0, 0.02501: 1} {
		if v := evaluate(t, &evals.Gate{Alpha: alpha}, before, after); len(v.Findings) != want {
			t.Errorf("alpha %v: got %v, want %d", alpha, v.Findings, want)
		}
	}
}

// A mean that only rounding makes smaller does not decline.
func TestGateRounding(t *testing.T) {
	v := evaluate(t, &evals.Gate{}, baseline(t, rowsOf(t, "a m=0.4", "a m=0.2")), rowsOf(t, "a m=0.3", "a m=0.3"))
	if m := v.Metrics["m"]; *m.P != 1 || *m.Holm != 1 {
		t.Errorf("got %v and %v for a difference of %v, want 1", *m.P, *m.Holm, *m.Difference)
	}
}
