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

// printToolsReport prints the results of rerun tools and returns the exit status.
func printToolsReport(w *cli.World, r *rerun.ToolsReport, format string) error {
	var err error
	switch format {
	case "json":
		err = w.JSON(r)
	case "jsonl": // printed run by run before
		cli.PrintErrors(w, r.Unreadable)
	default:
		err = printToolsTables(w, r)
	}
	if err != nil {
		return err
	}
	return rerunStatus(r.Differs(), len(r.Unreadable), len(r.Runs))
}

// rerunStatus returns the exit status of reruns. Differs means that one differs from the recording.
func rerunStatus(differs bool, unreadable, runs int) error {
	switch {
	case differs:
		return cli.Failed
	case unreadable > 0 || runs == 0:
		return cli.Usage
	}
	return nil
}

func printToolsTables(w *cli.World, r *rerun.ToolsReport) error {
	cli.PrintErrors(w, r.Unreadable)
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
	if err := printFilled(w, []string{"case", "epoch", "run", "step", "tool", "status", "difference"}, mostOf(rows)); err != nil {
		return err
	}
	var tools [][]string
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		c := r.Tools[name]
		tools = append(tools, []string{name, tabular.Count(c.Same), tabular.Count(c.Differs), tabular.Count(c.Failed), tabular.Count(c.Unrecorded), tabular.Count(c.Recorded)})
	}
	if err := printFilled(w, []string{"tool", "same", "differs", "failed", "unrecorded", "not run"}, tools); err != nil {
		return err
	}
	line := fmt.Sprintf("%s, %s; %s", cli.Count(len(r.Runs), "run"), r.Summary(), cli.Count(len(r.Unreadable), "unreadable record"))
	return w.ResultLine(line, rerunStatus(r.Differs(), len(r.Unreadable), len(r.Runs)) == nil)
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

// print prints the results of another model and returns the exit status.
func (m *otherModel) print(format string) error {
	r := m.report
	result := rerunStatus(r.Diverged(), len(r.Unreadable), len(r.Runs))
	switch format {
	case "json":
		if err := m.w.JSON(r); err != nil {
			return err
		}
		return result
	case "jsonl": // printed run by run before
		cli.PrintErrors(m.w, r.Unreadable)
		return result
	}
	cli.PrintErrors(m.w, r.Unreadable)
	var rows [][]string
	reworded := 0
	for _, l := range r.Runs {
		reworded += l.Reworded
		if l.Error != "" {
			m.w.PrintError(errors.New(l.Run + ": " + l.Error))
		}
		if l.Divergence != nil {
			rows = append(rows,
				append(whichRun(l.Case, l.Epoch, l.Run), strconv.Itoa(l.Divergence.Step), "diverged", l.Divergence.Why),
				[]string{"", "", "", strconv.Itoa(l.Divergence.RecordedStep), "recorded", l.Divergence.Recorded.String()},
				[]string{"", "", "", strconv.Itoa(l.Divergence.Step), "new", l.Divergence.Now.String()})
		}
	}
	if err := printFilled(m.w, []string{"case", "epoch", "run", "step", "status", "response"}, mostOf(rows)); err != nil {
		return err
	}
	text := fmt.Sprintf("%s: %d followed the recording, %d diverged, %d failed; %d reworded, %s", cli.Count(len(r.Runs), "run"), r.Paths[rerun.PathSame], r.Paths[rerun.PathDiverged], r.Paths[rerun.PathFailed], reworded, cli.Count(len(r.Unreadable), "unreadable record"))
	if err := m.w.ResultLine(text, result == nil); err != nil {
		return err
	}
	return result
}
