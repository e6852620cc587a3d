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
)

// world is all of its surroundings that the command may touch.
type world struct {
	in       io.Reader
	out, err io.Writer
	env      func(name string) string
	now      func() time.Time
	// outTerm and errTerm say that a terminal shows out and err, inTerm that in is one.
	inTerm, outTerm, errTerm bool
	versions                 *debug.BuildInfo // nil if unknown
	environ                  func() []string  // for programs that the command starts
	// interrupted returns a context that ends when the command is told to stop.
	interrupted func(context.Context) (context.Context, context.CancelFunc)
}

// colour reports whether out may be coloured; see no-color.org.
func (w *world) colour() bool {
	return w.outTerm && w.env("NO_COLOR") == "" && w.env("TERM") != "dumb"
}

// The exit statuses.
const (
	statusHeld   = 0
	statusBroken = 1 // something that the command checks did not hold
	statusUsage  = 2 // wrong usage, or input that cannot be read
)

// status is an error that says nothing but how to exit: all has been told.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// execute runs one command line and returns the exit status.
func execute(args []string, w *world) int {
	root := newRoot(w)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return statusHeld
	}
	if s, ok := errors.AsType[status](err); ok {
		return int(s)
	}
	complain(w, err)
	return statusUsage
}

// complain tells an error. What cannot be written to standard error is lost.
func complain(w *world, err error) { _, _ = fmt.Fprintln(w.err, "looptape:", err) }

func newRoot(w *world) *cobra.Command {
	root := &cobra.Command{
		Use:   "looptape",
		Short: "Play, serve and check runs of agent loops",
		Long: `looptape tests agent loops: it plays scripted models and tools without a
network, serves them over HTTP to a program in any language, records and replays
what such a program says to real providers, checks that recorded runs kept the
promises of a loop, says how well they did and how sure that is, and makes a
recorded run a scenario that repeats it.

Exit status: 0 if all held, 1 if something that the command checks did not
hold, 2 for wrong usage or input that cannot be read (1 if both).`,
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
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(newDemo(w), newRun(w), newCheck(w), newTrace(w), newScenario(w), newServe(w), newRecord(w), newReplay(w), newCassette(w), newEval(w))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = needCommand // cobra's own prints its help and holds
		}
	}
	return root
}

// columns is how wide the help is.
const columns = 80

// noArguments is the check of the arguments of a command that takes none.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, got %q; see %s --help", c.CommandPath(), args[0], c.CommandPath())
	}
	return nil
}

// needCommand is what a command does that only holds others.
func needCommand(c *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("%s needs a command, one of %s; see %s --help", c.CommandPath(), strings.Join(names, ", "), c.CommandPath())
}

// needFiles is the check of the arguments of a command that reads files.
func needFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s needs a file, or - for standard input; see %s --help", c.CommandPath(), c.CommandPath())
	}
	if n := slices.Index(args, "-"); n >= 0 && slices.Contains(args[n+1:], "-") {
		return errors.New("standard input (-) can be read only once")
	}
	return nil
}

// formatFlag gives a command the flag --format, of which the first value is the
// default.
func formatFlag(c *cobra.Command, formats ...string) *string {
	f := formats[0]
	c.Flags().StringVar(&f, "format", f, "how to print results: "+strings.Join(formats, ", "))
	check := func(*cobra.Command, []string) error {
		if !slices.Contains(formats, f) {
			return fmt.Errorf("--format %s: %s knows %s", f, c.CommandPath(), strings.Join(formats, ", "))
		}
		return nil
	}
	c.PreRunE = check
	// The name was just defined, so this cannot fail.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return &f
}

// version tells the module's version and, where the build knows them, the
// revision and the Go version.
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
