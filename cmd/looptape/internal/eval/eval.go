// Package eval contains the commands that score, compare, gate, report and rerun recorded runs.
package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/internal/tabular"
	"github.com/looptape/looptape/trace/importer"
)

// New returns the command eval.
func New(w *cli.World) *cobra.Command {
	return cli.Group("eval", "Score, compare and gate recorded runs", newScore(w), newCompare(w), newGate(w), newMerge(w), newPower(w), newReport(w), newRerun(w), newTrend(w))
}

// evalFiles describes the input files in the help of the commands.
const evalFiles = `A set of runs is a recording with scores (such as a tau-bench result, or message
lists with a reward or a score next to the messages), a score file from score
-o, or a folder with such files. In a folder, files in other formats are
skipped. The format is detected from the content, and files may be compressed; -
is standard input. A set may also be a suite file (YAML), which names the runs
and their scorers.`

// rowFiles describes rows in the help of the commands.
const rowFiles = `With --case, --epoch, --cluster or --score the files contain rows of any shape:
JSON Lines, a JSON array or CSV. JSON pointers select the values; a column of
CSV is /NAME.`

// evalStatus describes the exit status in the help of the commands.
const evalStatus = `Exit status: 0; 1 if a scorer failed; else 2 if a record could not be read, or
if no run has a score.`

// seedFlag adds the flag --seed.
func seedFlag(c *cobra.Command) *uint64 {
	return c.Flags().Uint64("seed", 0, "seed of bootstrap intervals and of permutations of many cases")
}

// needPositive rejects flags that are set to 0, for which the default would be used.
func needPositive(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "0" {
			return cli.UsageError(c, "--%s 0: want more than 0", name)
		}
	}
	return nil
}

// rowFlags are the flags that select values in rows.
type rowFlags struct {
	at     importer.Mapping
	scores []string
	// dataset is the file of what is expected of each case. With zero, missing and failed scores count as 0.
	// tag selects cases.
	dataset, tag string
	zero         bool
	hosts        []string // of suites that get keys of providers
	programs
}

// programs are the flags for programs that a suite names.
type programs struct {
	allow bool
	names []string // of environment variables
}

// of adds the flags to a command.
func (p *programs) of(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&p.allow, "allow-programs", false, "start the programs that the suite names")
	f.StringArrayVar(&p.names, "program-env", nil, "environment `variable` that these programs get, too (repeatable)")
}

// environ returns the environment for programs; nil means that there may be none.
func (p *programs) environ(w *cli.World) []string {
	if !p.allow {
		return nil
	}
	return append([]string{}, w.Environ()...)
}

// of adds the flags to a command.
func (r *rowFlags) of(c *cobra.Command) {
	r.programs.of(c)
	f := c.Flags()
	f.StringVar(&r.at.Case, "case", "", "rows: JSON `pointer` to the case, such as /question")
	f.StringVar(&r.at.Epoch, "epoch", "", "rows: JSON `pointer` to the epoch")
	f.StringVar(&r.at.Cluster, "cluster", "", "rows: JSON `pointer` to the cluster of a case, such as /document")
	f.StringVar(&r.dataset, "dataset", "", "`file` with what is expected of each case, and tags: JSON Lines, CSV, YAML or an ADK eval set")
	f.BoolVar(&r.zero, "missing-as-zero", false, "count missing and failed scores as 0, also those of cases of the dataset without a run")
	f.StringVar(&r.tag, "tag", "", "count only the cases with this `tag` of the dataset")
	f.StringArrayVar(&r.scores, "score", nil, "rows: JSON `pointer` to a score, or NAME=pointer (repeatable)")
}

// set returns the set of runs of a suite or of files, with graders that may record.
func (r *rowFlags) set(w *cli.World, names []string, g graders) (*runSet, error) {
	rows, err := r.mapping(nil)
	if err != nil {
		return nil, err
	}
	return setOf(w, names, rows, g, r)
}

// mapping returns the mapping of the flags and of more score pointers; nil if there is none.
func (r *rowFlags) mapping(more []string) (*importer.Mapping, error) {
	scores := map[string]string{}
	for _, text := range slices.Concat(r.scores, more) {
		name, rest, ok := strings.Cut(text, "=/")
		at := "/" + rest
		if !ok {
			name, at = "score", text
		}
		if scores[name] != "" {
			return nil, fmt.Errorf("duplicate score name %q at %s and %s: set names with NAME=/pointer", name, scores[name], at)
		}
		scores[name] = at
	}
	if r.at.Case+r.at.Epoch+r.at.Cluster == "" && len(scores) == 0 {
		return nil, nil
	}
	m := r.at
	m.Scores = scores
	return &m, nil
}

// scoredStatus returns the exit status for the numbers of failed scores, unreadable records
// and metrics.
func scoredStatus(failed int, unread []evals.Unreadable, metrics int) error {
	return cli.Result(failed > 0, len(unread) > 0 || metrics == 0)
}

// countUnreadable describes the number of unreadable records in a last line.
func countUnreadable(list []evals.Unreadable) string {
	return cli.Count(len(list), "unreadable record")
}

// printFilled prints a table without empty columns.
func printFilled(w *cli.World, header []string, rows [][]string) {
	w.Table(tabular.Filled(header, rows))
}

// printTables prints tables of a report.
func printTables(w *cli.World, tables []evalreport.Table) {
	for _, t := range tables {
		w.Table(t.Header, t.Rows)
	}
}
