package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	evalreport "github.com/looptape/looptape/evals/report"
)

// reportFlags are the settings of the command.
type reportFlags struct {
	rows            rowFlags
	format, against string
	out             string
	most            int
	page            pageFlags
}

func newEvalReport(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "report FILE…",
		Short: "Show scored runs: which cases failed, and why",
		Long: `report shows how recorded runs did: the figures of score, then the cases that
failed, are mixed (their runs differ), are not scored, and passed, with what
they scored and why.

A run fails by a score of 0, and passes by scores of 1. A metric of which a run
has another score, or that a suite says to be better where it is lower, tells
neither.

--against BASE adds what changed since another set of runs, as compare has it.
Where FILE is a suite and BASE is none, its scorers score both.

  table     for a terminal
  markdown  for a pull request
  json      one document: figures, cases, runs, and what changed
  jsonl     a run a line, as JSON
  csv       a run a line (RFC 4180); a text that a spreadsheet would take for a
            formula has an apostrophe before it
  parquet   the same columns with their types, as Apache Parquet
  html      a page for a browser, in one file that asks the network for nothing:
            all that, and what the runs said, each call beside its result, and
            two runs side by side

` + evalFiles + `

` + rowFiles + `

` + evalStatus,
		Example: "  looptape eval report runs/\n  looptape eval report --format markdown --against main/ -o report.md branch/\n  looptape eval report --format csv -o runs.csv eval.yaml",
		Args:    needFiles,
	}
	var r reportFlags
	format := formatFlag(c, "table", "markdown", "json", "jsonl", "csv", "parquet", "html")
	seed := seedFlag(c)
	r.rows.of(c)
	f := c.Flags()
	f.StringVar(&r.against, "against", "", "the runs to compare with, as a file, folder or suite: `BASE`")
	f.StringVarP(&r.out, "output", "o", "", "the `file` to write, instead of standard output")
	f.IntVar(&r.most, "cases", 20, "tables and Markdown: how many cases of each kind to list; 0 lists all")
	r.page.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		r.format = *format
		switch {
		case r.most < 0:
			return fmt.Errorf("--cases %d: it is how many cases to list, or 0 for all", r.most)
		case r.format == "parquet" && r.out == "" && w.outTerm:
			return errors.New("parquet is no text: name a file for it with -o")
		}
		if err := r.page.settle(&r, args); err != nil {
			return err
		}
		rep, err := w.makeReport(c, args, &r, *seed)
		if err != nil {
			return err
		}
		return w.writeReport(rep, &r)
	}
	return c
}

// makeReport scores the runs, and those to compare with.
func (w *world) makeReport(c *cobra.Command, args []string, r *reportFlags, seed uint64) (*evalreport.Report, error) {
	rows, err := r.rows.mapping(nil)
	if err != nil {
		return nil, err
	}
	set, err := w.setOf(args, rows, false)
	if err != nil {
		return nil, err
	}
	o := &evalreport.Options{Seed: seed}
	if set.suite != nil {
		o.Lower = set.suite.Gate.Lower
	}
	r.page.Runs = r.page.listen(set)
	result, err := w.scoreSet(c.Context(), set)
	if err != nil {
		return nil, err
	}
	tellUnreadable(w, result.Unreadable)
	if r.against != "" {
		base, err := w.setOf([]string{r.against}, rows, false)
		if err != nil {
			return nil, err
		}
		if base.suite == nil {
			base.Options = set.Options
		}
		r.page.Base = r.page.listen(base)
		if o.Base, err = w.scoreSet(c.Context(), base); err != nil {
			return nil, err
		}
		tellUnreadable(w, o.Base.Unreadable)
	}
	return evalreport.New(result, o)
}

// writeReport writes a report, and returns the exit status.
func (w *world) writeReport(rep *evalreport.Report, r *reportFlags) error {
	r.page.Report = rep
	lists := evalreport.Lists{Most: r.most, All: "--cases 0 lists all"}
	write := map[string]func(io.Writer) error{
		"table":    func(to io.Writer) error { return w.to(to).printReport(rep, lists) },
		"markdown": func(to io.Writer) error { return rep.Markdown(to, lists) },
		"json":     rep.JSON,
		"jsonl":    rep.Lines,
		"csv":      rep.CSV,
		"parquet":  rep.Parquet,
		"html":     r.page.Write,
	}[r.format]
	var err error
	if r.out != "" {
		err = replaceWith(r.out, write)
	} else {
		err = write(w.out)
	}
	if err != nil {
		return err
	}
	if r.format == "html" {
		r.page.tell(w)
	}
	return reportStatus(rep)
}

func reportStatus(rep *evalreport.Report) error {
	if rep.Comparison != nil {
		return comparedStatus(rep.Comparison)
	}
	return figuresStatus(rep.Summary)
}

// printReport prints tables of a report.
func (w *world) printReport(rep *evalreport.Report, l evalreport.Lists) error {
	tables := []evalreport.Table{evalreport.Means(rep.Summary), evalreport.Resources(rep.Summary)}
	if rep.Comparison != nil {
		tables = append(tables, evalreport.Changes(rep.Comparison, l)...)
	}
	for _, o := range evalreport.Outcomes() {
		tables = append(tables, rep.Listed(o, l))
	}
	if err := printTables(w, tables...); err != nil {
		return err
	}
	f := rep.Summary
	line := fmt.Sprintf("%s of %s: %s; %s unreadable", count(f.Runs, "run"), count(f.Cases, "case"), cmp.Or(rep.Counts(), "none"), count(len(f.Unreadable), "part"))
	return printVerdict(w, line, reportStatus(rep) == nil)
}

// to is the world with its results going elsewhere.
func (w *world) to(out io.Writer) *world {
	elsewhere := *w
	elsewhere.out, elsewhere.outTerm = out, w.outTerm && out == w.out
	return &elsewhere
}
