// Package root has the root command of looptape.
package root

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/looptape/looptape/cmd/looptape/internal/cassette"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/demo"
	"github.com/looptape/looptape/cmd/looptape/internal/eval"
	"github.com/looptape/looptape/cmd/looptape/internal/project"
	"github.com/looptape/looptape/cmd/looptape/internal/runs"
	"github.com/looptape/looptape/cmd/looptape/internal/serve"
)

// New returns the command with all its commands.
func New(w *cli.World) *cobra.Command {
	root := &cobra.Command{
		Use:   "looptape",
		Short: "Test agent loops: run, serve, record, check and score them",
		Long: `looptape tests agent loops. It runs scripted models and tools without a network,
and serves them over HTTP to a program in any language. It records and replays
the HTTP requests of a program. It checks recorded runs against invariants,
scores them, and converts a recorded run into a scenario that repeats it.

Exit status: 0 if every check held, 1 if a check failed, 2 for wrong usage or
input that cannot be read (1 if both apply).`,
		Version: w.Version(),
		Args:    cobra.NoArgs,
		RunE:    cli.NeedCommand,
	}
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if name := renamedFlag(err); name != "" {
			return fmt.Errorf("%w: use --%s; see %s --help", err, name, c.CommandPath())
		}
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(demo.New(w), runs.NewRun(w), runs.NewCheck(w), runs.NewTrace(w), runs.NewScenario(w), runs.NewExplore(w), serve.New(w), serve.NewRecord(w), serve.NewReplay(w), cassette.New(w), eval.New(w), project.New(w))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = cli.NeedCommand // cobra's own prints its help and exits with 0
		}
	}
	return root
}

// renamedFlag returns the new name of a renamed flag that err reports as unknown, or "".
func renamedFlag(err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	return map[string]string{
		"buffered": "non-streaming",
		"opaque":   "not-secret",
		"pace":     "delay-factor",
		"reseal":   "update-checksums",
		"volatile": "ignore",
	}[unknown.GetSpecifiedName()]
}
