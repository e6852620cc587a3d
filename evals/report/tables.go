package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/evals"
)

// Table is a table for people: the names of its columns and its cells, which are foreign
// text in part. The caller owns it.
type Table struct {
	Header []string
	Rows   [][]string
}

// Filled is a table without the columns in which nothing stands. It takes what it gets.
func Filled(header []string, rows [][]string) Table {
	for col := len(header) - 1; col >= 0; col-- {
		if slices.ContainsFunc(rows, func(row []string) bool { return row[col] != "" }) {
			continue
		}
		header = slices.Delete(header, col, col+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], col, col+1)
		}
	}
	return Table{header, rows}
}

// Means tells the figures of each metric. The interval is that of ClusterWilson where there
// is one, else that of T.
func Means(f *evals.Summary) Table {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(f.Metrics)) {
		m := f.Metrics[name]
		in := m.CI95.T
		if m.CI95.ClusterWilson != nil {
			in = m.CI95.ClusterWilson
		}
		rows = append(rows, []string{name, strconv.Itoa(m.N), UnlessZero(m.Missing), UnlessZero(m.Errors), FormatValue(m.Mean), Bounds(in), passFigures(m.PassHatK)})
	}
	return Filled([]string{"metric", "n", "missing", "errors", "mean", "95 %", "pass^1…"}, rows)
}

// UnlessZero is a number, or nothing where it is 0.
func UnlessZero(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") }

// passFigures are pass figures for people, the first of many. The only one would be the
// mean again.
func passFigures(list []float64) string {
	const most = 10
	var words []string
	if len(list) == 1 {
		return ""
	}
	for i, x := range list {
		if i == most {
			words = append(words, "…")
			break
		}
		words = append(words, FormatValue(&x))
	}
	return strings.Join(words, " ")
}

// Lists says how long lists of cases may be.
type Lists struct {
	// Most are listed at most; 0 stands for all of them.
	Most int
	// All says how to get all, such as "--cases 0 lists all".
	All string
}

// Changes tells what changed: the means by each metric, how many cases that is about, what
// the runs took and which tools they called, and which cases broke and were fixed.
func Changes(c *evals.Comparison, l Lists) []Table {
	var means, counts, cases [][]string
	for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
		m := c.Metrics[name]
		holm := ""
		if c.Together*len(c.Metrics) > 1 {
			holm = Probability(m.P.Holm)
		}
		means = append(means, []string{name, FormatValue(m.Base), FormatValue(m.New), Signed(m.Difference), Bounds(m.CI95), Probability(m.P.Best()), holm})
		counts = append(counts, []string{name, strconv.Itoa(m.Pairs), strconv.Itoa(len(m.Regressed)), strconv.Itoa(len(m.Fixed)), perSet(m.Missing.Base, m.Missing.New), perSet(m.Errors.Base, m.Errors.New)})
		cases = append(cases, l.names("broke", name, m.Regressed)...)
		cases = append(cases, l.names("fixed", name, m.Fixed)...)
	}
	cases = append(cases, l.names("only in BASE", "", c.OnlyBase)...)
	cases = append(cases, l.names("only in NEW", "", c.OnlyNew)...)
	return []Table{
		Filled([]string{"metric", "base", "new", "difference", "95 %", "p", "p (Holm)"}, means),
		Filled([]string{"metric", "pairs", "broke", "fixed", "missing", "errors"}, counts),
		ChangedResources(c),
		ChangedTools(c),
		Filled([]string{"what", "metric", "case"}, cases),
	}
}

// perSet is a count in each set, or nothing where both are 0.
func perSet(base, other int) string {
	if base == 0 && other == 0 {
		return ""
	}
	return fmt.Sprintf("%d, %d", base, other)
}

// names has a row for each of the first cases of a list.
func (l Lists) names(what, metric string, names []string) (rows [][]string) {
	const width = 60
	for _, name := range names[:l.of(len(names))] {
		rows = append(rows, []string{what, metric, Short(name, width)})
	}
	if more := l.more(len(names)); more != "" {
		rows = append(rows, []string{what, metric, more})
	}
	return rows
}

// of is how many of n are listed.
func (l Lists) of(n int) int {
	if l.Most == 0 {
		return n
	}
	return min(n, l.Most)
}

// more says how many of n are not listed, if any.
func (l Lists) more(n int) string {
	if n == l.of(n) {
		return ""
	}
	return fmt.Sprintf("%d more; %s", n-l.of(n), l.All)
}

// Listed tells what the cases of an outcome scored.
func (r *Report) Listed(o Outcome, l Lists) Table {
	const width = 28
	cases := r.Of(o)
	t := Table{Header: []string{fmt.Sprintf("%s (%d)", o.Words(), len(cases)), "runs", "scores"}}
	for _, c := range cases[:l.of(len(cases))] {
		t.Rows = append(t.Rows, []string{Short(c.Case, width), strconv.Itoa(c.Runs), c.Description()})
	}
	if more := l.more(len(cases)); more != "" {
		t.Rows = append(t.Rows, []string{"…", "", more})
	}
	return t
}
