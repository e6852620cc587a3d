package page

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/internal/plot"
	"github.com/looptape/looptape/internal/tabular"
)

// maxPlotted is the number of metrics that have their own plots.
const maxPlotted = 20

// plots returns the plots of a report in HTML: those of all metrics, and those of each metric, folded except
// for the first.
func plots(r *report.Report) string {
	var out strings.Builder
	writePlots(&out, forests(r))
	points := pointsOf(r)
	names := r.Metrics()
	slices.SortStableFunc(names, func(a, b string) int { // success metrics first
		return cmp.Compare(btoi(r.IsSuccess(b)), btoi(r.IsSuccess(a)))
	})
	var base *evals.Summary
	if r.Base != nil {
		base, _ = r.Base.Summary(nil) // it had no error for the comparison
	}
	open := " open"
	for _, name := range names[:min(maxPlotted, len(names))] {
		var own strings.Builder
		writePlots(&own, append(curves(r.Summary, base, name), points.plots(name)...))
		if own.Len() > 0 {
			fmt.Fprintf(&out, "<details class=\"plotted\"%s><summary>Plots of %s</summary>\n%s</details>\n", open, html.EscapeString(tabular.Short(name, maxName)), own.String())
			open = ""
		}
	}
	return out.String()
}

// setTable returns the table of several sets in HTML; empty for one or two.
func setTable(r *report.Report) string {
	t := r.SetTable()
	if len(t.Rows) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("<table><caption>Sets and their differences from the base</caption><thead><tr>")
	for _, name := range t.Header {
		fmt.Fprintf(&out, "<th scope=\"col\">%s</th>", html.EscapeString(name))
	}
	out.WriteString("</tr></thead><tbody>")
	for _, row := range t.Rows {
		fmt.Fprintf(&out, "<tr><th scope=\"row\">%s</th>", html.EscapeString(row[0]))
		for i, cell := range row[1:] {
			fmt.Fprintf(&out, "<td data-head=\"%s\">%s</td>", html.EscapeString(t.Header[i+1]), html.EscapeString(cell))
		}
		out.WriteString("</tr>")
	}
	out.WriteString("</tbody></table>\n")
	return out.String()
}

// maxName is the maximum length of names in captions.
const maxName = 60

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func writePlots(out *strings.Builder, all []string) {
	if text := strings.Join(all, ""); text != "" {
		fmt.Fprintf(out, "<div class=\"plots\">\n%s</div>\n", text)
	}
}

// forests returns the plot of all rates and one plot for each other metric, because their scales differ: the
// differences from a base, or else the means.
func forests(r *report.Report) []string {
	title, axis := "Means with 95 % intervals", "mean"
	if r.Comparison != nil {
		title, axis = "Differences from the base with 95 % intervals", "new − base"
	}
	rates := plot.Forest{Title: title, Axis: axis, Zero: r.Comparison != nil}
	var others []string
	names := r.Metrics()
	for _, name := range names[:min(maxPlotted, len(names))] {
		row, rate, ok := forestRow(r, name)
		switch {
		case !ok:
		case rate:
			rates.Rows = append(rates.Rows, row)
		case row.Interval != nil:
			one := rates
			one.Rows = []plot.Row{row}
			others = append(others, one.HTML())
		}
	}
	return append([]string{rates.HTML()}, others...)
}

// forestRow returns the row of a metric, and whether its scores are from 0 to 1.
func forestRow(r *report.Report, name string) (row plot.Row, rate, ok bool) {
	if r.Comparison != nil {
		c := r.Comparison.Metrics[name]
		if c.Difference == nil {
			return row, false, false
		}
		return plot.Row{Name: name, Value: *c.Difference, Interval: c.CI95.Best()}, c.CI95.Tango != nil || r.IsSuccess(name), true
	}
	m := r.Summary.Metrics[name]
	if m.Mean == nil {
		return row, false, false
	}
	return plot.Row{Name: name, Value: *m.Mean, Interval: m.CI95.Best()}, m.CI95.Wilson != nil || r.IsSuccess(name), true
}

