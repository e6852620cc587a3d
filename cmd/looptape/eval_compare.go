package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals"
)

func newEvalCompare(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "compare BASE NEW",
		Short: "Compare two sets of recorded runs, case by case",
		Long: `compare pairs the cases of two sets of recorded runs and says by each metric
what changed, and how sure that is: the means, the difference with the interval
that holds it in 95 of 100 samples, the probability of one as large if nothing
had changed (of McNemar's exact test for single runs that succeed or fail, else
by permutation), and the cases that broke and that were fixed. With several
metrics that probability is also corrected for their number (Holm).

A case that only one set has is listed, and counts for nothing.

` + evalFiles + `

` + rowFiles + `
With --base-score and --new-score two systems are compared that stand in the
same rows.

` + evalStatus,
		Example: "  looptape eval compare before/ after/\n  looptape eval compare --base-score /old --new-score /new rows.csv rows.csv",
		Args:    needArguments(2, "two sets of runs"),
	}
	format := formatFlag(c, "table", "json")
	seed := seedFlag(c)
	var flags rowFlags
	flags.of(c)
	var only [2][]string
	c.Flags().StringArrayVar(&only[0], "base-score", nil, "as --score, the `pointer` in BASE alone")
	c.Flags().StringArrayVar(&only[1], "new-score", nil, "as --score, the `pointer` in NEW alone")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := needFiles(c, args); err != nil {
			return err
		}
		var sets [2]*evals.Result
		for i, name := range args {
			rows, err := flags.mapping(only[i])
			if err != nil {
				return err
			}
			if sets[i], err = w.score(c.Context(), []string{name}, rows); err != nil {
				return err
			}
		}
		return w.printComparison(sets[0], sets[1], *format, *seed)
	}
	return c
}

// printComparison prints what changed, and returns the exit status.
func (w *world) printComparison(base, now *evals.Result, format string, seed uint64) error {
	c, err := evals.Compare(base, now, seed)
	if err != nil {
		tellUnreadable(w, slices.Concat(base.Unreadable, now.Unreadable))
		return err
	}
	if format == "json" {
		err = printJSON(w.out, c)
	} else {
		err = w.printChanges(c)
	}
	if err != nil {
		return err
	}
	return comparedStatus(c)
}

func comparedStatus(c *evals.Comparison) error {
	failed := 0
	for _, change := range c.Metrics {
		failed += change.Errors.Base + change.Errors.New
	}
	return scoredStatus(failed, c.Unreadable, len(c.Metrics))
}

// printChanges prints tables of what changed.
func (w *world) printChanges(c *evals.Comparison) error {
	tellUnreadable(w, c.Unreadable)
	var means, counts, cases [][]string
	pairs := 0
	for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
		m := c.Metrics[name]
		pairs = max(pairs, m.Pairs)
		holm := ""
		if len(c.Metrics) > 1 {
			holm = probability(m.P.Holm)
		}
		means = append(means, []string{name, figure(m.Base), figure(m.New), signed(m.Difference), bounds(m.CI95), probability(m.P.Best()), holm})
		counts = append(counts, []string{name, strconv.Itoa(m.Pairs), strconv.Itoa(len(m.Broke)), strconv.Itoa(len(m.Fixed)), perSet(m.Missing), perSet(m.Errors)})
		cases = append(cases, listCases("broke", name, m.Broke)...)
		cases = append(cases, listCases("fixed", name, m.Fixed)...)
	}
	cases = append(cases, listCases("only in BASE", "", c.OnlyBase)...)
	cases = append(cases, listCases("only in NEW", "", c.OnlyNew)...)
	if err := printFilled(w, []string{"metric", "base", "new", "difference", "95 %", "p", "p (Holm)"}, means); err != nil {
		return err
	}
	if err := printFilled(w, []string{"metric", "pairs", "broke", "fixed", "missing", "errors"}, counts); err != nil {
		return err
	}
	if err := printFilled(w, []string{"what", "metric", "case"}, cases); err != nil {
		return err
	}
	line := fmt.Sprintf("%s compared, %d only in BASE, %d only in NEW: %s unreadable", count(pairs, "case"), len(c.OnlyBase), len(c.OnlyNew), count(len(c.Unreadable), "part"))
	return printVerdict(w, line, comparedStatus(c) == nil)
}

// signed is a difference for people.
func signed(x *float64) string {
	if x != nil && *x > 0 {
		return "+" + figure(x)
	}
	return figure(x)
}

// perSet is a count in each set, or nothing where both are 0.
func perSet(n evals.PerSet) string {
	if n == (evals.PerSet{}) {
		return ""
	}
	return fmt.Sprintf("%d, %d", n.Base, n.New)
}

// listCases has a row for each of the first cases of a list.
func listCases(what, metric string, names []string) (rows [][]string) {
	const most = 10
	for i, name := range names {
		if i == most {
			more := strconv.Itoa(len(names)-most) + " more; --format json lists all"
			return append(rows, []string{what, metric, more})
		}
		rows = append(rows, []string{what, metric, shortCase(name)})
	}
	return rows
}

// shortCase is the name of a case for people, or the beginning of a long one.
func shortCase(name string) string {
	const width = 60
	if text := []rune(name); len(text) > width {
		return string(text[:width]) + "…"
	}
	return name
}

// probability is a p-value for people.
func probability(p *float64) string {
	const least = 0.0001
	if p != nil && *p < least {
		return "<" + fmt.Sprint(least)
	}
	return figure(p)
}
