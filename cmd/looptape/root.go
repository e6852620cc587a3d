package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// world is everything outside the process that the command uses.
type world struct {
	in       io.Reader
	out, err io.Writer
	env      func(name string) string
	now      func() time.Time
	// inTerm, outTerm and errTerm report whether in, out and err are terminals.
	inTerm, outTerm, errTerm bool
	versions                 *debug.BuildInfo // nil if unknown
	environ                  func() []string  // for programs that the command starts
	// interrupted returns a context that ends when the command receives a signal to stop.
	interrupted func(context.Context) (context.Context, context.CancelFunc)
}

// color reports whether the output may be colored; see no-color.org.
func (w *world) color() bool {
	return w.outTerm && w.env("NO_COLOR") == "" && w.env("TERM") != "dumb"
}

// The exit statuses.
const (
	statusOK     = 0
	statusFailed = 1 // a check failed
	statusUsage  = 2 // wrong usage, or input that cannot be read
)

// status is an error with an exit status. Its message was printed before.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// execute runs one command line and returns the exit status.
func execute(args []string, w *world) int {
	root := newRoot(w)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return statusOK
	}
	if s, ok := errors.AsType[status](err); ok {
		return int(s)
	}
	reportError(w, err)
	return statusUsage
}

// reportError prints an error. It ignores a failure to write to standard error.
func reportError(w *world, err error) { _, _ = fmt.Fprintln(w.err, "looptape:", err) }

func newRoot(w *world) *cobra.Command {
	root := &cobra.Command{
		Use:   "looptape",
		Short: "Test agent loops: run, serve, record, check and score them",
		Long: `looptape tests agent loops. It runs scripted models and tools without a network,
and serves them over HTTP to a program in any language. It records and replays
the HTTP requests of a program. It checks recorded runs against invariants,
scores them, and converts a recorded run into a scenario that repeats it.

Exit status: 0 if every check held, 1 if a check failed, 2 for wrong usage or
input that cannot be read (1 if both apply).`,
		Version:       version(w.versions),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          needCommand,
	}
	root.SetIn(w.in)
	root.SetOut(w.out)
	root.SetErr(w.err)
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if name := renamedFlag(err); name != "" {
			return fmt.Errorf("%w: use --%s; see %s --help", err, name, c.CommandPath())
		}
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(newDemo(w), newRun(w), newCheck(w), newTrace(w), newScenario(w), newServe(w), newRecord(w), newReplay(w), newCassette(w), newEval(w))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = needCommand // cobra's own prints its help and exits with 0
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

// columns is the width of the help.
const columns = 80

// noArguments rejects arguments.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, got %q; see %s --help", c.CommandPath(), args[0], c.CommandPath())
	}
	return nil
}

// needCommand is the action of a command that only groups other commands.
func needCommand(c *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("%s needs a command, one of %s; see %s --help", c.CommandPath(), strings.Join(names, ", "), c.CommandPath())
}

// needFiles checks the arguments of a command that reads files.
func needFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s needs a file, or - for standard input; see %s --help", c.CommandPath(), c.CommandPath())
	}
	if n := slices.Index(args, "-"); n >= 0 && slices.Contains(args[n+1:], "-") {
		return errors.New("standard input (-) can be read only once")
	}
	return nil
}

// formatFlag adds the flag --format to a command. The first format is the default.
func formatFlag(c *cobra.Command, formats ...string) *string {
	f := formats[0]
	c.Flags().StringVar(&f, "format", f, "output `format`: "+strings.Join(formats, ", "))
	check := func(*cobra.Command, []string) error {
		if !slices.Contains(formats, f) {
			return fmt.Errorf("--format %q: unknown format for %s: want one of %s", f, c.CommandPath(), strings.Join(formats, ", "))
		}
		return nil
	}
	c.PreRunE = check
	// The name was just defined, so this cannot fail.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return &f
}

// version returns the module's version, the revision if the build recorded it, and the
// Go version.
func version(b *debug.BuildInfo) string {
	if b == nil {
		return "(unknown)"
	}
	v := b.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " " + s.Value
		}
	}
	return v + " " + b.GoVersion
}
