package eval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/tabular"
)

func newPower(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "power [BASE [NEW]]",
		Short: "Compute how many cases a comparison needs",
		Long: `power computes for each metric how many cases a comparison needs to detect a
difference of the means, and which difference the given cases can detect. It
estimates the variance from the scored runs.

For single runs that pass or fail, the computation is that of McNemar's mid-p
test, which compare uses. Otherwise compare permutes signs, which is simulated.
For different cases the computation is that of a t test.

Without a set, it plans a comparison before there are runs: --rate is the mean
that you expect, --effect the change to detect, such as -0.05, --icc the
correlation of two runs of a case (0: all cases are equally hard; 1: a case
always passes or always fails), and --trials the number of runs of each case.
A rate of 1 is that of a suite that always passes: it can only drop.

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
		Example: "  looptape eval power --difference 0.02 before/ after/\n  looptape eval power --difference 0.05 --power 0.9 results.json\n  looptape eval power --rate 0.8 --effect -0.05 --trials 1,4",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return cli.UsageError(c, "needs one or two sets of runs, got %d arguments", len(args))
			}
			if planned := c.Flags().Changed("rate"); planned && len(args) > 0 {
				return cli.UsageError(c, "--rate plans without runs: remove the files, or the flag")
			} else if planned {
				return nil
			}
			return cli.NeedFiles(c, args)
		},
	}
	format := cli.FormatFlag(c, "table", "json")
	difference := c.Flags().Float64("difference", 0.02, "difference to detect, in units of the score")
	var test stats.Test
	c.Flags().Float64Var(&test.Alpha, "alpha", 0.05, "significance level: the probability of a false alarm")
	c.Flags().Float64Var(&test.Power, "power", 0.8, "probability to detect the difference if it exists")
	var p plan
	c.Flags().Float64Var(&p.Rate, "rate", 0, "expected mean `rate`, to plan without runs")
	c.Flags().Float64Var(&p.Effect, "effect", -0.05, "change of the rate to detect, with --rate")
	c.Flags().Float64Var(&p.ICC, "icc", 0.5, "correlation of two runs of a case, with --rate")
	c.Flags().IntSliceVar(&p.trials, "trials", []int{1, 2, 4, 8}, "numbers of runs of each case, with --rate")
	var flags setFlags
	flags.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		planned := c.Flags().Changed("rate")
		const plans = "with --rate, which plans without runs: remove one of them"
		if err := cmp.Or(needPositive(c, "alpha", "power"), rejectUnused(c,
			unused{planned, "with --rate: use --effect", []string{"difference"}},
			unused{planned, plans, rowFlagNames()},
			unused{!planned, "without --rate: use --difference", []string{"effect"}},
			unused{!planned, "without --rate: the runs show it", []string{"icc", "trials"}},
			unused{len(args) < 2, "without a second set", []string{"new-score"}})); err != nil {
			return err
		}
		if len(args) == 0 {
			return p.print(w, *format, test)
		}
		sets, _, err := flags.score(w, c, args)
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
		return cli.Report(w, *format, powerJSON.Of(*n), n.Unreadable, tables, status)
	}
	return c
}

var (
	powerJSON = cli.NewJSON("power", 1, "eval power --format json", evals.PowerReport{})
	planJSON  = cli.NewJSON("power-plan", 1, "eval power --rate --format json", plan{})
)

// plan is a comparison of rates before there are runs.
type plan struct {
	Rate     float64   `json:"rate"`
	Effect   float64   `json:"effect"`
	ICC      float64   `json:"icc"`
	Required []planned `json:"required"`
	trials   []int
}

// planned is the number of cases for a number of runs of each.
type planned struct {
	Trials int    `json:"trials"`
	Test   string `json:"test"`  // mcnemar_mid_p or permutation
	Cases  *int   `json:"cases"` // null if more than stats.MaxCases
}

func (p *plan) print(w *cli.World, format string, test stats.Test) error {
	for _, trials := range p.trials {
		one, err := p.of(trials, test)
		if err != nil {
			return err
		}
		p.Required = append(p.Required, one)
	}
	return cli.Report(w, format, planJSON.Of(*p), []evals.Unreadable(nil), func() string {
		var rows [][]string
		for _, r := range p.Required {
			rows = append(rows, []string{strconv.Itoa(r.Trials), required(r.Cases), strings.ReplaceAll(r.Test, "_", " ")})
		}
		w.Table([]string{"runs of each case", "required cases", "test"}, rows)
		return fmt.Sprintf("to detect a change of %v of the rate %v, with a correlation of %v", p.Effect, p.Rate, p.ICC)
	}, nil)
}

// of returns the number of cases for this number of runs of each.
func (p *plan) of(trials int, test stats.Test) (planned, error) {
	if _, err := stats.PlannedVariance(p.Rate, p.ICC, p.Effect, trials); err != nil {
		return planned{}, err
	}
	const one = 1 // any valid values, to check the test
	if _, err := stats.CasesNeeded(one, one, test); err != nil {
		return planned{}, err
	}
	r := planned{Trials: trials, Test: "permutation"}
	var needed int
	var err error
	if trials == 1 {
		r.Test = "mcnemar_mid_p"
		rates, wrong := stats.PlannedRates(p.Rate, p.ICC, p.Effect)
		if wrong != nil {
			return planned{}, wrong
		}
		needed, err = rates.CasesNeeded(test)
	} else {
		needed, err = test.PlannedCases(p.Rate, p.ICC, p.Effect, trials)
	}
	if err == nil {
		r.Cases = &needed
	}
	return r, nil
}

// required formats a number of cases; nil is too many.
func required(cases *int) string {
	if cases == nil {
		return fmt.Sprintf("more than %d", stats.MaxCases)
	}
	return strconv.Itoa(*cases)
}

// printPower prints the required cases and returns the last line.
func printPower(w *cli.World, n *evals.PowerReport) (line string) {
	var rows [][]string
	add := func(metric, pairing string, cases int, detectable *float64, needed *int, impossible bool) {
		number := required(needed)
		if impossible {
			number = "impossible"
		}
		rows = append(rows, []string{metric, pairing, strconv.Itoa(cases), tabular.Value(detectable), number})
	}
	for _, name := range slices.Sorted(maps.Keys(n.Metrics)) {
		m := n.Metrics[name]
		if s := m.Same; s != nil {
			add(name, "same cases", s.Cases, s.Detectable, s.Needed, s.Impossible)
		}
		if s := m.Different; s != nil {
			add(name, "different cases", s.Cases, s.Detectable, s.Needed, s.Impossible)
		} else {
			rows = append(rows, []string{name, "different cases", "-", "-", "-"})
		}
	}
	w.Table([]string{"metric", "pairing", "cases", "detectable", "required"}, rows)
	return fmt.Sprintf("to detect a difference of %v: %d missing, %s", n.Difference, n.Missing, countUnreadable(n.Unreadable))
}
