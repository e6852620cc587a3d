package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/evals"
)

// Table is a table for people. Its cells may contain untrusted text. The caller owns it.
type Table struct {
	Header []string
	Rows   [][]string
}

// Filled returns a table without empty columns. It takes ownership of its arguments.
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

// Means returns the table of the metrics. The interval is that of ClusterWilson, or else that of
// T.
func Means(f *evals.Summary) Table {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(f.Metrics)) {
		m := f.Metrics[name]
		in := m.CI95.T
		if m.CI95.ClusterWilson != nil {
			in = m.CI95.ClusterWilson
		}
		rows = append(rows, []string{name, strconv.Itoa(m.N), UnlessZero(m.Missing), UnlessZero(m.Errors), FormatValue(m.Mean), Bounds(in), passValues(m.PassHatK)})
	}
	return Filled([]string{"metric", "n", "missing", "errors", "mean", "95 %", "pass^1…"}, rows)
}

// UnlessZero formats a number; 0 is empty.
func UnlessZero(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") }

// passValues formats the first pass^k values. A single one would repeat the mean.
func passValues(list []float64) string {
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

// Lists limits lists of cases.
type Lists struct {
	// Most is the maximum length; 0 means no limit.
	Most int
	// All tells the reader how to list all, such as "--cases 0 lists all".
	All string
}

// Changes returns the tables of a comparison: means, counts, resources, tools, and regressed and
// fixed cases.
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
		cases = append(cases, l.names("regressed", name, m.Regressed)...)
		cases = append(cases, l.names("fixed", name, m.Fixed)...)
	}
	cases = append(cases, l.names("only in BASE", "", c.OnlyBase)...)
	cases = append(cases, l.names("only in NEW", "", c.OnlyNew)...)
	return []Table{
		Filled([]string{"metric", "base", "new", "difference", "95 %", "p", "p (Holm)"}, means),
		Filled([]string{"metric", "pairs", "regressed", "fixed", "missing", "errors"}, counts),
		ChangedResources(c),
		ChangedTools(c),
		Filled([]string{"change", "metric", "case"}, cases),
	}
}

// perSet formats a count in each set; empty if both are 0.
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

// more describes how many of n cases are not listed, if any.
func (l Lists) more(n int) string {
	if n == l.of(n) {
		return ""
	}
	return fmt.Sprintf("%d more; %s", n-l.of(n), l.All)
}

// Listed returns the table of the cases with an outcome.
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
