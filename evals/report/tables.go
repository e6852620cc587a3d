package report

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/tabular"
)

// Table is a table for people. Its cells may contain untrusted text. The caller owns it.
type Table struct {
	Header []string
	Rows   [][]string
}

func filled(header []string, rows [][]string) Table {
	header, rows = tabular.Filled(header, rows)
	return Table{header, rows}
}

// Tables returns the tables of the report: the statistics, the changes, the
// groups of failures, and the cases by outcome.
func (r *Report) Tables(l Lists) []Table {
	tables := append([]Table{r.SetTable()}, SummaryTables(r.Summary)...)
	if r.Comparison != nil {
		tables = append(tables, ChangeTables(r.Comparison, l)...)
	}
	tables = append(tables, r.FailureTables(l)...)
	for _, o := range outcomes() {
		tables = append(tables, r.listed(o, l))
	}
	return tables
}

// SummaryTables returns the tables of the metrics, of the metrics by tag, of the resource usage and of the labels of people. The
// interval of a metric is Wilson's, or else that of T.
func SummaryTables(f *evals.Summary) []Table {
	return []Table{means(f), meansByTag(f), resources(f), LabelTable(f)}
}

// ResourceTables returns the tables of resources by name: the changes per run, with a base, and the
// usage.
func (r *Report) ResourceTables() map[string]Table {
	tables := map[string]Table{"Resources": resources(r.Summary)}
	if c := r.Comparison; c != nil {
		tables["Changed resources"], tables["Changed tool calls per run"] = changedResources(c, Lists{}), changedTools(c, Lists{})
	}
	return tables
}

// meansHeader returns the header of the rows of meansOf.
func meansHeader() []string {
	return []string{"metric", "n", "missing", "errors", "as 0", "mean", "95 %", "pass^1…", "wins", "ties", "losses", "p (1/2)"}
}

func means(f *evals.Summary) Table { return filled(meansHeader(), meansOf(f.Metrics)) }

func meansByTag(f *evals.Summary) Table {
	var rows [][]string
	for _, tag := range slices.Sorted(maps.Keys(f.Tags)) {
		for _, row := range meansOf(f.Tags[tag]) {
			rows = append(rows, append([]string{tag}, row...))
		}
	}
	return filled(append([]string{"tag"}, meansHeader()...), rows)
}

func meansOf(metrics map[string]evals.Metric) (rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		m := metrics[name]
		row := []string{
			name, strconv.Itoa(m.N), tabular.Count(m.Missing), tabular.Count(m.Errors), tabular.Count(m.Zeros), tabular.Value(m.Mean),
			tabular.Interval(m.CI95.Best()), passValues(m.PassHatK), "", "", "", "",
		}
		if p := m.Pairwise; p != nil {
			row = append(row[:len(row)-4], strconv.Itoa(p.Wins), strconv.Itoa(p.Ties), strconv.Itoa(p.Losses), tabular.Probability(&p.P))
		}
		rows = append(rows, row)
	}
	return rows
}

// LabelTable returns the table of the labels of people.
func LabelTable(f *evals.Summary) Table {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		a := f.Labels[name]
		rows = append(rows, []string{
			name, strconv.Itoa(a.Labels), tabular.Count(a.Unscored), tabular.Value(a.Agree), tabular.Interval(a.CI95), tabular.Value(a.Kappa), tabular.Interval(a.KappaCI95),
			tabular.Value(a.Corrected), tabular.Interval(a.CorrectedCI95),
		})
	}
	return filled([]string{"metric", "labels", "unscored", "agree", "95 %", "kappa", "95 %", "corrected", "95 %"}, rows)
}

