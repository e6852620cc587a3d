package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/evals/report/page"
)

// reportFlags are the settings of the command.
type reportFlags struct {
	rows            rowFlags
	format, against string
	out             string
	max             int
	labels          string
	sets, zeros     bool
	page            pageFlags
}

func newReport(w *cli.World) *cobra.Command {
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

--labels compares scores with labels of people, as in score. The html page has a
field for the label of each score, and writes them to such a file.

--sets compares several sets: the first FILE is the base, and each other FILE is
a column with its means and differences. The rest of the report is about the
last FILE. Probabilities are corrected for all sets.

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
		Args:    cli.NeedFiles,
	}
	var r reportFlags
	format := cli.FormatFlag(c, "table", "markdown", "json", "jsonl", "csv", "parquet", "html")
	seed := seedFlag(c)
	r.rows.of(c)
	f := c.Flags()
	f.StringVar(&r.against, "against", "", "set of runs to compare with: file, folder or suite `BASE`")
	cli.OutputFlag(c, &r.out, "output", "output `file` (default: standard output)")
	labelsFlag(c, &r.labels)
	f.BoolVar(&r.sets, "sets", false, "each FILE is a set: report the last one, compared with the first, and the others as columns")
	f.BoolVar(&r.zeros, "zeros", false, "tables and Markdown: list resources and tools without a change")
	f.IntVar(&r.max, "cases", 20, "tables and Markdown: number of listed cases of each kind; 0 lists all")
	r.page.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		r.format = *format
		if err := r.rejectUnused(c, args); err != nil {
			return err
		}
		switch {
		case r.max < 0:
			return fmt.Errorf("--cases %d: want a number of cases, or 0 for all", r.max)
		case r.format == "parquet" && r.out == "" && w.OutTerminal:
			return errors.New("parquet is a binary format: set an output file with -o")
		}
		others, err := r.split(&args)
		if err != nil {
			return err
		}
		if err := r.page.settle(&r, args); err != nil {
			return err
		}
		rep, err := makeReport(w, c, args, others, &r, *seed)
		if err != nil {
			return err
		}
		return writeReport(w, rep, &r)
	}
	return c
}

// rejectUnused returns an error for a flag that would be ignored.
func (r *reportFlags) rejectUnused(c *cobra.Command, args []string) error {
	tables, statistics := r.format == "table" || r.format == "markdown", r.format == "html" || r.format == "json"
	compared := r.against != "" || r.sets
	if r.sets && len(args) > 2 && !tables && r.format != "html" {
		return cli.UsageError(c, "--format %s has no columns for more than two sets: use table, markdown or html", r.format)
	}
	suites := args
	if r.against != "" {
		suites = append([]string{r.against}, args...)
	}
	return cmp.Or(rejectPrograms(c, suites...), rejectUnused(c,
		unused{!tables, "with --format " + r.format + ": use table or markdown, or remove the flag", []string{"cases", "zeros"}},
		unused{!compared, "without a comparison: set --against or --sets, or remove the flag", []string{"seed", "zeros"}},
		unused{r.format != "html", "without --format html: add it, or remove the flag", []string{"transcripts"}},
		unused{!tables && !statistics, "with --format " + r.format + ", which has no statistics: remove one of them", []string{"labels"}}))
}

// makeReport scores the runs and the runs to compare with.
func makeReport(w *cli.World, c *cobra.Command, args, others []string, r *reportFlags, seed uint64) (*evalreport.Report, error) {
	set, err := r.rows.set(w, args, graders{})
	if err != nil {
		return nil, err
	}
	o := &evalreport.Options{Seed: seed, Names: slices.Concat(others, args)}
	if set.suite != nil {
		o.Lower = set.suite.Gate.Lower
	}
	r.page.Runs = r.page.listen(set)
	result, err := scoreSet(c.Context(), w, set)
	if err != nil {
		return nil, err
	}
	cli.PrintErrors(w, result.Unread())
	if r.against != "" {
		base, err := r.rows.set(w, []string{r.against}, graders{})
		if err != nil {
			return nil, err
		}
		if base.suite == nil {
			base.Options = set.Options
		}
		r.page.Base = r.page.listen(base)
		if o.Base, err = scoreSet(c.Context(), w, base); err != nil {
			return nil, err
		}
		cli.PrintErrors(w, o.Base.Unread())
	}
	for _, name := range others {
		other, err := r.rows.set(w, []string{name}, graders{})
		if err != nil {
			return nil, err
		}
		if other.suite == nil {
			other.Options = set.Options
			other.Seen = nil
		}
		more, err := scoreSet(c.Context(), w, other)
		if err != nil {
			return nil, err
		}
		cli.PrintErrors(w, more.Unread())
		o.More = append(o.More, more)
	}
	rep, err := evalreport.New(result, o)
	if err != nil {
		return nil, err
	}
	unread, err := addLabels(w, rep.Summary, result, r.labels)
	cli.PrintErrors(w, unread)
	if rep.Comparison != nil {
		rep.Comparison.Unreadable = append(rep.Comparison.Unreadable, unread...)
	}
	return rep, err
}

