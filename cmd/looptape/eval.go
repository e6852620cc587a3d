package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals"
	evalreport "github.com/looptape/looptape/evals/report"
	"github.com/looptape/looptape/trace/importer"
)

func newEval(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "eval",
		Short: "Say how well recorded runs did, and how sure that is",
		Args:  cobra.NoArgs,
		RunE:  needCommand,
	}
	c.AddCommand(newEvalScore(w), newEvalCompare(w), newEvalGate(w), newEvalMerge(w), newEvalPower(w), newEvalReport(w), newEvalRerun(w))
	return c
}

// evalFiles are the files that the commands read, for their help.
const evalFiles = `A set of runs is a recording that carries their scores (such as a tau-bench
result, or message lists with a reward or a score beside the messages), a part
that score -o wrote, or a folder, which is searched for both. What is no
recording in a folder is passed over. Files are told apart by their content and
may be compressed; - is standard input. Instead of all that it may be a suite
file (YAML), which says where runs are and how they are scored.`

// rowFiles are rows, for their help.
const rowFiles = `With --case, --epoch, --cluster or --score the files are rows of any shape, in
JSON Lines, an array or CSV. A JSON pointer tells what is where; a column of CSV
is /NAME.`

// evalStatus is the exit status of the commands, for their help.
const evalStatus = `Exit status: 0; 1 if a score could not be made; else 2 if anything could not be
read, or if no run has a score.`

// seedFlag gives a command the flag --seed.
func seedFlag(c *cobra.Command) *uint64 {
	return c.Flags().Uint64("seed", 0, "where what is random starts: bootstrap intervals, and permutations of many cases")
}

// rowFlags are the flags that tell what is where in rows.
type rowFlags struct {
	at     importer.Mapping
	scores []string
}

// of gives a command the flags.
func (r *rowFlags) of(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.at.Case, "case", "", "rows: the JSON `pointer` to the case, such as /question")
	f.StringVar(&r.at.Epoch, "epoch", "", "rows: the `pointer` to the epoch")
	f.StringVar(&r.at.Cluster, "cluster", "", "rows: the `pointer` to what cases have in common, such as /document")
	f.StringArrayVar(&r.scores, "score", nil, "rows: the `pointer` to a score, or NAME=pointer; may be repeated")
}

// mapping is what the flags and more pointers to scores tell; nil if nothing.
func (r *rowFlags) mapping(more []string) (*importer.Mapping, error) {
	scores := map[string]string{}
	for _, text := range slices.Concat(r.scores, more) {
		name, rest, ok := strings.Cut(text, "=/")
		at := "/" + rest
		if !ok {
			name, at = "score", text
		}
		if scores[name] != "" {
			return nil, fmt.Errorf("two scores are named %q, at %s and %s; give them names, as in NAME=/pointer", name, scores[name], at)
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

// gatherer gathers the files to score.
type gatherer struct {
	meter meter
	list  []evals.Input
}

// gather takes a file, or the files in a folder but for hidden ones.
func (g *gatherer) gather(name string) error {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		g.add(name, false)
		return nil //nolint:nilerr // reading it tells
	}
	before := len(g.list)
	err := fs.WalkDir(os.DirFS(name), ".", func(path string, e fs.DirEntry, err error) error {
		hidden := path != "." && strings.HasPrefix(e.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && e.IsDir():
			return fs.SkipDir
		case !hidden && !e.IsDir():
			g.add(filepath.Join(name, path), true)
		}
		return nil
	})
	if err == nil && len(g.list) == before {
		err = fmt.Errorf("%s: there is no file in this folder", name)
	}
	return err
}

// add adds a file. What was found and is none, such as a pipe, is left.
func (g *gatherer) add(name string, found bool) {
	if info, err := os.Stat(name); err == nil {
		if found && !info.Mode().IsRegular() {
			return
		}
		g.meter.size += info.Size()
	}
	g.list = append(g.list, evals.Input{Name: name, Found: found, Open: func() (io.ReadCloser, error) { return g.meter.open(name) }})
}

// tellUnreadable tells what could not be read.
func tellUnreadable(w *world, list []evals.Unreadable) {
	for _, u := range list {
		complain(w, errors.New(u.String()))
	}
}

// scoredStatus is the exit status for scores that could not be made, runs that could not
// be read, and metrics.
func scoredStatus(failed int, unread []evals.Unreadable, metrics int) error {
	switch {
	case failed > 0:
		return status(statusBroken)
	case len(unread) > 0 || metrics == 0:
		return status(statusUsage)
	}
	return nil
}

// printFilled is printTable without the columns in which nothing stands.
func printFilled(w *world, header []string, rows [][]string) error {
	return printTables(w, evalreport.Filled(header, rows))
}

// printTables prints tables of a report.
func printTables(w *world, tables ...evalreport.Table) error {
	for _, t := range tables {
		if err := printTable(w, t.Header, t.Rows); err != nil {
			return err
		}
	}
	return nil
}
