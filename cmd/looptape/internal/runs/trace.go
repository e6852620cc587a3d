package runs

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// NewTrace returns the command trace.
func NewTrace(w *cli.World) *cobra.Command {
	return cli.Group("trace", "Show and compare traces", newTraceShow(w), newTraceDiff(w))
}

// form selects and converts events.
type form struct {
	run                string // only this run; empty means all
	canonical, project bool
}

func (f *form) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.run, "run", "", "only the run with this `name`")
	c.Flags().BoolVar(&f.project, "project", false, "canonical form without data that differs between providers")
}

func (f *form) apply(events []trace.Event) []trace.Event {
	switch {
	case f.project:
		return trace.Project(events)
	case f.canonical:
		return trace.Canonical(events)
	}
	return events
}

func newTraceShow(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "show FILE…",
		Short: "Print traces as text, one event per line",
		Long: `show prints the events of traces, one per line. - reads standard input.

Exit status: 0, or 2 if a record could not be read; show prints the others.`,
		Args: cli.NeedFiles,
	}
	var f form
	f.flags(c)
	c.Flags().BoolVar(&f.canonical, "canonical", false, "canonical form: parallel events in call order, runs renamed, no real times")
	format := cli.FormatFlag(c, "text", "jsonl")
	c.RunE = func(_ *cobra.Command, args []string) error {
		complete := true
		for _, name := range args {
			events, err := readTrace(w, name, f.run)
			if err != nil {
				w.PrintError(err)
				complete = false
			}
			printEvents(w, f.apply(events), *format)
		}
		return cli.Result(false, !complete)
	}
	return c
}

func newTraceDiff(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Print the first difference of two traces",
		Long: `diff compares the canonical forms of two traces and prints the first difference
with its context. Lines with - are from A, lines with + from B.

Exit status: 0 if they are equal, 1 if they differ, 2 if one of them cannot be
read completely.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.UsageError(c, "needs two files, one of which may be -")
			}
			return cli.NeedFiles(c, args)
		},
	}
	f := form{canonical: true}
	f.flags(c)
	format := cli.FormatFlag(c, "text", "json")
	c.RunE = func(_ *cobra.Command, args []string) error {
		var sides [2][]trace.Event
		for i, name := range args {
			events, err := readTrace(w, name, f.run)
			if err != nil {
				return err
			}
			sides[i] = f.apply(events)
		}
		d, found := diff(sides[0], sides[1])
		printDifference(w, d, found, *format)
		return cli.Result(found, false)
	}
	return c
}

// open calls read with an opened recording.
func open(w *cli.World, name string, read func(*importer.Source) error) error {
	f, err := w.Open(name)
	if err != nil {
		return err
	}
	src, err := importer.Open(name, f)
	if err == nil {
		err = read(src)
	}
	return errors.Join(err, f.Close())
}

// readTrace returns the readable events of a trace, or of one of its runs, and all errors.
func readTrace(w *cli.World, name, run string) (events []trace.Event, err error) {
	err = open(w, name, func(src *importer.Source) error {
		if src.Format.Name != "trace" {
			return fmt.Errorf("%s: not a trace: %s has no events: use looptape check", name, src.Format.Name)
		}
		var errs []error
		for ev, err := range src.Events() {
			if err != nil {
				errs = append(errs, err)
			} else if run == "" || ev.Run == run {
				events = append(events, ev)
			}
		}
		if run != "" && len(events) == 0 {
			errs = append(errs, notFound(name, run))
		}
		return errors.Join(errs...)
	})
	return events, err
}

func notFound(name, run string) error { return fmt.Errorf("%s: run %q not found", name, run) }

func printEvents(w *cli.World, events []trace.Event, format string) {
	if format == "text" {
		w.Print([]byte(trace.FormatText(events)))
		return
	}
	var line []byte
	for i := range events {
		line = append(events[i].AppendJSON(line[:0]), '\n')
		w.PrintBytes(visible.JSON(line))
	}
}

// diffResult is the output of diff --format json.
type diffResult struct {
	Same  bool   `json:"same"`
	Event int    `json:"event"` // index of the first events that differ; -1 if none
	Text  string `json:"text,omitempty"`
}

var diffJSON = cli.NewJSON("diff", 1, "trace diff --format json", diffResult{})

// printDifference prints a difference. As text, equal traces give no output.
func printDifference(w *cli.World, d difference, found bool, format string) {
	switch {
	case format != "json" && found:
		w.Print([]byte(d.String()))
	case format != "json":
	case found:
		w.JSON(diffJSON.Of(diffResult{Event: d.Index, Text: d.Text}))
	default:
		w.JSON(diffJSON.Of(diffResult{Same: true, Event: -1}))
	}
}
