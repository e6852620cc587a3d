package cassette

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/redact"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

func newScrub(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "scrub FILE…",
		Short: "Redact secrets in recordings, in place",
		Long: `scrub replaces secrets in recordings with placeholders: the values of headers
and fields with known names, values that have the form of a known key, and
repetitions of both. It prints where they were. scrub replaces a file atomically
and keeps its mode; it does not write a file without secrets.

FILE is a cassette of looptape, or a cassette of go-vcr or vcrpy or a HAR file
that scrub can write back without loss. For other files, use looptape cassette
convert first. scrub rejects a recording in progress.

Exit status: 0; 1 if a suspected secret remains; else 2 if a file cannot be read
or written.`,
		Example: "  looptape cassette scrub --dry-run fixtures/weather.yaml\n  looptape cassette scrub --secret X-Tenant weather.tape",
		Args:    cli.NeedPaths,
	}
	v := scrubber{w: w}
	c.Flags().BoolVar(&v.dry, "dry-run", false, "print what would be redacted, and write nothing")
	cli.SecretFlags(c, &v.opts)
	c.RunE = func(_ *cobra.Command, args []string) error { return v.files(args) }
	return c
}

// scrubber is a command line of cassette scrub.
type scrubber struct {
	w    *cli.World
	dry  bool
	opts cassettes.Options
}

func (v *scrubber) files(names []string) error {
	if err := v.w.CheckOutputs(names...); err != nil {
		return err
	}
	remain, unreadable := false, false
	for _, name := range names {
		left, err := v.file(name)
		if err != nil {
			v.w.PrintError(err)
			unreadable = true
		}
		remain = remain || left
	}
	return cli.Result(remain, unreadable)
}

// file scrubs a file and reports whether a suspected secret remains.
func (v *scrubber) file(name string) (left bool, err error) {
	rec, err := readRecording(v.w, name)
	if err != nil {
		return false, err
	}
	if rec.Incomplete != nil {
		return false, fmt.Errorf("%s: the recording is incomplete: convert it with looptape cassette convert, which redacts secrets", name)
	}
	list := slices.Clone(rec.Interactions)
	var suspects []string
	var found []redact.SuspectedSecret
	rec.Metadata, found = v.opts.ScrubbedMetadata(rec.Metadata)
	taken := numbered(0, found)
	for i, x := range list {
		clean, found := v.opts.Scrubbed(x)
		if len(found) > 0 {
			list[i] = clean
		}
		taken = append(taken, numbered(i+1, found)...)
		suspects = append(suspects, numbered(i+1, v.opts.FindSecrets(clean))...)
	}
	if len(taken) > 0 {
		text, err := rec.Rewrite(list)
		if err != nil {
			return false, fmt.Errorf("%s: nothing was redacted: %w: convert it with looptape cassette convert, which redacts secrets", name, err)
		}
		if !v.dry {
			if err := cassettes.Replace(name, text); err != nil {
				return false, err
			}
		}
	}
	if len(suspects) > 0 {
		reportSecrets(v.w, name, "suspected secrets remain", suspects)
	}
	does := "redacted"
	if v.dry {
		does = "to redact"
	}
	v.w.Printf("%s: %s %s\n", name, cli.Count(len(taken), "secret"), does)
	for _, line := range taken {
		v.w.Printf("  %s\n", line)
	}
	return len(suspects) > 0, nil
}

// numbered returns one line per suspected secret of interaction n.
func numbered(n int, found []redact.SuspectedSecret) (lines []string) {
	for _, s := range found {
		s.Interaction = n
		lines = append(lines, s.String())
	}
	return lines
}

// reportSecrets reports suspected secrets of a file and what to do.
func reportSecrets(w *cli.World, name, what string, suspects []string) {
	w.Warn("%s: %s:\n  %s\nName secret fields with --secret and other fields with --not-secret", name, what, strings.Join(suspects, "\n  "))
}
