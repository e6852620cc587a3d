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
		Short: "Report scored runs: failed cases with explanations",
		Long: `report prints the statistics of score, then the cases that failed, are mixed
(some runs passed), have no score, and passed, with scores and explanations.

A run fails if a score is 0 and passes if its scores are 1. Other scores, and
metrics for which the suite defines lower as better, do not count as pass or
fail.

--against BASE adds the changes since another set of runs, as in compare. If
FILE is a suite and BASE is not, the suite's scorers score both.

  table     for a terminal
  markdown  for a pull request
  json      one document: statistics, cases, runs and changes
  jsonl     one run per line, as JSON
  csv       one run per line (RFC 4180); an apostrophe precedes a text that a
            spreadsheet would read as a formula
  parquet   the same columns with types, as Apache Parquet
  html      one file for a browser without network access: all of this, the
            transcripts of the runs, and two runs side by side

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
	f.StringVar(&r.against, "against", "", "set of runs to compare with: file, folder or suite `BASE`")
	f.StringVarP(&r.out, "output", "o", "", "output `file` (default: standard output)")
	f.IntVar(&r.most, "cases", 20, "tables and Markdown: number of listed cases of each kind; 0 lists all")
	r.page.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		r.format = *format
		switch {
		case r.most < 0:
			return fmt.Errorf("--cases %d: want a number of cases, or 0 for all", r.most)
		case r.format == "parquet" && r.out == "" && w.outTerm:
			return errors.New("parquet is a binary format: set an output file with -o")
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

// makeReport scores the runs and the runs to compare with.
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
	reportUnreadable(w, result.Unreadable)
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
		reportUnreadable(w, o.Base.Unreadable)
	}
	return evalreport.New(result, o)
}

// writeReport writes a report and returns the exit status.
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
		r.page.reportNotes(w)
	}
	return reportStatus(rep)
}

func reportStatus(rep *evalreport.Report) error {
	if rep.Comparison != nil {
		return comparedStatus(rep.Comparison)
	}
	return summaryStatus(rep.Summary)
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
	line := fmt.Sprintf("%s of %s: %s; %s", count(f.Runs, "run"), count(f.Cases, "case"), cmp.Or(rep.Counts(), "none"), count(len(f.Unreadable), "unreadable record"))
	return printResultLine(w, line, reportStatus(rep) == nil)
}

// to returns a copy of the world with another output.
func (w *world) to(out io.Writer) *world {
	elsewhere := *w
	elsewhere.out, elsewhere.outTerm = out, w.outTerm && out == w.out
	return &elsewhere
}
