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
		Short: "Create scenarios",
		Args:  cobra.NoArgs,
		RunE:  needCommand,
	}
	c.AddCommand(newScenarioFrom(w))
	return c
}

func newScenarioFrom(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "from FILE",
		Short: "Create a scenario from a recorded run",
		Long: `from reads a recorded run (a trace, a message list, a tau-bench result) and
prints a scenario whose models and tools repeat the recorded responses and
results. A trace becomes the expected trace of the scenario. For a message list,
the messages after the last user message become the script, without an expected
trace.

The first lines of the file list what a scenario cannot represent.

Exit status: 0, or 2 if the run is not found or cannot be read.`,
		Example: "  looptape scenario from --run r7 --out r7.txtar failed.jsonl\n  looptape run r7.txtar",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s needs one file, or -; see %s --help", c.CommandPath(), c.CommandPath())
			}
			return nil
		},
	}
	run := c.Flags().String("run", "", "`name` of the run (default: the first run)")
	to := c.Flags().StringP("out", "o", "", "output `file` (default: standard output)")
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

// scenarioFrom creates a scenario from one run of a file.
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
	if src.Format.Name != "trace" {
		for r, err := range src.Runs() {
			if err != nil && run == "" {
				return nil, err
			}
			if err == nil && (run == "" || r.Name == run) {
				return scenario.FromMessages(r.Name, r.Messages)
			}
		}
		return nil, fmt.Errorf("%s: run %q not found", name, run)
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
		return nil, fmt.Errorf("%s: run %q not found", name, run)
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
