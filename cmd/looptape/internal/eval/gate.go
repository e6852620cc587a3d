package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/tabular"
)

// gateFlags are the settings of the command.
type gateFlags struct {
	evals.Gate

	rows             rowFlags
	baseline         string
	reports          *cli.ReportFiles
	update, simulate bool
}

func newGate(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "gate --baseline FILE FILE…",
		Short: "Compare recorded runs with a stored baseline, for CI",
		Long: `gate fails if recorded runs are worse than a baseline. It prints one line for
each failure, for these reasons only:

  drop          the mean of a metric fell by --drop or more, and the one-sided
                p-value with Holm's correction is below --alpha
  max drop      the mean of a metric fell by more than --max-drop, whatever the
                p-value
  min           the mean of a metric is below --min (above, with --lower)
  power         the gate finds a drop of --detect with a probability below
                --require-power
  must pass     a run failed in a case that must pass: "must_pass": true in the
                baseline, or --must-pass
  missing       a case of the baseline has no run, or fewer scores than before
  invariant     a run breaks a rule, such as INV-04 of the scorer ` + evals.InvariantMetric + `,
                that no run of the case breaks in the baseline
  scorer error  a scorer failed

--update replaces the baseline and keeps its must_pass members. The baseline is
JSON with one line per case, for review as a diff; the same runs give the same
bytes.

The column FINDS is the smallest drop that the gate finds with a probability of
0.8, given how the runs of each case vary: a smaller one can pass. With several
runs of each case, it finds smaller drops. --update prints how much smaller.
--simulate needs the baseline only. It simulates 10,000 gates of runs that vary
as those of the baseline, and prints the share that fails though nothing has
changed, and though the mean fell.

` + evalFiles + `

` + rowFiles + `

Exit status: 0 if the gate passed; 1 if not; else 2 if a record could not be
read.`,
		Example: "  looptape eval gate --baseline baseline.json --update runs/\n  looptape eval gate --baseline baseline.json --junit gate.xml runs/\n  looptape eval gate eval.yaml\n  looptape eval gate --baseline baseline.json --simulate",
	}
	c.Args = func(_ *cobra.Command, args []string) error {
		if simulate, _ := c.Flags().GetBool("simulate"); simulate && len(args) == 0 {
			return nil // the baseline is enough
		}
		return cli.NeedFiles(c, args)
	}
	format := cli.FormatFlag(c, "table", "json", "junit", "markdown", "github")
	seed := seedFlag(c)
	var g gateFlags
	g.rows.of(c)
	f := c.Flags()
	f.StringVar(&g.baseline, "baseline", "", "baseline `file`")
	f.BoolVar(&g.update, "update", false, "replace the baseline")
	f.BoolVar(&g.simulate, "simulate", false, "simulate gates of runs like those of the baseline: false alarms, and the drops that are found")
	f.Float64Var(&g.Alpha, "alpha", 0.05, "significance level: the probability of a false alarm")
	f.Float64Var(&g.Drop, "drop", 0.02, "smallest drop of a mean that fails")
	f.Float64Var(&g.Detect, "detect", 0, "a drop that the gate must be able to find; see --require-power")
	f.Float64Var(&g.RequirePower, "require-power", 0, "fail if the `probability` of finding a drop of --detect is less")
	var maxDrop, least []string
	f.StringArrayVar(&maxDrop, "max-drop", nil, "largest `[METRIC=]DROP` of a mean that passes, significant or not (repeatable)")
	f.StringArrayVar(&least, "min", nil, "worst `[METRIC=]MEAN` that passes (repeatable)")
	f.StringArrayVar(&g.Metrics, "metric", nil, "`metric` to compare (repeatable; default: all)")
	f.StringArrayVar(&g.Lower, "lower", nil, "`metric` where less is better (repeatable)")
	f.StringArrayVar(&g.MustPass, "must-pass", nil, "`case` that must pass (repeatable)")
	g.reports = cli.ReportFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		g.Seed = *seed
		if err := cmp.Or(byMetric("max-drop", maxDrop, &g.MaxDrop), byMetric("min", least, &g.Min)); err != nil {
			return err
		}
		if err := cmp.Or(g.rejectUnused(c, args), rejectPrograms(c, args...)); err != nil {
			return err
		}
		if g.simulate && len(args) == 0 {
			return simulate(w, &g, *format)
		}
		set, err := g.rows.set(w, args, graders{})
		if err != nil {
			return err
		}
		if err := g.settle(c, set); err != nil {
			return err
		}
		if g.update {
			if err := w.CheckOutputs(g.baseline); err != nil {
				return err
			}
		}
		if g.simulate {
			return simulate(w, &g, *format)
		}
		r, err := scoreSet(c.Context(), w, set)
		if err != nil {
			return err
		}
		if g.update {
			return updateBaseline(w, r, &g)
		}
		return gate(w, r, &g, *format)
	}
	return c
}

