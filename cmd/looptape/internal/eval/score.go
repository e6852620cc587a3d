package eval

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/evals/stats"
)

func newScore(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "score FILE…",
		Short: "Score recorded runs, with errors, intervals and pass^k",
		Long: `score reads recorded runs and prints the mean and the uncertainty of each
metric.

` + evalFiles + `

For each metric it prints the number of scored runs, the mean, its 95 %
confidence interval (clustered by case, because runs of a case are correlated)
and pass^k: the share of cases whose k runs all pass, for k up to the fewest
runs of a case. It counts runs with a missing or failed score and does not
include them in the mean. --format json prints all values, --format jsonl one
run per line.

-o writes the runs and their scores to a score file. Several score files give
the same result as all their runs together: pass them to score, or combine them
with merge. Two runs of one case and epoch are an error.

A grading model uses the cassette that the suite names, and never the network.
With --record, score sends requests with the key in the environment
(OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY) and replaces the cassette.
A server in a base_url of the suite gets the key only with --key-host, or if it
is on this machine.
It reads all runs first: if a record cannot be read or a run occurs twice, it
sends no request. After an interruption the same command asks only for the
rest. --record missing asks only for what the cassette does not contain, such as
the grades of a changed answer, and for what failed. Before, it prints the
number of requests and an estimate of their input tokens, after that the used
tokens, and both with their cost by --price.

--labels compares scores with labels of people: how often they agree, Cohen's
kappa, and for scores of 0 and 1 the mean corrected for the grader's errors. A
row has the case, the epoch if the case has several runs, the metric and the
label. Labels of no run are listed, and the exit status is 2.

--resume stores the scores of each finished file in FILE.resume until the score
file is complete. After an interruption the same command continues there. It
scores a changed file again.

` + rowFiles + `

` + evalStatus,
		Example: "  looptape eval score results.json\n  looptape eval score --format json runs/ | jq .metrics.reward.mean\n  looptape eval score --case /question --score /graded/correct rows.jsonl",
		Args:    cli.NeedFiles,
	}
	format := cli.FormatFlag(c, "table", "json", "jsonl")
	var out string
	cli.OutputFlag(c, &out, "output", "score `file` to write")
	var record recordMode
	record.of(c)
	priced := c.Flags().StringArray("price", nil, "prices of a million input and output tokens of a grading model, as `MODEL=INPUT,OUTPUT` (repeatable)")
	var labels string
	labelsFlag(c, &labels)
	resume := c.Flags().Bool("resume", false, "continue an interrupted command; needs -o")
	seed := seedFlag(c)
	var flags rowFlags
	flags.of(c)
	c.Flags().StringArrayVar(&flags.hosts, "key-host", nil, "--record: `host` of a base_url in the suite that gets the key of the provider (repeatable)")
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := record.parse(args)
		err = cmp.Or(err, rejectUnused(c,
			unused{record == "", "without --record: add it, or remove the flag", []string{"key-host", "price"}},
			unused{*format != "json", "without --format json, which has bootstrap intervals", []string{"seed"}},
			unused{*format == "jsonl", "with --format jsonl, which has no statistics", []string{"labels"}}))
		switch err = cmp.Or(err, rejectPrograms(c, args...)); {
		case err != nil:
			return err
		case record != "" && *resume:
			return errors.New("--record continues an interrupted recording by itself: remove --resume")
		case record != "" && flags.tag != "":
			return errors.New("--record records the responses for all cases: remove --tag")
		}
		of, err := parsePrices(*priced)
		if err != nil {
			return err
		}
		var plan *recordingPlan
		if record != "" {
			if plan, err = planRecording(w, c, args, &flags, record); err != nil {
				return err
			}
			plan.printEstimate(w, of)
			defer plan.printUsed(w, of)
		}
		set, err := flags.set(w, args, graders{record: record, meter: plan})
		if err != nil {
			return err
		}
		set.Brief = out == "" && *format != "jsonl"
		r, err := scoreTo(w, c, set, out, *resume)
		if err != nil {
			return err
		}
		return printResult(w, r, *format, *seed, labels)
	}
	return c
}

// labelsFlag adds the flag --labels.
func labelsFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "labels", "", "`file` with labels of people: JSON Lines, CSV or YAML")
}

// addLabels compares a summary with the labels of a file, if there is one. It returns those that were not read.
func addLabels(w *cli.World, f *evals.Summary, r *evals.Result, name string) (unread []evals.Unreadable, err error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	labels, err := evals.ReadLabels(name, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(labels.Ignored) > 0 {
		w.Warn("the labels have members that nothing reads: %s", strings.Join(labels.Ignored, ", "))
	}
	if unread, err = f.AddLabels(r, labels); err != nil {
		return nil, err
	}
	for _, metric := range slices.Sorted(maps.Keys(f.Labels)) {
		for _, note := range f.Labels[metric].Notes {
			w.Warn("labels of %s: %s", metric, note)
		}
	}
	return unread, nil
}

// printResult prints the scores of runs and returns the exit status.
func printResult(w *cli.World, r *evals.Result, format string, seed uint64, labels string) error {
	var bootstrap *stats.Resampling // only JSON shows it
	if format == "json" {
		bootstrap = &stats.Resampling{Seed: seed}
	}
	f, err := r.Summary(bootstrap)
	if err == nil {
		_, err = addLabels(w, f, r, labels)
	}
	if err != nil {
		return err
	}
	if format == "jsonl" {
		return cmp.Or(r.Write(w.Out), summaryStatus(f))
	}
	return printSummary(w, f, format)
}

func summaryStatus(f *evals.Summary) error {
	failed, scored := 0, 0
	for _, m := range f.Metrics {
		failed += m.Errors
		if m.N > m.Zeros || m.Errors > 0 {
			scored++
		}
	}
	return scoredStatus(failed, f.Unreadable, scored)
}

var scoreJSON = cli.NewJSON("score", 1, "eval score --format json", evals.Summary{})

// printSummary prints the statistics and returns the exit status.
func printSummary(w *cli.World, f *evals.Summary, format string) error {
	return cli.Report(w, format, scoreJSON.Of(*f), f.Unreadable, func() string { return printSummaryTables(w, f) }, summaryStatus(f))
}

// printSummaryTables prints the statistics as tables and returns the last line.
func printSummaryTables(w *cli.World, f *evals.Summary) (line string) {
	if f.Runs > 0 && len(f.Metrics) == 0 {
		w.Warn("no run has a score, such as a reward next to its messages: select scores with --score, or use a suite file with scorers")
	}
	printTables(w, evalreport.SummaryTables(f))
	line = fmt.Sprintf("%s of %s, up to %s: %s", cli.Count(f.Runs, "run"), cli.Count(f.Cases, "case"), cli.Count(f.Epochs, "epoch"), countUnreadable(f.Unreadable))
	line += zeros(f)
	if n := f.Graders.Total(); n > 0 {
		line += fmt.Sprintf("; %d grader tokens", n)
	}
	return line
}

// zeros describes, in the last line, what counts as 0.
func zeros(f *evals.Summary) string {
	if !f.MissingAsZero {
		return ""
	}
	n := 0
	for _, m := range f.Metrics {
		n += m.Zeros
	}
	return fmt.Sprintf("; %s and %s without a run as 0", cli.Count(n, "missing or failed score"), cli.Count(len(f.WithoutRun), "case"))
}
