package eval

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/evals/stats"
	"github.com/looptape/looptape/internal/tabular"
)

func newCompare(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "compare BASE NEW…",
		Short: "Compare sets of recorded runs, case by case",
		Long: `compare pairs the cases of two sets of recorded runs. For each metric it prints
the means, the difference with its 95 % confidence interval, the p-value
(McNemar's mid-p test for single runs that pass or fail, else a permutation
test), and the cases that regressed and that were fixed. With several metrics it
also prints p-values with Holm's correction. It compares each set NEW with BASE,
and corrects for all comparisons.

compare lists a case that only one set has, and does not count it.

--sequential gives a decision that may be read after each added run: add runs
until it is decided. It pairs the n-th runs of each case, in the order of their
files and lines, so put new runs into files whose names sort last. --effect is
the change that you plan for. With enough runs another change is found as well.
Cases must not share a cluster.

` + evalFiles + `

` + setFiles + `

` + evalStatus,
		Example: "  looptape eval compare before/ after/\n  looptape eval compare main.jsonl prompt-1.jsonl prompt-2.jsonl\n  looptape eval compare --base-score /old --new-score /new rows.csv rows.csv\n  looptape eval compare --sequential --effect 0.05 before/ after/",
		Args:    needSets,
	}
	format := cli.FormatFlag(c, "table", "json")
	seed := seedFlag(c)
	sequential := c.Flags().Bool("sequential", false, "a decision that may be read after each added run")
	effect := c.Flags().Float64("effect", 0.05, "planned `change` of the mean, with --sequential")
	var flags setFlags
	flags.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := rejectUnused(c,
			unused{!*sequential, "without --sequential: add it, or remove the flag", []string{"effect"}},
			unused{*sequential, "with --sequential, which draws nothing: remove one of them", []string{"seed"}}); err != nil {
			return err
		}
		sets, lower, err := flags.score(w, c, args)
		if err != nil {
			return err
		}
		if *sequential {
			return compareSequential(w, sets, *format, *effect, lower)
		}
		return compareSets(w, args, sets, *format, *seed, lower)
	}
	return c
}

// sequentialChanges is the output of --sequential.
type sequentialChanges struct {
	Effect     float64                           `json:"effect"`
	Metrics    map[string]evals.SequentialChange `json:"metrics"`
	Unreadable []evals.Unreadable                `json:"unreadable"`
}

// comparisons is the output for several sets.
type comparisons struct {
	Comparisons []named `json:"comparisons"`
}

var (
	sequentialJSON  = cli.NewJSON("compare-sequential", 1, "eval compare --sequential --format json", sequentialChanges{})
	compareJSON     = cli.NewJSON("compare", 1, "eval compare --format json", evals.Comparison{})
	comparisonsJSON = cli.NewJSON("comparisons", 1, "eval compare --format json of several sets", comparisons{})
)

// compareSequential prints the decision that may be read at any time.
func compareSequential(w *cli.World, sets []*evals.Result, format string, effect float64, lower []string) error {
	if len(sets) > 2 {
		return fmt.Errorf("--sequential compares two sets, got %d", len(sets))
	}
	unreadable := append(append([]evals.Unreadable{}, sets[0].Unread()...), sets[1].Unread()...)
	all, err := sets[0].Sequential(sets[1], stats.Sequential{Effect: effect}, lower...)
	if err != nil {
		reportUnreadableOf(w, sets)
		return err
	}
	failed := 0
	for _, set := range sets {
		for row := range set.Rows.All() {
			failed += len(row.Errors)
		}
	}
	return cli.Report(w, format, sequentialJSON.Of(sequentialChanges{effect, all, unreadable}), unreadable, func() string {
		var rows [][]string
		undecided := 0
		both := func(base, now int) string { // of BASE and NEW
			if base+now == 0 {
				return ""
			}
			return fmt.Sprintf("%d, %d", base, now)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			c := all[name]
			decided := ""
			if c.Decided > 0 {
				decided = fmt.Sprintf("after %d", c.Decided)
			} else {
				undecided++
			}
			rows = append(rows, []string{name, strconv.Itoa(c.Pairs), tabular.Value(&c.Base), tabular.Value(&c.New), tabular.Value(&c.E), tabular.Probability(&c.P), c.Decision, decided,
				both(c.Unpaired.Base, c.Unpaired.New), both(c.Missing.Base, c.Missing.New), both(c.Errors.Base, c.Errors.New)})
		}
		printFilled(w, []string{"metric", "pairs", "base", "new", "e", "p", "decision", "decided", "unpaired", "missing", "errors"}, rows)
		return fmt.Sprintf("%d undecided: %s", undecided, countUnreadable(unreadable))
	}, scoredStatus(failed, unreadable, len(all)))
}

