package eval

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/tabular"
)

func newPower(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "power BASE [NEW]",
		Short: "Compute how many cases a comparison needs",
		Long: `power computes for each metric how many cases a comparison needs to detect a
difference of the means, and which difference the given cases can detect. It
estimates the variance from the scored runs.

The computation assumes the same number of runs for each case as in the input.
With two sets of runs it covers a comparison of the same cases before and after
a change; the sets may come from any change, or from none. With one set it
covers two sets of different cases, which need many more.

CASES is the number of cases in the input, DETECTABLE the smallest difference
that they can detect, and REQUIRED the number of cases that detect --difference.

The test is two-sided. The test of gate is one-sided and needs fewer cases.

` + evalFiles + `

` + setFiles + `

` + evalStatus,
		Example: "  looptape eval power --difference 0.02 before/ after/\n  looptape eval power --difference 0.05 --power 0.9 results.json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return cli.UsageError(c, "needs one or two sets of runs, got %d arguments", len(args))
			}
			return cli.NeedFiles(c, args)
		},
	}
	format := cli.FormatFlag(c, "table", "json")
	difference := c.Flags().Float64("difference", 0.02, "difference to detect, in units of the score")
	var test stats.Test
	c.Flags().Float64Var(&test.Alpha, "alpha", 0.05, "significance level: the probability of a false alarm")
	c.Flags().Float64Var(&test.Power, "power", 0.8, "probability to detect the difference if it exists")
	var flags setFlags
	flags.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		sets, err := flags.score(w, c, args)
		if err != nil {
			return err
		}
		n, err := sets[0].Power(append(sets, nil)[1], *difference, test)
		if err != nil {
			reportUnreadableOf(w, sets)
			return err
		}
		status := scoredStatus(n.Errors, n.Unreadable, len(n.Metrics))
		tables := func() string { return printPower(w, n) }
		return cli.Report(w, *format, n, n.Unreadable, tables, status)
	}
	return c
}

// printPower prints the required cases and returns the last line.
func printPower(w *cli.World, n *evals.PowerReport) (line string) {
	var rows [][]string
	add := func(metric, pairing string, cases int, detectable *float64, required *int) {
		needed := fmt.Sprintf("more than %d", stats.MaxCases)
		if required != nil {
			needed = strconv.Itoa(*required)
		}
		rows = append(rows, []string{metric, pairing, strconv.Itoa(cases), tabular.Value(detectable), needed})
	}
	for _, name := range slices.Sorted(maps.Keys(n.Metrics)) {
		m := n.Metrics[name]
		if s := m.Same; s != nil {
			add(name, "same cases", s.Cases, s.Detectable, s.Needed)
		}
		if s := m.Different; s != nil {
			add(name, "different cases", s.Cases, s.Detectable, s.Needed)
		} else {
			rows = append(rows, []string{name, "different cases", "-", "-", "-"})
		}
	}
	w.Table([]string{"metric", "pairing", "cases", "detectable", "required"}, rows)
	return fmt.Sprintf("to detect a difference of %v: %d missing, %s", n.Difference, n.Missing, countUnreadable(n.Unreadable))
}