// rejectUnused returns an error for a flag that would be ignored.
func (g *gateFlags) rejectUnused(c *cobra.Command, args []string) error {
	const simulated, updated = "with --simulate, which needs the baseline only: remove it", "with --update, which evaluates no gate: remove one of them"
	withoutSuite := g.simulate && !(len(args) == 1 && isSuite(args[0]))
	if withoutSuite && len(args) > 0 {
		return cli.UsageError(c, "--simulate needs the baseline only: remove the files, or name one suite")
	}
	if format := c.Flags().Lookup("format").Value.String(); g.simulate && format != "table" && format != "json" {
		return cli.UsageError(c, "--simulate has no --format %s: use table or json", format)
	}
	return rejectUnused(c,
		unused{g.simulate, "with --simulate: remove one of them", []string{"update", "junit", "markdown", "must-pass", "require-power"}},
		unused{g.simulate, simulated, []string{"tag"}},
		unused{withoutSuite, simulated, rowFlagNames()},
		unused{g.update, updated, []string{"format", "junit", "markdown", "min", "detect", "require-power"}})
}

// byMetric reads the values of a flag, each a number for all metrics or METRIC=NUMBER.
func byMetric(flag string, values []string, to *map[string]float64) error {
	for _, value := range values {
		metric, number := "", value
		if at := strings.LastIndexByte(value, '='); at >= 0 {
			metric, number = value[:at], value[at+1:]
		}
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || metric == "" && number != value {
			return fmt.Errorf("--%s %q: want a number, or METRIC=NUMBER", flag, value)
		}
		if _, twice := (*to)[metric]; twice {
			return fmt.Errorf("--%s %q: another value is set: remove one of them", flag, value)
		}
		if *to == nil {
			*to = map[string]float64{}
		}
		(*to)[metric] = x
	}
	return nil
}

// settle takes the settings of a suite. A flag must not repeat one.
func (g *gateFlags) settle(c *cobra.Command, set *runSet) error {
	if err := needPositive(c, "alpha"); err != nil {
		return err
	}
	if set.suite != nil {
		for _, name := range []string{"baseline", "alpha", "drop", "max-drop", "min", "detect", "require-power", "metric", "lower", "must-pass", "seed"} {
			if c.Flags().Changed(name) {
				return fmt.Errorf("--%s: the suite contains this setting: change it there", name)
			}
		}
		g.Gate = set.suite.Gate
		if set.suite.Baseline != "" {
			g.baseline = filepath.Join(set.folder, set.suite.Baseline)
		}
	}
	if g.baseline == "" {
		return errors.New("missing baseline: set --baseline FILE, or the key baseline of a suite")
	}
	return nil
}

// gate compares a result with the baseline and returns the exit status.
func gate(w *cli.World, r *evals.Result, g *gateFlags, format string) error {
	base, err := readBaseline(g.baseline)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: create the baseline with --update", err)
	case err != nil:
		return err
	}
	v, err := g.Evaluate(base, r)
	if err != nil {
		cli.PrintErrors(w, r.Unread())
		return err
	}
	if err := g.reports.Write(w, v); err != nil {
		return err
	}
	return printGateResult(w, v, format)
}

func readBaseline(name string) (*evals.Baseline, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := evals.ReadBaseline(name, f)
	return b, errors.Join(err, f.Close())
}

// updateBaseline replaces the baseline, unless the result is incomplete.
func updateBaseline(w *cli.World, r *evals.Result, g *gateFlags) error {
	f, err := r.Summary(nil)
	if err != nil {
		return err
	}
	if summaryStatus(f) != nil {
		status := printSummary(w, f, "table")
		w.Warn("%s: the baseline is not written because the result is incomplete", g.baseline)
		return status
	}
	old, err := readBaseline(g.baseline)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := r.Baseline(old, g.MustPass)
	if err != nil {
		return err
	}
	p, err := g.Plan(b, 0)
	if err != nil {
		return err
	}
	if err := w.Output(g.baseline, b.Write); err != nil {
		return err
	}
	w.ResultLine(fmt.Sprintf("%s of %s: written to %s", cli.Count(f.Runs, "run"), cli.Count(f.Cases, "case"), g.baseline), true)
	printSmallest(w, p)
	return nil
}