// setFiles describes rows with two sets in the help of the commands.
const setFiles = rowFiles + `
--base-score and --new-score select the scores of two systems in the same rows.`

// setFlags are the flags that select values in rows with several sets.
type setFlags struct {
	rowFlags

	only [2][]string // score pointers of the first set, and of the others
}

// of gives a command the flags.
func (s *setFlags) of(c *cobra.Command) {
	s.rowFlags.of(c)
	c.Flags().StringArrayVar(&s.only[0], "base-score", nil, "like --score, a `pointer` for BASE only")
	c.Flags().StringArrayVar(&s.only[1], "new-score", nil, "like --score, a `pointer` for NEW only")
}

// score scores each argument as a set. It returns the metrics for which a suite says that less is better.
func (s *setFlags) score(w *cli.World, c *cobra.Command, args []string) (sets []*evals.Result, lower []string, err error) {
	if err := cli.NeedFiles(c, args); err != nil {
		return nil, nil, err
	}
	if err := rejectPrograms(c, args...); err != nil {
		return nil, nil, err
	}
	sets = make([]*evals.Result, len(args))
	for i, name := range args {
		rows, err := s.mapping(s.only[min(i, 1)])
		if err != nil {
			return nil, nil, err
		}
		set, err := setOf(w, []string{name}, rows, graders{}, &s.rowFlags)
		if err != nil {
			return nil, nil, err
		}
		if set.suite != nil {
			lower = append(lower, set.suite.Gate.Lower...)
		}
		set.Brief = true // for statistics only
		if sets[i], err = scoreSet(c.Context(), w, set); err != nil {
			return nil, nil, err
		}
	}
	return sets, lower, nil
}

// reportUnreadableOf reports the unreadable records of sets that cannot be compared.
func reportUnreadableOf(w *cli.World, sets []*evals.Result) {
	for _, set := range sets {
		cli.PrintErrors(w, set.Unread())
	}
}

func needSets(c *cobra.Command, args []string) error {
	if len(args) < 2 {
		return cli.UsageError(c, "needs two sets of runs, got %s", cli.Count(len(args), "argument"))
	}
	return nil
}

// named is a comparison of one of several sets with a base.
type named struct {
	New string `json:"new"`
	*evals.Comparison
}

// compareSets prints the changes from the first set to each other set and returns the exit
// status.
func compareSets(w *cli.World, names []string, sets []*evals.Result, format string, seed uint64, lower []string) error {
	all, err := sets[0].Compare(sets[1:], seed, lower...)
	if err != nil {
		reportUnreadableOf(w, sets)
		return err
	}
	list := make([]named, len(all))
	for i, c := range all {
		list[i] = named{names[i+1], c}
	}
	printComparisons(w, list, format)
	return comparedStatus(all...)
}

func printComparisons(w *cli.World, list []named, format string) {
	switch {
	case format != "json":
	case len(list) == 1:
		w.JSON(compareJSON.Of(*list[0].Comparison))
		return
	default:
		w.JSON(comparisonsJSON.Of(comparisons{list}))
		return
	}
	for i, c := range list {
		if len(list) > 1 {
			w.Printf("%sNEW is %q\n\n", strings.Repeat("\n", min(i, 1)), c.New)
		}
		printChanges(w, c.Comparison)
	}
}

func comparedStatus(all ...*evals.Comparison) error {
	failed, metrics := 0, 0
	var unreadable []evals.Unreadable
	for _, c := range all {
		for _, change := range c.Metrics {
			failed += change.Errors.Base + change.Errors.New
		}
		metrics += len(c.Metrics)
		unreadable = append(unreadable, c.Unreadable...)
	}
	return scoredStatus(failed, unreadable, metrics)
}

// maxCases is the number of listed cases of each kind.
const maxCases = 10

// printChanges prints tables of the changes.
func printChanges(w *cli.World, c *evals.Comparison) {
	cli.PrintErrors(w, c.Unreadable)
	lists := evalreport.Lists{Max: maxCases, All: "--format json lists all"}
	printTables(w, evalreport.ChangeTables(c, lists))
	pairs := 0
	for _, m := range c.Metrics {
		pairs = max(pairs, m.Pairs)
	}
	line := fmt.Sprintf("%s compared, %d only in BASE, %d only in NEW: %s", cli.Count(pairs, "case"), len(c.OnlyBase), len(c.OnlyNew), countUnreadable(c.Unreadable))
	w.ResultLine(line, comparedStatus(c) == nil)
}
