package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/evals/stats"
)

func newEvalPower(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "power BASE [NEW]",
		Short: "Say how many cases it takes to see a difference",
		Long: `power says by each metric how many cases a comparison needs to find a difference
of the means, from how far those vary that were scored, and which difference as
many cases as there are find.

A case is run as often in it as it was. Two sets of runs tell how many cases a
comparison needs that runs the same cases before and after a change; they may be
of any change, or of none. One set tells it for two sets of different cases,
which takes many more.

NOW is how many cases there are, FIND the smallest difference that they find,
and NEED how many find --difference.

The test is one of the mean in both directions; gate looks in one, and needs
fewer.

` + evalFiles + `

` + setFiles + `

` + evalStatus,
		Example: "  looptape eval power --difference 0.02 before/ after/\n  looptape eval power --difference 0.05 --power 0.9 results.json",
		Args: func(c *cobra.Command, args []string) error {
			const most = 2
			if len(args) > most {
				return fmt.Errorf("%s needs one or two sets of runs, got %d arguments; see %s --help", c.CommandPath(), len(args), c.CommandPath())
			}
			return needFiles(c, args)
		},
	}
	format := formatFlag(c, "table", "json")
	difference := c.Flags().Float64("difference", 0.02, "the difference to find, in the units of the score")
	var test stats.Test
	c.Flags().Float64Var(&test.Alpha, "alpha", 0.05, "the probability to find a difference where there is none")
	c.Flags().Float64Var(&test.Power, "power", 0.8, "the probability to find the difference if it is there")
	var flags setFlags
	flags.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		sets, err := flags.score(w, c, args)
		if err != nil {
			return err
		}
		n, err := evals.AnalyzePower(sets[0], append(sets, nil)[1], *difference, test)
		if err != nil {
			tellUnreadableOf(w, sets)
			return err
		}
		return w.printNeeds(n, *format)
	}
	return c
}

// printNeeds prints how many cases are needed, and returns the exit status.
func (w *world) printNeeds(n *evals.PowerReport, format string) error {
	result := scoredStatus(n.Errors, n.Unreadable, len(n.Metrics))
	if format == "json" {
		if err := printJSON(w.out, n); err != nil {
			return err
		}
		return result
	}
	tellUnreadable(w, n.Unreadable)
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(n.Metrics)) {
		need := n.Metrics[name]
		if need.Same != nil {
			rows = append(rows, sizes(name, "the same", need.Same))
		}
		rows = append(rows, sizes(name, "different", need.Different))
	}
	if err := printTable(w, []string{"metric", "cases", "now", "find", "need"}, rows); err != nil {
		return err
	}
	line := fmt.Sprintf("to find a difference of %v: %d missing, %s unreadable", n.Difference, n.Missing, count(len(n.Unreadable), "part"))
	if err := printVerdict(w, line, result == nil); err != nil {
		return err
	}
	return result
}

// sizes is the row of one way to compare.
func sizes(metric, cases string, s *evals.Sizes) []string {
	if s == nil {
		return []string{metric, cases, "-", "-", "-"}
	}
	needed := fmt.Sprintf("more than %d", stats.MaxCases)
	if s.Needed != nil {
		needed = strconv.Itoa(*s.Needed)
	}
	return []string{metric, cases, strconv.Itoa(s.Cases), evalreport.FormatValue(s.Detectable), needed}
}
