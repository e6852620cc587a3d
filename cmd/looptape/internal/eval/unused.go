package eval

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

// unused are flags that have no effect in a combination.
type unused struct {
	when  bool
	why   string // after "has no effect"
	flags []string
}

// rejectUnused returns an error of usage for a flag on the command line that would be ignored.
func rejectUnused(c *cobra.Command, list ...unused) error {
	for _, u := range list {
		for _, name := range u.flags {
			if u.when && c.Flags().Changed(name) {
				return cli.UsageError(c, "--%s has no effect %s", name, u.why)
			}
		}
	}
	return nil
}

// rowFlagNames returns the names of the flags of setFlags, which has those of rowFlags.
func rowFlagNames() (names []string) {
	c := new(cobra.Command)
	new(setFlags).of(c)
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// rejectPrograms returns an error for flags for programs of a suite if there is no suite.
func rejectPrograms(c *cobra.Command, names ...string) error {
	if !c.Flags().Changed("allow-programs") {
		return rejectUnused(c, unused{true, "without --allow-programs: add it, or remove the flag", []string{"program-env"}})
	}
	return rejectUnused(c, unused{!slices.ContainsFunc(names, isSuite), "without a suite file: name one, or remove the flag", []string{"allow-programs"}})
}

// isSuite reports whether a file is a suite, or cannot be read as one, which reading the set reports.
func isSuite(name string) bool {
	text, err := readSuite(name)
	return text != nil || err != nil
}
