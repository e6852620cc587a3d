package runs

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// NewScenario returns the command scenario.
func NewScenario(w *cli.World) *cobra.Command {
	return cli.Group("scenario", "Create scenarios", newScenarioFrom(w))
}

func newScenarioFrom(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "from FILE",
		Short: "Create a scenario from a recorded run",
		Long: `from reads a recorded run (a trace, a message list, a conversation in a
recording of HTTP) and prints a scenario whose models and tools repeat the
recorded responses and results. A trace becomes the expected trace of the
scenario. From other recordings, the messages after the last user message with a
response become the script, without an expected trace. A conversation has the
name of its first request, such as interaction-1.

The first lines of the file list what a scenario cannot represent.

Exit status: 0, or 2 if the run is not found or cannot be read. It is also 2 if
another line, record or request to a model of the file cannot be read, which may
be one of the run: from prints all of them, and the scenario without them.
Unknown parts of other runs are no error; check lists them.`,
		Example: "  looptape scenario from --run r7 --out r7.txtar failed.jsonl\n  looptape run r7.txtar",
		Args:    cli.NeedArguments(1, "one file, or -"),
	}
	run := c.Flags().String("run", "", "`name` of the run (default: the first run)")
	var to string
	cli.OutputFlag(c, &to, "out", "output `file` (default: standard output)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		made, err := scenarioFrom(w, args[0], *run)
		if made == nil {
			return err
		}
		return cmp.Or(w.Output(to, func(out io.Writer) error {
			_, err := out.Write(made)
			return err
		}), err)
	}
	return c
}

// scenarioFrom creates a scenario from one run of a file. The scenario is complete as far as the file can be read if it also
// returns an error.
func scenarioFrom(w *cli.World, name, run string) (made []byte, err error) {
	err = open(w, name, func(src *importer.Source) error {
		if src.Format.Name == "trace" {
			made, err = fromTrace(src, name, run)
			return err
		}
		var names []string
		var unread []error // of what may be of this run
		for r, err := range src.Conversations() {
			names = append(names, r.Name)
			switch isOther := made != nil || run != "" && r.Name != run; {
			case isOther && err != nil && !(src.Format.HTTP && r.Messages != nil): // else it is of another conversation
				unread = append(unread, err)
			case isOther:
			case err != nil:
				return err
			case len(r.Unknown) > 0:
				return r.Unknown[0]
			default:
				if made, err = scenario.FromMessages(r.Name, r.Messages); err != nil {
					return err
				}
			}
		}
		if made != nil {
			return printAllButLast(w, unread)
		}
		if names == nil {
			return notFound(name, run)
		}
		const most = 5
		if len(names) > most {
			names = append(names[:most], "…")
		}
		return fmt.Errorf("%w: the runs are %s", notFound(name, run), strings.Join(names, ", "))
	})
	return made, err
}

// printAllButLast prints the errors except the last one, and returns that; nil if there are none.
func printAllButLast(w *cli.World, errs []error) (last error) {
	for _, err := range errs {
		if last != nil {
			w.PrintError(last)
		}
		last = err
	}
	return last
}

func fromTrace(src *importer.Source, name, run string) ([]byte, error) {
	var events []trace.Event
	for ev, err := range src.Events() {
		if err != nil {
			return nil, err
		}
		run = cmp.Or(run, ev.Run)
		if ev.Run == run {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return nil, notFound(name, run)
	}
	return scenario.FromTrace(events)
}
