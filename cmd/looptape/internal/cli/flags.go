package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/internal/atomicfile"
)

// Execute runs a command line and returns the exit status.
func Execute(root *cobra.Command, args []string, w *World) Status {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetIn(w.In)
	root.SetOut(w.Out)
	root.SetErr(w.Err)
	root.SetArgs(args)
	root.PersistentPreRunE = w.checkOutputFlags
	err := root.ExecuteContext(context.Background())
	status, ok := errors.AsType[Status](err)
	if err != nil && !ok {
		w.PrintError(err)
		status = Usage
	}
	if w.outputError != nil && !errors.Is(err, w.outputError) {
		w.PrintError(w.outputError)
		status = Usage
	}
	return status
}

// Group returns a command that only groups other commands.
func Group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: NeedCommand}
	c.AddCommand(commands...)
	return c
}

// NeedCommand is the action of a command that only groups other commands.
func NeedCommand(c *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return UsageError(c, "needs a command, one of %s", strings.Join(names, ", "))
}

// UsageError returns an error about the arguments of a command.
func UsageError(c *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s %s; see %s --help", c.CommandPath(), fmt.Sprintf(format, args...), c.CommandPath())
}

// NeedFiles checks the arguments of a command that reads files.
func NeedFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return UsageError(c, "needs a file, or - for standard input")
	}
	if n := slices.Index(args, "-"); n >= 0 && slices.Contains(args[n+1:], "-") {
		return errors.New("standard input (-) can be read only once")
	}
	return nil
}

// NeedPaths checks the arguments of a command that takes file names and no standard input.
func NeedPaths(c *cobra.Command, args []string) error {
	if len(args) == 0 || slices.Contains(args, "-") {
		return UsageError(c, "needs files by name")
	}
	return nil
}

// NeedArguments checks that a command gets n arguments; what describes them.
func NeedArguments(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return UsageError(c, "needs %s, got %s", what, Count(len(args), "argument"))
		}
		return nil
	}
}

// NoArguments rejects arguments.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(c, "takes no arguments, got %q", args[0])
	}
	return nil
}

// FormatFlag adds the flag --format to a command. The first format is the default.
func FormatFlag(c *cobra.Command, formats ...string) *string {
	f := formats[0]
	c.Flags().StringVar(&f, "format", f, "output `format`: "+strings.Join(formats, ", "))
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, f) {
			return fmt.Errorf("--format %q: unknown format for %s: want one of %s", f, c.CommandPath(), strings.Join(formats, ", "))
		}
		return nil
	}
	// The name was just defined, so this cannot fail.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return &f
}

// SecretFlag adds the flag for additional secrets.
func SecretFlag(c *cobra.Command, o *cassettes.Options) {
	c.Flags().StringArrayVar(&o.Secret, "secret", nil, "additional secret: `name` of a header or field, or /json/pointer (repeatable)")
}

// SecretFlags adds the flags for additional secrets and for fields that contain no secrets.
func SecretFlags(c *cobra.Command, o *cassettes.Options) {
	SecretFlag(c, o)
	c.Flags().StringArrayVar(&o.NotSecret, "not-secret", nil, "`name` of a header or field whose value is not a secret (repeatable)")
}

// InPlace annotates a command whose output may be its input.
const InPlace = "in place"

// outputAnnotation marks the flags of output files.
const outputAnnotation = "output file"

// OutputFlag adds a flag for an output file. Execute checks it by [World.CheckOutputs], and that it is
// not the file of an argument or of another flag. The short
// form of the flags output and out is -o.
func OutputFlag(c *cobra.Command, to *string, name, description string) {
	short := map[string]string{"output": "o", "out": "o"}[name]
	c.Flags().StringVarP(to, name, short, "", description)
	c.Flags().Lookup(name).Annotations = map[string][]string{outputAnnotation: nil}
}

func (w *World) checkOutputFlags(c *cobra.Command, args []string) (err error) {
	if dash := c.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash]
	}
	if _, ok := c.Annotations[InPlace]; ok {
		args = nil
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if _, ok := f.Annotations[outputAnnotation]; ok && err == nil {
			if err = errors.Join(w.CheckOutputs(f.Value.String()), w.checkOther(f, append(fileFlags(c, f), args...))); err != nil {
				err = fmt.Errorf("--%s: %w", f.Name, err)
			}
		}
	})
	return err
}

// checkOther returns an error if one of the names is that of the output file.
func (w *World) checkOther(output *pflag.Flag, names []string) error {
	name := output.Value.String()
	if w.isOut(name) {
		return nil
	}
	for _, other := range names {
		if sameFile(name, other) {
			return fmt.Errorf("%s is the same file as %s, which the command line also names: name another file", name, other)
		}
	}
	return nil
}

// sameFile reports whether two names are those of one file, which need not exist.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	if err == nil || otherErr == nil {
		return err == nil && otherErr == nil && os.SameFile(one, other)
	}
	to, err := RealPath(a)
	otherTo, otherErr := RealPath(b)
	return err == nil && otherErr == nil && to == otherTo
}

// RealPath returns the absolute path without links of a file that need not exist.
func RealPath(name string) (string, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	full = atomicfile.Target(full)
	exists := atomicfile.ExistingFolder(full)
	to, err := filepath.EvalSymlinks(exists)
	return to + strings.TrimPrefix(full, exists), err
}

// fileFlags returns the values of all flags for files but one. A cassette is there with its journal.
func fileFlags(c *cobra.Command, except *pflag.Flag) (names []string) {
	c.Flags().Visit(func(f *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(f)
		if f == except || kind != "file" && kind != "BASE" {
			return
		}
		list := []string{f.Value.String()}
		if values, ok := f.Value.(pflag.SliceValue); ok {
			list = values.GetSlice()
		}
		for _, name := range list {
			cassette, ok := strings.CutPrefix(name, "cassette:")
			if names = append(names, cassette); ok {
				names = append(names, cassettes.JournalPath(cassette))
			}
		}
	})
	return names
}
