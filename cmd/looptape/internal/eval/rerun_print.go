package eval

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/internal/tabular"
)

// printTools prints the reruns with tools and returns the last line.
func printTools(w *cli.World, r *rerun.ToolsReport) (line string) {
	var rows [][]string
	for _, l := range r.Runs {
		if l.Error != "" {
			w.PrintError(errors.New(l.Error))
		}
		for _, c := range l.Calls {
			for _, text := range c.Describe() {
				rows = append(rows, append(whichRun(l.Case, l.Epoch, l.Run), strconv.Itoa(c.Step), c.Tool, c.Status, text))
			}
		}
	}
	printFilled(w, []string{"case", "epoch", "run", "step", "tool", "status", "difference"}, mostOf(rows))
	var tools [][]string
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		c := r.Tools[name]
		tools = append(tools, []string{name, tabular.Count(c.Same), tabular.Count(c.Differs), tabular.Count(c.Failed), tabular.Count(c.Unrecorded), tabular.Count(c.Recorded)})
	}
	printFilled(w, []string{"tool", "same", "differs", "failed", "unrecorded", "not run"}, tools)
	return fmt.Sprintf("%s, %s; %s", cli.Count(len(r.Runs), "run"), r.Summary(), countUnreadable(r.Unreadable))
}

// whichRun identifies a run in a table by its case and epoch (empty if 0), or by its name if
// the recording has no epoch.
func whichRun(name string, epoch int, run string) []string {
	const width = 40
	name = tabular.Short(name, width)
	if epoch < 0 {
		return []string{name, "", run}
	}
	return []string{name, tabular.Count(epoch), ""}
}

// mostOf returns the first rows of a table of calls or responses and the number of others.
func mostOf(rows [][]string) [][]string {
	const most = 30
	if len(rows) <= most {
		return rows
	}
	more := make([]string, len(rows[0]))
	more[len(more)-1] = fmt.Sprintf("%d more lines; --format json prints all", len(rows)-most)
	return append(rows[:most], more)
}

// printModel prints the reruns with a model and returns the last line.
func printModel(w *cli.World, r *rerun.ModelReport) (line string) {
	var rows [][]string
	reworded := 0
	for _, l := range r.Runs {
		reworded += l.Reworded
		if l.Error != "" {
			w.PrintError(errors.New(l.Run + ": " + l.Error))
		}
		if l.Divergence != nil {
			rows = append(rows,
				append(whichRun(l.Case, l.Epoch, l.Run), strconv.Itoa(l.Divergence.Step), "diverged", l.Divergence.Why),
				[]string{"", "", "", strconv.Itoa(l.Divergence.RecordedStep), "recorded", l.Divergence.Recorded.String()},
				[]string{"", "", "", strconv.Itoa(l.Divergence.Step), "new", l.Divergence.Now.String()})
		}
	}
	printFilled(w, []string{"case", "epoch", "run", "step", "status", "response"}, mostOf(rows))
	return fmt.Sprintf("%s: %d followed the recording, %d diverged, %d failed; %d reworded, %s", cli.Count(len(r.Runs), "run"), r.Paths[rerun.PathSame], r.Paths[rerun.PathDiverged], r.Paths[rerun.PathFailed], reworded, countUnreadable(r.Unreadable))
}
