package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
)

func newEvalScore(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "score FILE…",
		Short: "Score recorded runs, with errors, intervals and pass^k",
		Long: `score reads recorded runs and says how well they did by each metric, and how
sure that is.

` + evalFiles + `

Of each metric it prints the number of runs that have a score, the mean, the
interval that holds it in 95 of 100 samples (of cases, since runs of a case are
alike), and pass^k, the part of cases of which k runs all succeed, for k up to
the fewest runs of a case. Runs whose score is missing or could not be made are
counted, and no part of the mean. --format json has all figures, --format jsonl
the runs, a line each.

-o writes the runs and their scores to a part. Parts that were scored one by one
come to the same as all their files at once: give them to score, or put them
together with merge. Two runs of one case and epoch are an error.

A model that grades answers from the cassette that the suite names, and never
from the network. With --record it is asked, with the key in the environment
(OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY), and the cassette is made
anew.

--resume keeps beside the part, in FILE.resume, what each file scored, until the
part is whole: the same command, once it was stopped or killed, goes on there. A
file that has changed is scored again.

` + rowFiles + `

` + evalStatus,
		Example: "  looptape eval score results.json\n  looptape eval score --format json runs/ | jq .metrics.reward.mean\n  looptape eval score --case /question --score /graded/correct rows.jsonl",
		Args:    needFiles,
	}
	format := formatFlag(c, "table", "json", "jsonl")
	out := c.Flags().StringP("output", "o", "", "the `file` to write runs and scores to")
	record := c.Flags().Bool("record", false, "ask the models that grade, and record their answers; needs their keys")
	resume := c.Flags().Bool("resume", false, "go on where the same command was broken off; needs -o")
	seed := seedFlag(c)
	var flags rowFlags
	flags.of(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		rows, err := flags.mapping(nil)
		if err != nil {
			return err
		}
		if *record && *resume {
			return errors.New("--record makes the cassettes anew, so that it cannot go on; leave out --resume")
		}
		set, err := w.setOf(args, rows, *record)
		if err != nil {
			return err
		}
		if *record && len(set.graders.tapes) == 0 {
			return errors.New("--record: no scorer asks a model; give a suite with one that has a grader with a cassette")
		}
		set.Brief = *out == "" && *format != "jsonl"
		r, err := w.scoreTo(c, set, *out, *resume)
		if err != nil {
			return err
		}
		return w.printResult(r, *format, *seed)
	}
	return c
}

// printResult prints what runs scored, and returns the exit status.
func (w *world) printResult(r *evals.Result, format string, seed uint64) error {
	f, err := r.Summary(seed)
	if err != nil {
		return err
	}
	switch format {
	case "json":
		err = printJSON(w.out, f)
	case "jsonl":
		err = r.Write(w.out)
	default:
		err = w.printFigures(f)
	}
	if err != nil {
		return err
	}
	return figuresStatus(f)
}

func figuresStatus(f *evals.Summary) error {
	failed := 0
	for _, m := range f.Metrics {
		failed += m.Errors
	}
	return scoredStatus(failed, f.Unreadable, len(f.Metrics))
}

// printFigures prints a table of figures.
func (w *world) printFigures(f *evals.Summary) error {
	tellUnreadable(w, f.Unreadable)
	if f.Runs > 0 && len(f.Metrics) == 0 {
		complain(w, errors.New("no run carries a score, such as a reward beside its messages; --score tells where else one is, and a suite file how to score what runs say"))
	}
	if err := printTables(w, evalreport.Means(f), evalreport.Resources(f)); err != nil {
		return err
	}
	line := fmt.Sprintf("%s of %s, up to %s: %s unreadable", count(f.Runs, "run"), count(f.Cases, "case"), count(f.Epochs, "epoch"), count(len(f.Unreadable), "part"))
	if n := f.Graders.Total(); n > 0 {
		line += fmt.Sprintf("; the graders took %d tokens", n)
	}
	return printVerdict(w, line, figuresStatus(f) == nil)
}