// curves returns the plot of pass^k and pass@k of a metric, with those of the base.
func curves(f, base *evals.Summary, name string) []string {
	l := plot.Lines{Title: "pass^k and pass@k of " + tabular.Short(name, maxName), X: "k (runs of a case)", Y: "share of cases", Rate: true}
	m := f.Metrics[name]
	l.Series = []plot.Series{series("pass^k", m.PassHatK, m.CI95.PassHatK), series("pass@k", m.PassAtK, m.CI95.PassAtK)}
	if base != nil {
		m := base.Metrics[name]
		l.Series = append(l.Series, series("base ^k", m.PassHatK, nil), series("base @k", m.PassAtK, nil))
	}
	return []string{l.HTML()}
}

func series(name string, values []float64, intervals []*[2]float64) plot.Series {
	s := plot.Series{Name: name}
	for i, v := range values {
		p := plot.Point{X: float64(i + 1), Y: v}
		if i < len(intervals) {
			p.Interval = intervals[i]
		}
		s.Points = append(s.Points, p)
	}
	return s
}

// casePoint has the means of the runs of a case in a set.
type casePoint struct {
	name          string
	scores        map[string]*mean
	cost, seconds mean
}

type mean struct{ sum, n float64 }

func (m *mean) add(v float64)  { m.sum, m.n = m.sum+v, m.n+1 }
func (m *mean) value() float64 { return m.sum / m.n }

// casePoints are the cases of each set, in the order of runs.
type casePoints struct {
	sets []string
	by   map[string][]*casePoint
}

func pointsOf(r *report.Report) *casePoints {
	p := &casePoints{by: map[string][]*casePoint{}}
	for run := range r.Runs() {
		if len(p.sets) == 0 || p.sets[len(p.sets)-1] != run.Set {
			p.sets = append(p.sets, run.Set)
		}
		list := p.by[run.Set]
		if len(list) == 0 || list[len(list)-1].name != run.Case {
			list = append(list, &casePoint{name: run.Case, scores: map[string]*mean{}})
			p.by[run.Set] = list
		}
		list[len(list)-1].add(run.Row)
	}
	return p
}

func (c *casePoint) add(r *evals.Row) {
	for metric, v := range r.Scores.All() {
		if c.scores[metric] == nil {
			c.scores[metric] = &mean{}
		}
		c.scores[metric].add(v)
	}
	if r.Cost != 0 {
		c.cost.add(r.Cost)
	}
	if r.Latency != 0 {
		c.seconds.add(r.Latency.Seconds())
	}
}

// plots returns the plots of the cases by a metric: their differences, and their scores by cost and time.
func (p *casePoints) plots(metric string) []string {
	of := tabular.Short(metric, maxName)
	return []string{
		p.differences(metric, of),
		p.against(metric, plot.Scatter{Title: of + " by cost", X: "cost of a run", Y: of, Unit: "case"}, func(c *casePoint) mean { return c.cost }),
		p.against(metric, plot.Scatter{Title: of + " by time", X: "seconds of a run", Y: of, Unit: "case"}, func(c *casePoint) mean { return c.seconds }),
	}
}

// differences returns the plot of the difference of each case in both sets, in the order of size.
func (p *casePoints) differences(metric, of string) string {
	base := map[string]float64{}
	for _, c := range p.by["base"] {
		if m := c.scores[metric]; m != nil {
			base[c.name] = m.value()
		}
	}
	b := plot.Bars{Title: "Differences of cases by " + of, X: "cases, by difference", Y: "new − base"}
	for _, c := range p.by["new"] {
		m := c.scores[metric]
		if was, ok := base[c.name]; ok && m != nil {
			const rounding = 1e9 // differences of equal means may not be exactly 0
			b.Rows = append(b.Rows, plot.Row{Name: tabular.Short(c.name, maxName), Value: math.Round((m.value()-was)*rounding) / rounding})
		}
	}
	sort.SliceStable(b.Rows, func(i, j int) bool {
		x, y := &b.Rows[i], &b.Rows[j]
		return cmp.Or(cmp.Compare(x.Value, y.Value), tabular.Natural(x.Name, y.Name)) < 0
	})
	return b.HTML()
}

// against returns the plot of scores against a resource.
func (p *casePoints) against(metric string, s plot.Scatter, of func(c *casePoint) mean) string {
	for _, set := range p.sets {
		one := plot.Series{Name: set}
		for _, c := range p.by[set] {
			m, used := c.scores[metric], of(c)
			if m != nil && used.n > 0 {
				one.Points = append(one.Points, plot.Point{X: used.value(), Y: m.value(), Name: tabular.Short(c.name, maxName)})
			}
		}
		s.Series = append(s.Series, one)
	}
	return s.HTML()
}
