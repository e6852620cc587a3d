package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/lockfile"
)

// journalEnd stands behind the name of a part in that of the journal beside it.
const journalEnd = ".resume"

// resuming is scoring that goes on where it was broken off.
type resuming struct {
	*evals.Journal

	file *os.File
}

// resume opens the journal beside a part.
func (w *world) resume(part string) (*resuming, error) {
	if part == "" {
		return nil, errors.New("--resume keeps what was scored beside the part: name that with -o")
	}
	f, err := os.OpenFile(part+journalEnd, os.O_RDWR|os.O_CREATE, 0o666) //nolint:gosec // as the part itself
	if err != nil {
		return nil, err
	}
	if err := lockfile.Lock(f); err != nil {
		return nil, closeAfter(f, fmt.Errorf("%s: another process scores the same: %w", f.Name(), err))
	}
	j, err := evals.OpenJournal(f, version(w.versions))
	if err != nil {
		return nil, closeAfter(f, fmt.Errorf("%s: %w", f.Name(), err))
	}
	if n := j.Kept(); n > 0 {
		complain(w, fmt.Errorf("%s: going on, with %s scored before", f.Name(), count(n, "file")))
	}
	return &resuming{j, f}, nil
}

// scoreTo scores a set of runs, and writes what comes of it to a part, if that has a name.
func (w *world) scoreTo(c *cobra.Command, set *runSet, part string, resume bool) (*evals.Result, error) {
	var going *resuming
	if resume {
		var err error
		if going, err = w.resume(part); err != nil {
			return nil, set.graders.close(err)
		}
		set.Journal = going.Journal
	}
	r, err := w.scoreSet(c.Context(), set)
	if err == nil && part != "" {
		err = replaceWith(part, r.Write)
	}
	stopped := errors.Is(err, context.Canceled)
	switch {
	case stopped && resume:
		err = going.stopped(c)
	case stopped:
		err = errors.New("scoring stopped, and nothing is kept of it; with --resume and -o it can go on")
	}
	if resume {
		err = errors.Join(err, going.close(err == nil))
	}
	return r, err
}

// close leaves the journal, or removes it if the part is done.
func (r *resuming) close(done bool) error {
	if err := r.file.Close(); err != nil || !done {
		return err
	}
	return os.Remove(r.file.Name())
}

// stopped says how to go on with scoring that was told to stop.
func (r *resuming) stopped(c *cobra.Command) error {
	return fmt.Errorf("scoring stopped; what %s scored is kept. This goes on:\n  %s", count(r.Kept(), "file"), commandLine(c))
}

// commandLine is the command as a shell takes it.
func commandLine(c *cobra.Command) string {
	words := []string{c.CommandPath()}
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			word := "--" + f.Name
			if v != f.NoOptDefVal {
				word += "=" + v
			}
			words = append(words, shellWord(word))
		}
	})
	for _, arg := range c.Flags().Args() {
		words = append(words, shellWord(arg))
	}
	return strings.Join(words, " ")
}
