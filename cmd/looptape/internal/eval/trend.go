package eval

import (
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/markdown"
	"github.com/looptape/looptape/internal/plot"
	"github.com/looptape/looptape/internal/tabular"
	"github.com/looptape/looptape/internal/visible"
)

func newTrend(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "trend RESULT…",
		Short: "Show the history of the means over several sets of runs",
		Long: `trend prints the mean of each metric in each RESULT, in the order given, with
its 95 % interval, and the difference from the RESULT before by the cases that
both have. The last row of a metric is the difference of the last from the first
RESULT.

Each difference has its own interval. Many differences in a row contain some
that chance alone explains: use compare or gate to decide.

` + evalFiles + `

` + rowFiles + `

` + evalStatus,
		Example: "  looptape eval trend monday.scores tuesday.scores wednesday.scores\n  looptape eval trend --format html -o trend.html scores/*",
		Args:    needSets,
	}
	format := cli.FormatFlag(c, "table", "markdown", "json", "html")
	var out string
	cli.OutputFlag(c, &out, "output", "output `file` (default: standard output)")
	var rows rowFlags
	rows.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := rejectPrograms(c, args...); err != nil {
			return err
		}
		t := &trend{Changes: map[string]*trendChange{}}
		if err := t.read(c.Context(), w, &rows, args); err != nil {
			return err
		}
		write := map[string]func(io.Writer) error{
			"table":    func(to io.Writer) error { return t.table(w, to) },
			"markdown": t.markdown,
			"json":     func(to io.Writer) error { return cli.WriteJSON(to, trendJSON.Of(*t)) },
			"html":     t.html,
		}[*format]
		if err := w.Output(out, write); err != nil {
			return err
		}
		return scoredStatus(t.failed, t.unreadable, len(t.Changes))
	}
	return c
}

var trendJSON = cli.NewJSON("trend", 1, "eval trend --format json", trend{})

// trend is the history of several results.
type trend struct {
	Results []trendResult `json:"results"`
	// Changes are the differences of the last from the first result by metric; null without a common case.
	Changes map[string]*trendChange `json:"changes"`

	failed     int
	unreadable []evals.Unreadable
}

type trendResult struct {
	Name    string                 `json:"name"`
	Runs    int                    `json:"runs"`
	Cases   int                    `json:"cases"`
	Metrics map[string]trendMetric `json:"metrics"`
}

type trendMetric struct {
	N    int         `json:"n"`
	Mean *float64    `json:"mean"` // over cases
	CI95 *[2]float64 `json:"ci95"`
	// Change is the difference from the result before; null without one or without a common case.
	Change *trendChange `json:"change"`
}

type trendChange struct {
	Pairs      int         `json:"pairs"` // cases in both
	Difference float64     `json:"difference"`
	CI95       *[2]float64 `json:"ci95"`
}

// read scores the results and compares each with the one before, and the last with the first.
func (t *trend) read(ctx context.Context, w *cli.World, rows *rowFlags, names []string) error {
	var first, before *evals.Result
	for i, name := range names {
		set, err := rows.set(w, []string{name}, graders{})
		if err != nil {
			return err
		}
		set.Brief = true // for statistics only
		result, err := scoreSet(ctx, w, set)
		if err != nil {
			return err
		}
		unread := result.Unread()
		cli.PrintErrors(w, unread)
		t.unreadable = append(t.unreadable, unread...)
		changes, err := trendChanges(before, result)
		if err != nil {
			return err
		}
		if err := t.add(name, result, changes); err != nil {
			return err
		}
		before = result
		if first == nil {
			first = result
		}
		if i == len(names)-1 {
			changes, err := trendChanges(first, result)
			if err != nil {
				return err
			}
			maps.Copy(t.Changes, changes)
		}
	}
	return nil
}

func (t *trend) add(name string, r *evals.Result, changes map[string]*trendChange) error {
	f, err := r.Summary(nil)
	if err != nil {
		return err
	}
	one := trendResult{Name: name, Runs: f.Runs, Cases: f.Cases, Metrics: map[string]trendMetric{}}
	for metric, m := range f.Metrics {
		t.failed += m.Errors
		t.Changes[metric] = nil
		one.Metrics[metric] = trendMetric{m.N, m.Mean, m.CI95.Best(), changes[metric]}
	}
	t.Results = append(t.Results, one)
	return nil
}

