package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
)

// gateFlags are the settings of the command.
type gateFlags struct {
	evals.Gate

	rows                      rowFlags
	baseline, junit, markdown string
	update                    bool
}

func newEvalGate(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "gate --baseline FILE FILE…",
		Short: "Hold recorded runs against a stored baseline, for CI",
		Long: `gate fails recorded runs that are worse than a baseline, for these reasons only,
and says which, a line each:

  drop          the mean of a metric fell by --drop or more, and by chance it
                would have with a probability below --alpha: half that which
                compare tells, corrected for the number of metrics (Holm)
  must pass     a run of a case failed that has to pass: one with "must_pass":
                true in the baseline, or of --must-pass
  missing       a case of the baseline has no run, or fewer scores than it had,
                since a run has none
  invariant     a run has less than 1 by the metric ` + evals.InvariantMetric + `
  scorer error  a score could not be made

--update writes the baseline anew, and keeps its marks. It is JSON with a line a
case, for review in a difference; the same runs give the same bytes.

` + evalFiles + `

` + rowFiles + `

Exit status: 0 if the gate passed; 1 if not; else 2 if anything could not be
read.`,
		Example: "  looptape eval gate --baseline baseline.json --update runs/\n  looptape eval gate --baseline baseline.json --junit gate.xml runs/\n  looptape eval gate eval.yaml",
		Args:    needFiles,
	}
	format := formatFlag(c, "table", "json", "junit", "markdown", "github")
	seed := seedFlag(c)
	var g gateFlags
	g.rows.of(c)
	f := c.Flags()
	f.StringVar(&g.baseline, "baseline", "", "the `file` of the baseline")
	f.BoolVar(&g.update, "update", false, "write the baseline anew")
	f.Float64Var(&g.Alpha, "alpha", 0.05, "the probability of a drop where nothing has changed")
	f.Float64Var(&g.Drop, "drop", 0.02, "the least drop of a mean that counts")
	f.StringArrayVar(&g.Metrics, "metric", nil, "a `metric` to look at, instead of all; may be repeated")
	f.StringArrayVar(&g.Lower, "lower", nil, "a `metric` of which less is better; may be repeated")
	f.StringArrayVar(&g.MustPass, "must-pass", nil, "a `case` that has to pass; may be repeated")
	f.StringVar(&g.junit, "junit", "", "a `file` to write JUnit XML to, too")
	f.StringVar(&g.markdown, "markdown", "", "a `file` to write Markdown to, too")
	c.RunE = func(c *cobra.Command, args []string) error {
		g.Seed = *seed
		rows, err := g.rows.mapping(nil)
		if err != nil {
			return err
		}
		set, err := w.setOf(args, rows, false)
		if err != nil {
			return err
		}
		if err := g.settle(c, set); err != nil {
			return err
		}
		r, err := w.scoreSet(c.Context(), set)
		if err != nil {
			return err
		}
		if g.update {
			return w.updateBaseline(r, &g)
		}
		return w.gate(r, &g, *format)
	}
	return c
}

// settle takes the settings of a suite, which flags may not say, too.
func (g *gateFlags) settle(c *cobra.Command, set *runSet) error {
	if set.suite != nil {
		for _, name := range []string{"baseline", "alpha", "drop", "metric", "lower", "must-pass", "seed"} {
			if c.Flags().Changed(name) {
				return fmt.Errorf("--%s: a suite says that itself; write it there", name)
			}
		}
		g.Gate = set.suite.Gate
		if set.suite.Baseline != "" {
			g.baseline = filepath.Join(set.folder, set.suite.Baseline)
		}
	}
	if g.baseline == "" {
		return errors.New("a gate needs a baseline: --baseline FILE, or the key baseline of a suite")
	}
	return nil
}

// gate holds a result against the baseline, and returns the exit status.
func (w *world) gate(r *evals.Result, g *gateFlags, format string) error {
	base, err := readBaseline(g.baseline)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; --update makes the baseline", err)
		}
		return err
	}
	v, err := g.Evaluate(base, r)
	if err != nil {
		tellUnreadable(w, r.Unreadable)
		return err
	}
	for _, to := range []struct {
		name  string
		write func(io.Writer) error
	}{{g.junit, v.JUnit}, {g.markdown, v.Markdown}} {
		if to.name == "" {
			continue
		}
		if err := replaceWith(to.name, to.write); err != nil {
			return err
		}
	}
	if err := w.printVerdictOf(v, format); err != nil {
		return err
	}
	return gateStatus(v)
}

func readBaseline(name string) (*evals.Baseline, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := evals.ReadBaseline(name, f)
	return b, closeAfter(f, err)
}

// updateBaseline writes the baseline anew, unless the result is not whole.
func (w *world) updateBaseline(r *evals.Result, g *gateFlags) error {
	f, err := r.Summary(g.Seed)
	if err != nil {
		return err
	}
	if figuresStatus(f) != nil {
		if err := w.printFigures(f); err != nil {
			return err
		}
		complain(w, fmt.Errorf("%s: the baseline is not written, since it would not be whole", g.baseline))
		return figuresStatus(f)
	}
	old, err := readBaseline(g.baseline)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := evals.NewBaseline(r, old, g.MustPass)
	if err != nil {
		return err
	}
	if err := replaceWith(g.baseline, b.Write); err != nil {
		return err
	}
	return printVerdict(w, fmt.Sprintf("%s of %s: written to %s", count(f.Runs, "run"), count(f.Cases, "case"), g.baseline), true)
}

func gateStatus(v *evals.GateResult) error {
	return scoredStatus(len(v.Findings), v.Unreadable, len(v.Metrics))
}

// printVerdictOf prints what a gate says.
func (w *world) printVerdictOf(v *evals.GateResult, format string) error {
	switch format {
	case "json":
		return printJSON(w.out, v)
	case "junit":
		return v.JUnit(w.out)
	case "markdown":
		return v.Markdown(w.out)
	}
	tellUnreadable(w, v.Unreadable)
	if format == "github" {
		return v.GitHub(w.out)
	}
	return w.printGate(v)
}

// printGate prints tables of what a gate says.
func (w *world) printGate(v *evals.GateResult) error {
	var means, findings [][]string
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[name]
		holm := ""
		if len(v.Metrics) > 1 {
			holm = evalreport.Probability(m.Holm)
		}
		means = append(means, []string{name, evalreport.FormatValue(m.Base), evalreport.FormatValue(m.New), evalreport.Signed(m.Difference), evalreport.Probability(m.P), holm, evalreport.UnlessZero(m.Missing)})
	}
	const caseWidth = 60
	for _, f := range v.Findings {
		findings = append(findings, []string{f.Kind.String(), f.Metric, evalreport.Short(f.Case, caseWidth), f.Message})
	}
	if err := printFilled(w, []string{"metric", "baseline", "now", "difference", "p", "p (Holm)", "missing"}, means); err != nil {
		return err
	}
	if err := printFilled(w, []string{"failed", "metric", "case", "why"}, findings); err != nil {
		return err
	}
	line := fmt.Sprintf("%s, %d not in the baseline: %s, %s unreadable", count(len(v.Cases), "case"), len(v.NewCases), count(len(v.Findings), "failure"), count(len(v.Unreadable), "part"))
	return printVerdict(w, line, gateStatus(v) == nil)
}
