package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

func newScenario(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "scenario",
		Short: "Make scenarios",
		Args:  cobra.NoArgs,
		RunE:  needCommand,
	}
	c.AddCommand(newScenarioFrom(w))
	return c
}

func newScenarioFrom(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "from FILE",
		Short: "Make a recorded run a scenario that repeats it",
		Long: `from reads a recorded run (a trace, a message list, a tau-bench result) and
prints a scenario whose models and tools say again what they said then. Of a
trace, the recorded trace is what the scenario expects; of a message list, the
turns after the last user message are its script, and nothing is expected yet.

What a scenario cannot hold is listed in the first lines of the file.

Exit status: 0, or 2 if there is no such run or it cannot be read.`,
		Example: "  looptape scenario from --run r7 --out r7.txtar failed.jsonl\n  looptape run r7.txtar",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s needs one file, or -; see %s --help", c.CommandPath(), c.CommandPath())
			}
			return nil
		},
	}
	run := c.Flags().String("run", "", "the run of this `name`; the first if none is given")
	to := c.Flags().StringP("out", "o", "", "write to this `file` instead of standard output")
	c.RunE = func(_ *cobra.Command, args []string) error {
		made, err := w.scenarioFrom(args[0], *run)
		if err != nil {
			return err
		}
		if *to != "" {
			return os.WriteFile(*to, made, 0o644) //nolint:gosec // a test file, made to be read
		}
		_, err = w.out.Write(made)
		return err
	}
	return c
}

// scenarioFrom makes a scenario of one run of a file.
func (w *world) scenarioFrom(name, run string) (made []byte, err error) {
	f, err := w.openFile(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = closeAfter(f, err) }()
	src, err := importer.Open(name, f)
	if err != nil {
		return nil, err
	}
	if src.Format != importer.FormatTrace {
		for r, err := range src.Runs() {
			if err != nil && run == "" {
				return nil, err
			}
			if err == nil && (run == "" || r.Name == run) {
				return scenario.FromMessages(r.Name, r.Messages)
			}
		}
		return nil, fmt.Errorf("%s: there is no run %q", name, run)
	}
	var events []trace.Event
	for ev, err := range src.Events() {
		if err != nil {
			return nil, err
		}
		if run == "" {
			run = ev.Run
		}
		if ev.Run == run {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("%s: there is no run %q", name, run)
	}
	return scenario.FromTrace(events)
}

// readAll reads a whole file.
func (w *world) readAll(name string) (b []byte, err error) {
	f, err := w.openFile(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = closeAfter(f, err) }()
	return io.ReadAll(f)
}
