package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/tabular"
)

// maxNamed is the number of metrics that a headline names.
const maxNamed = 3

// Headline returns the result as one sentence, and a second sentence with the reasons for caution, if
// there are any. It may contain untrusted names.
func (r *Report) Headline() string {
	if r.Comparison != nil {
		return sentences(r.changes())
	}
	return sentences(r.scored())
}

// sentences joins clauses and reasons for caution.
func sentences(clauses, cautions []string) string {
	text := strings.Join(clauses, "; ") + "."
	if len(cautions) > 0 {
		text += " Caution: " + strings.Join(cautions, "; ") + "."
	}
	return text
}

// scored describes a single set.
func (r *Report) scored() (clauses, cautions []string) {
	f := r.Summary
	names := slices.DeleteFunc(r.Metrics(), func(name string) bool { return f.Metrics[name].N == 0 })
	if len(names) == 0 {
		return []string{"No run has a score"}, unread(len(f.Unreadable), nil)
	}
	slices.SortStableFunc(names, func(a, b string) int { return -compareBool(r.success[a], r.success[b]) })
	if r.success[names[0]] {
		clauses = append(clauses, fmt.Sprintf("%d of %s passed", len(r.Of(Passed)), plural(f.Cases, "case")))
	}
	for _, name := range names[:min(maxNamed, len(names))] {
		m, what := f.Metrics[name], "mean"
		if r.success[name] {
			what = "pass rate"
		}
		clauses = append(clauses, fmt.Sprintf("%s: %s %s (95 %% %s)", tabular.Short(name, caseWidth), what, brief(m.Mean), briefly(m.CI95.Best())))
	}
	clauses = append(clauses, moreMetrics(len(names))...)
	missing := 0
	for _, m := range f.Metrics {
		missing += m.Missing + m.Errors
	}
	return clauses, unread(len(f.Unreadable), lacking(missing))
}

// changes describes the changes from the base.
func (r *Report) changes() (clauses, cautions []string) {
	c := r.Comparison
	names := slices.DeleteFunc(r.Metrics(), func(name string) bool { return c.Metrics[name].Pairs == 0 })
	if len(names) == 0 {
		return []string{"Nothing can be compared: no case has a score in both sets"}, unread(len(c.Unreadable), r.unpaired())
	}
	undecided := func(name string) bool { return !decided(c.Metrics[name]) }
	slices.SortStableFunc(names, func(a, b string) int { return compareBool(undecided(a), undecided(b)) })
	clauses = r.changedCases(names)
	for _, name := range names[:min(maxNamed, len(names))] {
		clauses = append(clauses, tabular.Short(name, caseWidth)+" "+describeChange(c.Metrics[name]))
	}
	clauses = append(clauses, moreMetrics(len(names))...)
	if undecided(names[0]) {
		cautions = append(cautions, "no change is larger than chance may explain, which does not show that there is none")
	}
	return clauses, unread(len(c.Unreadable), append(cautions, r.unpaired()...))
}

// changedCases counts the cases that got worse and better by the metrics that pass or fail.
func (r *Report) changedCases(names []string) []string {
	c, worse, better, pairs, binary := r.Comparison, map[string]bool{}, map[string]bool{}, 0, false
	for _, name := range names {
		m := c.Metrics[name]
		if m.Discordant == nil {
			continue
		}
		binary, pairs = true, max(pairs, m.Pairs)
		for _, change := range m.Worse {
			worse[change.Case] = true
		}
		for _, change := range m.Better {
			better[change.Case] = true
		}
	}
	if !binary {
		return nil
	}
	return []string{fmt.Sprintf("%d of %s got worse, %d better", len(worse), plural(pairs, "case"), len(better))}
}

// describeChange describes a change with its interval.
func describeChange(m evals.Change) string {
	sign, verb := "", "shows no clear change,"
	switch {
	case !decided(m):
	case *m.Difference > 0:
		verb = "rose"
	default:
		verb = "fell"
	}
	if *m.Difference > 0 {
		sign = "+"
	}
	return fmt.Sprintf("%s from %s to %s (%s%s, 95 %% %s)", verb, brief(m.Base), brief(m.New), sign, brief(m.Difference), briefly(m.CI95.Best()))
}

// decided reports whether a change is larger than chance explains, by its corrected probability and by its
// interval.
func decided(m evals.Change) bool {
	const alpha = 0.05
	in := m.CI95.Best()
	return m.P.Holm != nil && *m.P.Holm <= alpha && in != nil && (in[0] > 0 || in[1] < 0)
}

// unpaired describes what a comparison does not include.
func (r *Report) unpaired() (words []string) {
	c, missing := r.Comparison, 0
	for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
		m := c.Metrics[name]
		missing += m.Missing.Base + m.Missing.New + m.Errors.Base + m.Errors.New
	}
	words = lacking(missing)
	if n := len(c.OnlyBase); n > 0 {
		words = append(words, plural(n, "case")+" only in the base")
	}
	if n := len(c.OnlyNew); n > 0 {
		words = append(words, plural(n, "case")+" only in the new set")
	}
	return words
}

func lacking(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{plural(n, "score") + " missing or failed"}
}

func unread(n int, words []string) []string {
	if n == 0 {
		return words
	}
	return append(words, plural(n, "record")+" could not be read")
}

func moreMetrics(n int) []string {
	if n <= maxNamed {
		return nil
	}
	return []string{plural(n-maxNamed, "more metric")}
}

// brief formats a number; nil is "-".
func brief(x *float64) string {
	if x == nil {
		return "-"
	}
	return tabular.Brief(*x)
}

func briefly(in *[2]float64) string {
	if in == nil {
		return "unknown"
	}
	return brief(&in[0]) + " to " + brief(&in[1])
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