// split returns the sets between the first, which is the base, and the last, which stays in the arguments.
func (r *reportFlags) split(args *[]string) (others []string, err error) {
	if !r.sets {
		return nil, nil
	}
	all := *args
	switch {
	case r.against != "":
		return nil, errors.New("--sets compares with the first FILE: remove --against")
	case len(all) < 2:
		return nil, errors.New("--sets needs two sets or more: BASE NEW…")
	}
	r.against, *args = all[0], all[len(all)-1:]
	return all[1 : len(all)-1], nil
}

var (
	_ = cli.NewJSON("report", 2, "eval report --format json", evalreport.Document{})
	_ = cli.NewJSONLines("report-lines", 1, "eval report --format jsonl", evalreport.Run{})
	_ = cli.NewJSONLines("eval", evals.Version, "eval score -o, --format jsonl, and eval merge", scoreLine{})
	_ = cli.NewJSON("baseline", evals.BaselineVersion, "eval gate --update", evals.Baseline{})
)

// scoreLine is a line of a score file after the first.
type scoreLine struct {
	Run        *evals.Row        `json:"run,omitempty"`
	Unreadable *evals.Unreadable `json:"unreadable,omitempty"`
}

// writeReport writes a report and returns the exit status.
func writeReport(w *cli.World, rep *evalreport.Report, r *reportFlags) error {
	r.page.Report = rep
	lists := evalreport.Lists{Max: r.max, All: "--cases 0 lists all", HideZero: "--zeros"}
	if r.zeros {
		lists.HideZero = ""
	}
	write := map[string]func(io.Writer) error{
		"table":    func(to io.Writer) error { return printReport(w, to, rep, lists) },
		"markdown": func(to io.Writer) error { return rep.Markdown(to, lists) },
		"json":     rep.JSON,
		"jsonl":    rep.Lines,
		"csv":      rep.CSV,
		"parquet":  rep.Parquet,
		"html":     r.page.Write,
	}[r.format]
	if err := w.Output(r.out, write); err != nil {
		return err
	}
	if r.format == "html" {
		for _, note := range r.page.Notes() { // what the page omits
			w.PrintError(errors.New(note))
		}
	}
	return reportStatus(rep)
}

func reportStatus(rep *evalreport.Report) error {
	if rep.Comparison != nil {
		return comparedStatus(rep.Comparison)
	}
	return summaryStatus(rep.Summary)
}

// printReport prints tables of a report to another output.
func printReport(w *cli.World, out io.Writer, rep *evalreport.Report, l evalreport.Lists) error {
	to := *w
	to.Out, to.OutTerminal = out, w.OutTerminal && out == w.Out
	printTables(&to, rep.Tables(l))
	f := rep.Summary
	line := fmt.Sprintf("%s of %s: %s; %s", cli.Count(f.Runs, "run"), cli.Count(f.Cases, "case"), cmp.Or(rep.Counts(), "none"), countUnreadable(f.Unreadable))
	to.ResultLine(line, reportStatus(rep) == nil)
	return to.OutputError()
}

// pageFlags is the page of a report and its settings.
type pageFlags struct {
	page.Page

	megabytes int // limit of the transcripts
	size      int // limit of the transcripts of a set in bytes; negative without a page
}

// of adds the flag --transcripts.
func (p *pageFlags) of(c *cobra.Command) {
	c.Flags().IntVar(&p.megabytes, "transcripts", 32, "html: limit of transcripts in `megabytes`; failed runs come first")
}

// settle takes the settings of the report of some files.
func (p *pageFlags) settle(r *reportFlags, files []string) error {
	const most = 1024 // browsers do not open much larger pages
	if p.megabytes < 0 || p.megabytes > most {
		return fmt.Errorf("--transcripts %d: want a number of megabytes from 0 to %d", p.megabytes, most)
	}
	p.Title, p.size = strings.Join(slices.Sorted(slices.Values(files)), " "), p.megabytes<<20
	if r.against != "" {
		p.Title += " against " + r.against
		p.size /= 2
	}
	if r.format != "html" {
		p.size = -1
	}
	return nil
}

// listen collects the transcripts of a set if there is a page.
func (p *pageFlags) listen(set *runSet) *page.Runs {
	if p.size < 0 {
		return nil
	}
	transcripts := page.NewRuns(p.size)
	set.Seen = transcripts.Add
	return transcripts
}
