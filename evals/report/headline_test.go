package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
)

// of returns a row for each score of a metric, each of its own case.
func of(metric string, values ...float64) (rows []evals.Row) {
	for i, v := range values {
		rows = append(rows, row(fmt.Sprint("c", i), 0, scores{metric: v}))
	}
	return rows
}

func repeat(v float64, n int) (list []float64) {
	for range n {
		list = append(list, v)
	}
	return list
}

func TestHeadline(t *testing.T) {
	unreadable := func(r *evals.Result) *evals.Result {
		r.Unreadable = []evals.Unreadable{{File: "f", Line: 1, Error: "not JSON"}}
		return r
	}
	worse := append(repeat(1, 2), append(repeat(0, 10), repeat(1, 8)...)...)
	for name, c := range map[string]struct {
		base, now *evals.Result
		lower     []string
		want      string
	}{
		"one set":          {now: whole(t, of("m", 1, 1, 0, 1)...), want: "3 of 4 cases passed; m: pass rate 0.75 (95 % 0.301 to 0.954)."},
		"a mean":           {now: whole(t, of("m", 1, 0.5, 0, 0.5)...), want: "m: mean 0.5 (95 % 0.162 to 0.838)."},
		"one case":         {now: whole(t, of("m", 1)...), want: "1 of 1 case passed; m: pass rate 1 (95 % unknown)."},
		"no score":         {now: unreadable(whole(t, row("c", 0, scores{}))), want: "No run has a score. Caution: 1 record could not be read."},
		"missing":          {now: unreadable(whole(t, append(of("m", 1, 0), row("d", 0, scores{}, "m"))...)), want: "1 of 3 cases passed; m: pass rate 0.5 (95 % 0.0945 to 0.905). Caution: 1 score missing or failed; 1 record could not be read."},
		"success first":    {now: whole(t, row("a", 0, scores{"a": .5, "z": 1}), row("b", 0, scores{"a": .25, "z": 1})), want: "2 of 2 cases passed; z: pass rate 1 (95 % 0.342 to 1); a: mean 0.375 (95 % 0.0427 to 0.89)."},
		"lower is better":  {now: whole(t, of("m", repeat(1, 20)...)...), base: whole(t, of("m", repeat(0, 20)...)...), lower: []string{"m"}, want: "20 of 20 cases got worse, 0 better; m rose from 0 to 1 (+1, 95 % 0.678 to 1)."},
		"fell":             {now: whole(t, of("m", worse...)...), base: whole(t, of("m", repeat(1, 20)...)...), want: "10 of 20 cases got worse, 0 better; m fell from 1 to 0.5 (-0.5, 95 % -0.701 to -0.258)."},
		"undecided":        {now: whole(t, of("m", 1, 1, 0, 1)...), base: whole(t, of("m", 1, 0, 1, 1)...), want: "1 of 4 cases got worse, 1 better; m shows no clear change, from 0.75 to 0.75 (0, 95 % -0.604 to 0.604). Caution: no change is larger than chance may explain, which does not show that there is none."},
		"nothing in both":  {now: whole(t, row("c0", 0, scores{"n": 1})), base: whole(t, of("m", 1, 1)...), want: "Nothing can be compared: no case has a score in both sets. Caution: 3 scores missing or failed; 1 case only in the base."},
		"four metrics":     {now: whole(t, row("a", 0, scores{"a": 1, "b": 1, "c": 1, "d": 1})), want: "1 of 1 case passed; a: pass rate 1 (95 % unknown); b: pass rate 1 (95 % unknown); c: pass rate 1 (95 % unknown); 1 more metric."},
		"large mean":       {now: whole(t, of("m", 12345.6)...), want: "m: mean 12346 (95 % unknown)."},
		"no pass and fail": {now: whole(t, of("m", .5, .25, .5)...), base: whole(t, of("m", .25, .5, .5)...), want: "m shows no clear change, from 0.417 to 0.417 (0, 95 % -0.504 to 0.504). Caution: no change is larger than chance may explain, which does not show that there is none."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reported(t, c.now, &report.Options{Base: c.base, Lower: c.lower}).Headline(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestHeadlineFirst checks that Markdown begins with the headline, and that names create no markup.
func TestHeadlineFirst(t *testing.T) {
	var out strings.Builder
	if err := reported(t, whole(t, of("m*<b>", 1)...), nil).Markdown(&out, report.Lists{}); err != nil {
		t.Fatal(err)
	}
	if want := "### looptape eval report\n\n**1 of 1 case passed; m\\*\\<b\\>: pass rate 1"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("got %.200s, want %s", out.String(), want)
	}
}