// passValues formats the first pass^k values. A single one would repeat the mean.
func passValues(list []float64) string {
	const maxValues = 10
	if len(list) == 1 {
		return ""
	}
	var words []string
	for _, x := range list[:min(maxValues, len(list))] {
		words = append(words, tabular.Value(&x))
	}
	if len(list) > maxValues {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

// Lists limits lists of cases.
type Lists struct {
	// Max is the maximum length; 0 means no limit.
	Max int
	// All is the advice how to list all, such as "--cases 0 lists all".
	All string
	// HideZero is the advice how to list the resources and tools without a change, such as
	// "--zeros"; if it is empty, they are listed.
	HideZero string
}

// changedRows returns the rows of a table without those that have no change, and a row with their number.
func (l Lists) changedRows(rows [][]string, unchanged func(row []string) bool) [][]string {
	if l.HideZero == "" || len(rows) == 0 {
		return rows
	}
	width, all := len(rows[0]), len(rows)
	rows = slices.DeleteFunc(rows, unchanged)
	if n := all - len(rows); n > 0 {
		last := make([]string, width)
		last[0] = fmt.Sprintf("%d unchanged; %s", n, l.HideZero)
		rows = append(rows, last)
	}
	return rows
}

// ChangeTables returns the tables of a comparison: means, counts, resources, tools, and the cases that
// got worse or better.
func ChangeTables(c *evals.Comparison, l Lists) []Table {
	var means, counts, cases, tags [][]string
	for _, tag := range slices.Sorted(maps.Keys(c.Tags)) {
		for _, name := range slices.Sorted(maps.Keys(c.Tags[tag])) {
			m := c.Tags[tag][name]
			tags = append(tags, []string{
				tag, name, strconv.Itoa(m.Pairs), tabular.Value(m.Base), tabular.Value(m.New), tabular.Signed(m.Difference),
				tabular.Interval(m.CI95.Best()), tabular.Probability(m.P.Best()), tabular.Probability(m.P.Holm),
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
		m := c.Metrics[name]
		holm := ""
		if c.Together*len(c.Metrics) > 1 {
			holm = tabular.Probability(m.P.Holm)
		}
		means = append(means, []string{
			name, tabular.Value(m.Base), tabular.Value(m.New), tabular.Signed(m.Difference),
			tabular.Interval(m.CI95.Best()), tabular.Probability(m.P.Best()), holm,
		})
		counts = append(counts, []string{
			name, strconv.Itoa(m.Pairs), tabular.Count(len(m.Worse)), tabular.Count(len(m.Better)), strconv.Itoa(len(m.Regressed)), strconv.Itoa(len(m.Fixed)),
			perSet(m.Missing.Base, m.Missing.New), perSet(m.Errors.Base, m.Errors.New),
		})
		cases = append(cases, l.changed("worse", name, m.Worse)...)
		cases = append(cases, l.changed("better", name, m.Better)...)
	}
	cases = append(cases, l.names("only in BASE", "", c.OnlyBase)...)
	cases = append(cases, l.names("only in NEW", "", c.OnlyNew)...)
	return []Table{
		filled([]string{"metric", "base", "new", "difference", "95 %", "p", "p (Holm)"}, means),
		filled([]string{"metric", "pairs", "worse", "better", "regressed", "fixed", "missing", "errors"}, counts),
		changedResources(c, l),
		changedTools(c, l),
		filled([]string{"tag", "metric", "pairs", "base", "new", "difference", "95 %", "p", "p (Holm)"}, tags),
		filled([]string{"change", "metric", "case", "base", "new", "runs"}, cases),
	}
}

// perSet formats a count in each set; empty if both are 0.
func perSet(base, other int) string {
	if base == 0 && other == 0 {
		return ""
	}
	return fmt.Sprintf("%d, %d", base, other)
}

// caseWidth is the maximum width of the name of a case.
const caseWidth = 60

func (l Lists) names(what, metric string, names []string) (rows [][]string) {
	for _, name := range names[:l.of(len(names))] {
		rows = append(rows, []string{what, metric, tabular.Short(name, caseWidth), "", "", ""})
	}
	if more := l.more(len(names)); more != "" {
		rows = append(rows, []string{what, metric, more, "", "", ""})
	}
	return rows
}

// changed returns the rows of cases whose rates changed.
func (l Lists) changed(what, metric string, list []evals.CaseChange) (rows [][]string) {
	for _, c := range list[:l.of(len(list))] {
		rows = append(rows, []string{what, metric, tabular.Short(c.Case, caseWidth), tabular.Value(&c.Base), tabular.Value(&c.New), fmt.Sprintf("%d, %d", c.BaseRuns, c.NewRuns)})
	}
	if more := l.more(len(list)); more != "" {
		rows = append(rows, []string{what, metric, more, "", "", ""})
	}
	return rows
}

// of is how many of n are listed.
func (l Lists) of(n int) int { return min(n, cmp.Or(l.Max, n)) }

// limit shortens a table, and adds a row with the number of omitted ones.
func (l Lists) limit(t Table) Table {
	more := l.more(len(t.Rows))
	t.Rows = t.Rows[:l.of(len(t.Rows))]
	if more != "" {
		row := make([]string, len(t.Header))
		row[0] = more
		t.Rows = append(t.Rows, row)
	}
	return t
}

// more describes how many of n cases are not listed, if any.
func (l Lists) more(n int) string {
	if n == l.of(n) {
		return ""
	}
	return fmt.Sprintf("%d more; %s", n-l.of(n), l.All)
}

// listed returns the table of the cases with an outcome.
func (r *Report) listed(o Outcome, l Lists) Table {
	const width = 28
	cases := r.Of(o)
	t := Table{Header: []string{fmt.Sprintf("%v (%d)", o, len(cases)), "runs", "scores"}}
	for _, c := range cases[:l.of(len(cases))] {
		t.Rows = append(t.Rows, []string{tabular.Short(c.Case, width), strconv.Itoa(c.Runs), c.Description()})
	}
	if more := l.more(len(cases)); more != "" {
		t.Rows = append(t.Rows, []string{"…", "", more})
	}
	return t
}

// resources returns the table of the resource usage. It is empty if only steps are known.
func resources(f *evals.Summary) Table {
	var rows [][]string
	for name, a := range inOrder(f.Resources) {
		rows = append(rows, []string{resourceWords(name), strconv.Itoa(a.N), amount(name, a.Sum), amount(name, a.Mean)})
	}
	return filled([]string{"resource", "runs", "sum", "mean"}, rows)
}

// inOrder yields the resources in the order of reports, or nothing if only steps are known.
func inOrder[T any](by map[string]T) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		_, steps := by["steps"]
		if steps && len(by) == 1 {
			return
		}
		for name := range new(evals.Row).Resources() {
			if v, ok := by[name]; ok && !yield(name, v) {
				return
			}
		}
	}
}

func resourceWords(name string) string {
	if name == latency {
		return "latency (s)"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// latency is the resource that tables show in seconds.
const latency = "latency_ns"

// amount formats the amount of a resource with five digits, or as an integer if it is large.
func amount(name string, x float64) string {
	const large, digits = 1e4, 5
	if name == latency {
		x /= float64(time.Second)
	}
	if math.Abs(x) >= large {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', digits, 64)
}

// changedResources returns the table of changed resources, per run. It is empty if only steps are
// known.
func changedResources(c *evals.Comparison, l Lists) Table {
	var rows [][]string
	for name, s := range inOrder(c.Resources) {
		row := []string{resourceWords(name), strconv.Itoa(s.Pairs)}
		rows = append(rows, append(row, change(name, s.Base, s.New, s.Difference, s.CI95)...))
	}
	rows = l.changedRows(rows, func(row []string) bool { return row[4] == "0" })
	return filled([]string{"resource", "pairs", "base", "new", "difference", "95 %"}, rows)
}

func changedTools(c *evals.Comparison, l Lists) Table {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		use := c.Tools[name]
		row := append([]string{name}, change("", use.Base, use.New, use.Difference, use.CI95)...)
		rows = append(rows, append(row, perSet(use.Failed.Base, use.Failed.New)))
	}
	rows = l.changedRows(rows, func(row []string) bool { return row[3] == "0" && row[5] == "" })
	return filled([]string{"calls of", "base", "new", "difference", "95 %", "failed"}, rows)
}

func change(name string, base, now, difference float64, ci *[2]float64) []string {
	sign, in := "", "-"
	if difference > 0 {
		sign = "+"
	}
	if ci != nil {
		in = amount(name, ci[0]) + " to " + amount(name, ci[1])
	}
	return []string{amount(name, base), amount(name, now), sign + amount(name, difference), in}
}