var (
	gateJSON       = cli.NewJSON("gate", 1, "eval gate --format json", evals.GateResult{})
	simulationJSON = cli.NewJSON("gate-simulation", 1, "eval gate --simulate --format json", evals.GatePlan{})
)

// gateSimulations is the number of simulations of --simulate.
const gateSimulations = 10_000

// simulate prints the false alarms and the power of a gate.
func simulate(w *cli.World, g *gateFlags, format string) error {
	if g.baseline == "" {
		return errors.New("missing baseline: set --baseline FILE, or the key baseline of a suite")
	}
	base, err := readBaseline(g.baseline)
	if err != nil {
		return err
	}
	p, err := g.Plan(base, gateSimulations)
	if err != nil {
		return err
	}
	if len(p.Metrics) == 0 {
		return fmt.Errorf("%s: no metric whose runs show how they vary: write the baseline with two runs of each case", g.baseline)
	}
	return cli.Report(w, format, simulationJSON.Of(*p), []evals.Unreadable(nil), func() string {
		header := []string{"metric", "cases", "runs", "false alarms"}
		var rows [][]string
		drops := map[float64]bool{}
		for _, m := range p.Metrics {
			for _, d := range m.Power {
				drops[d.Drop] = true
			}
		}
		for _, d := range slices.Sorted(maps.Keys(drops)) {
			header = append(header, fmt.Sprintf("drop %v", d))
		}
		for _, name := range slices.Sorted(maps.Keys(p.Metrics)) {
			m := p.Metrics[name]
			row := []string{name, strconv.Itoa(m.Cases), strconv.Itoa(m.Runs), fmt.Sprintf("%.4f", *m.FalseAlarms)}
			for _, d := range slices.Sorted(maps.Keys(drops)) {
				cell := "" // impossible
				for _, p := range m.Power {
					if p.Drop == d {
						cell = fmt.Sprintf("%.4f", p.Power)
					}
				}
				row = append(row, cell)
			}
			rows = append(rows, row)
		}
		w.Table(header, rows)
		printSmallest(w, p)
		return fmt.Sprintf("%d simulations of runs like those of %s", p.Simulations, g.baseline)
	}, nil)
}

// printSmallest prints the smallest drops that a gate finds.
func printSmallest(w *cli.World, p *evals.GatePlan) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(p.Metrics)) {
		for _, d := range p.Metrics[name].Smallest {
			runs, drop := "as in the baseline", "none"
			if d.Runs > 0 {
				runs = strconv.Itoa(d.Runs)
			}
			if d.Drop != nil {
				drop = tabular.Value(d.Drop)
			}
			rows = append(rows, []string{name, runs, drop})
		}
	}
	if len(rows) > 0 {
		w.Table([]string{"metric", "runs of each case", "finds"}, rows)
	}
}

// printGateResult prints the result of a gate and returns the exit status.
func printGateResult(w *cli.World, v *evals.GateResult, format string) error {
	status := scoredStatus(len(v.Findings), v.Unreadable, len(v.Metrics))
	switch format {
	case "junit":
		return cmp.Or(v.JUnit(w.Out), status)
	case "markdown":
		return cmp.Or(v.Markdown(w.Out), status)
	case "github":
		cli.PrintErrors(w, v.Unreadable)
		return cli.Annotations(w, v, status)
	}
	return cli.Report(w, format, gateJSON.Of(*v), v.Unreadable, func() string { return printGate(w, v) }, status)
}

// printGate prints the result of a gate as tables and returns the last line.
func printGate(w *cli.World, v *evals.GateResult) (line string) {
	var findings [][]string
	const caseWidth = 60
	for _, f := range v.Findings {
		findings = append(findings, []string{f.Title(), f.Metric, tabular.Short(f.Case, caseWidth), f.Message})
	}
	w.Table(v.Means())
	printFilled(w, []string{"failure", "metric", "case", "reason"}, findings)
	const worst = 10
	header, cases := v.WorstCases(worst)
	for _, row := range cases {
		row[1] = tabular.Short(row[1], caseWidth)
	}
	printFilled(w, header, cases)
	return fmt.Sprintf("%s, %d not in the baseline: %s, %s", cli.Count(len(v.Cases), "case"), len(v.NewCases), cli.Count(len(v.Findings), "failure"), countUnreadable(v.Unreadable))
}
