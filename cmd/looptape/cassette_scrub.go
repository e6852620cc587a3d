package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/redact"
)

func newCassetteScrub(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "scrub FILE…",
		Short: "Take secrets out of recordings, in place",
		Long: `scrub takes secrets out of recordings that were made without it, and puts marks
in their places: what stands in the headers and fields that are known for
secrets, what has the form of a known key, and both wherever they stand again.
It says from where. Each file is replaced at once, keeps its mode, and stays as
it is if there is nothing to take out.

FILE is a cassette of looptape, or one of go-vcr or vcrpy or a HAR file, if all
that stands in it can be written again; else looptape cassette convert makes a
cassette of looptape of it. A recording that goes on is refused.

Exit status: 0; 1 if something is left that looks like a secret; else 2 if a
file cannot be read or written.`,
		Example: "  looptape cassette scrub --dry-run fixtures/weather.yaml\n  looptape cassette scrub --secret X-Tenant weather.tape",
		Args:    needPaths,
	}
	v := scrubber{w: w}
	c.Flags().BoolVar(&v.dry, "dry-run", false, "say what would be taken out, and write nothing")
	secretFlag(c, &v.opts)
	opaqueFlag(c, &v.opts)
	c.RunE = func(_ *cobra.Command, args []string) error { return v.files(args) }
	return c
}

// scrubber is a command line of cassette scrub.
type scrubber struct {
	w    *world
	dry  bool
	opts cassettes.Options
}

func (v *scrubber) files(names []string) error {
	var result error
	for _, name := range names {
		left, err := v.file(name)
		if err != nil {
			complain(v.w, err)
		}
		switch {
		case left:
			result = status(statusBroken)
		case err != nil && result == nil:
			result = status(statusUsage)
		}
	}
	return result
}

// file scrubs a file, and reports whether something that looks like a secret is left.
func (v *scrubber) file(name string) (left bool, err error) {
	rec, err := v.w.readRecording(name)
	if err != nil {
		return false, err
	}
	if rec.Incomplete != nil {
		return false, fmt.Errorf("%s: it was not closed, and so it is not changed; looptape cassette convert makes a cassette of it, without secrets", name)
	}
	list := slices.Clone(rec.Interactions)
	var suspects []string
	head, found := v.opts.ScrubbedMetadata(rec.Metadata)
	rec.Metadata = head
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
			return false, fmt.Errorf("%s: nothing was taken out of it: %w; looptape cassette convert makes a cassette of it, without secrets", name, err)
		}
		if !v.dry {
			err = cassettes.Replace(name, text)
		}
		if err != nil {
			return false, err
		}
	}
	if len(suspects) > 0 {
		v.w.suspect(name, "this looks like secrets, and is left", suspects)
	}
	return len(suspects) > 0, v.tell(name, taken)
}

// tell says what was taken out of a file.
func (v *scrubber) tell(name string, taken []string) error {
	does := "taken out"
	if v.dry {
		does = "to take out"
	}
	text := fmt.Sprintf("%s: %s %s\n", name, count(len(taken), "secret"), does)
	for _, line := range taken {
		text += "  " + line + "\n"
	}
	_, err := fmt.Fprint(v.w.out, text)
	return err
}

// numbered are lines about an interaction with its number.
func numbered(n int, found []redact.SuspectedSecret) (lines []string) {
	for _, s := range found {
		s.Interaction = n
		lines = append(lines, s.String())
	}
	return lines
}

// suspect tells what looks like secrets in a file, and what to do.
func (w *world) suspect(name, what string, suspects []string) {
	complain(w, fmt.Errorf("%s: %s:\n  %s\nName the fields that are secret with --secret, and those that are not with --opaque", name, what, strings.Join(suspects, "\n  ")))
}
