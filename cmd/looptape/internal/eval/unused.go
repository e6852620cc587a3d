package eval

import (
	"github.com/spf13/cobra"

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

// rowFlagNames are the flags of rowFlags and setFlags that a command has.
func rowFlagNames() []string {
	return []string{"case", "epoch", "cluster", "score", "base-score", "new-score", "dataset", "missing-as-zero", "tag", "allow-programs", "program-env"}
}

// rejectPrograms returns an error for flags for programs of a suite if there is no suite.
func rejectPrograms(c *cobra.Command, names ...string) error {
	suite := false
	for _, name := range names {
		text, err := readSuite(name)
		suite = suite || text != nil || err != nil // which reading the set reports
	}
	allow := c.Flags().Changed("allow-programs")
	return rejectUnused(c,
		unused{!allow, "without --allow-programs: add it, or remove the flag", []string{"program-env"}},
		unused{!suite, "without a suite file: name one, or remove the flag", []string{"allow-programs"}})
}
