package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
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

// mostCases is how many cases are listed of a kind.
const mostCases = 10

// printChanges prints tables of what changed.
func (w *world) printChanges(c *evals.Comparison) error {
	tellUnreadable(w, c.Unreadable)
	if err := printTables(w, evalreport.Changes(c, evalreport.Lists{Most: mostCases, All: "--format json lists all"})...); err != nil {
		return err
	}
	pairs := 0
	for _, m := range c.Metrics {
		pairs = max(pairs, m.Pairs)
	}
	line := fmt.Sprintf("%s compared, %d only in BASE, %d only in NEW: %s unreadable", count(pairs, "case"), len(c.OnlyBase), len(c.OnlyNew), count(len(c.Unreadable), "part"))
	return printVerdict(w, line, comparedStatus(c) == nil)
}