// trendChanges returns the differences of two results by metric; none without a common case.
func trendChanges(before, after *evals.Result) (map[string]*trendChange, error) {
	changes := map[string]*trendChange{}
	if before == nil || !haveCommonCase(before, after) {
		return changes, nil
	}
	all, err := before.Compare([]*evals.Result{after}, 0)
	if err != nil {
		return nil, err
	}
	for metric, c := range all[0].Metrics {
		if c.Difference != nil {
			changes[metric] = &trendChange{c.Pairs, *c.Difference, c.CI95.Best()}
		}
	}
	return changes, nil
}

func haveCommonCase(a, b *evals.Result) bool {
	names := map[string]bool{}
	for row := range a.Rows.All() {
		names[row.Case] = true
	}
	for row := range b.Rows.All() {
		if names[row.Case] {
			return true
		}
	}
	return false
}

var trendHeader = []string{"metric", "result", "n", "mean", "95 %", "difference", "95 % of it"}

// cells formats a change; nil is empty.
func (c *trendChange) cells() []string {
	if c == nil {
		return []string{"", ""}
	}
	return []string{tabular.Signed(&c.Difference), tabular.Interval(c.CI95)}
}

// rows returns the rows of all tables, by metric and then by result.
func (t *trend) rows() (rows [][]string) {
	for _, metric := range slices.Sorted(maps.Keys(t.Changes)) {
		for _, r := range t.Results {
			m, ok := r.Metrics[metric]
			if !ok {
				continue
			}
			row := []string{metric, r.Name, strconv.Itoa(m.N), tabular.Value(m.Mean), tabular.Interval(m.CI95)}
			rows = append(rows, append(row, m.Change.cells()...))
		}
		if c := t.Changes[metric]; c != nil {
			rows = append(rows, append([]string{metric, "last − first", "", "", ""}, c.cells()...))
		}
	}
	return rows
}

func (t *trend) table(w *cli.World, to io.Writer) error {
	out := *w
	out.Out, out.OutTerminal = to, w.OutTerminal && to == w.Out
	printFilled(&out, slices.Clone(trendHeader), t.rows())
	out.ResultLine(cli.Count(len(t.Results), "result")+": "+countUnreadable(t.unreadable), t.failed+len(t.unreadable) == 0)
	return out.OutputError()
}

func (t *trend) markdown(to io.Writer) error {
	var text strings.Builder
	text.WriteString("### looptape eval trend\n\n")
	for i, row := range append([][]string{trendHeader}, t.rows()...) {
		for _, cell := range row {
			text.WriteString("| " + markdown.Plain(cell) + " ")
		}
		text.WriteString("|\n")
		if i == 0 {
			text.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// trendStyle is the style of the page next to that of its plots.
const trendStyle = `body { margin: 1rem auto; padding: 0 1rem; max-width: 75rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
background: light-dark(#fbfbfa, #16181b); overflow-wrap: anywhere; }
div.table { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
`

// html writes a page without scripts: the curve of each metric, and the table.
func (t *trend) html(to io.Writer) error {
	var text strings.Builder
	text.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>looptape eval trend</title>\n<style>" +
		plot.Style + trendStyle + "</style>\n</head>\n<body>\n<h1>looptape eval trend</h1>\n<div class=\"plots\">\n")
	for _, metric := range slices.Sorted(maps.Keys(t.Changes)) {
		text.WriteString(t.plot(metric))
	}
	text.WriteString("</div>\n<div class=\"table\"><table>\n")
	for i, row := range append([][]string{trendHeader}, t.rows()...) {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		text.WriteString("<tr>")
		for _, cell := range row {
			fmt.Fprintf(&text, "<%s>%s</%[1]s>", tag, html.EscapeString(cell))
		}
		text.WriteString("</tr>\n")
	}
	text.WriteString("</table></div>\n</body>\n</html>\n")
	_, err := to.Write(visible.Text([]byte(text.String())))
	return err
}

// plot returns the curve of a metric with the intervals of its means.
func (t *trend) plot(metric string) string {
	const maxName = 60
	s := plot.Series{Name: "mean"}
	for i, r := range t.Results {
		if m, ok := r.Metrics[metric]; ok && m.Mean != nil {
			s.Points = append(s.Points, plot.Point{X: float64(i + 1), Y: *m.Mean, Interval: m.CI95, Name: r.Name})
		}
	}
	l := plot.Lines{Title: tabular.Short(metric, maxName), X: "result", Y: "mean with 95 % interval", Series: []plot.Series{s}}
	return l.HTML()
}
