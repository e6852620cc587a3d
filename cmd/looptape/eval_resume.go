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

// journalEnd is the suffix of a score file's journal.
const journalEnd = ".resume"

// resuming continues interrupted scoring.
type resuming struct {
	*evals.Journal

	file *os.File
}

// resume opens the journal of a score file.
func (w *world) resume(name string) (*resuming, error) {
	if name == "" {
		return nil, errors.New("--resume needs a score file: set -o")
	}
	f, err := os.OpenFile(name+journalEnd, os.O_RDWR|os.O_CREATE, 0o666) //nolint:gosec // same mode as the score file
	if err != nil {
		return nil, err
	}
	if err := lockfile.Lock(f); err != nil {
		return nil, closeAfter(f, fmt.Errorf("%s: another process is using this journal: %w", f.Name(), err))
	}
	j, err := evals.OpenJournal(f, version(w.versions))
	if err != nil {
		return nil, closeAfter(f, fmt.Errorf("%s: %w", f.Name(), err))
	}
	if n := j.Kept(); n > 0 {
		reportError(w, fmt.Errorf("%s: continuing after %s", f.Name(), count(n, "file")))
	}
	return &resuming{j, f}, nil
}

// scoreTo scores a set of runs and writes the score file, unless name is empty.
func (w *world) scoreTo(c *cobra.Command, set *runSet, name string, resume bool) (*evals.Result, error) {
	var going *resuming
	if resume {
		var err error
		if going, err = w.resume(name); err != nil {
			return nil, set.graders.close(err)
		}
		set.Journal = going.Journal
	}
	r, err := w.scoreSet(c.Context(), set)
	if err == nil && name != "" {
		err = replaceWith(name, r.Write)
	}
	stopped := errors.Is(err, context.Canceled)
	switch {
	case stopped && resume:
		err = going.stopped(c)
	case stopped:
		err = errors.New("scoring stopped without a result: use --resume and -o to be able to continue")
	}
	if resume {
		err = errors.Join(err, going.close(err == nil))
	}
	return r, err
}

// close closes the journal and removes it if the score file is complete.
func (r *resuming) close(done bool) error {
	if err := r.file.Close(); err != nil || !done {
		return err
	}
	return os.Remove(r.file.Name())
}

// stopped returns the error of interrupted scoring, with the command that continues it.
func (r *resuming) stopped(c *cobra.Command) error {
	return fmt.Errorf("scoring stopped; the scores of %s are kept. Continue with:\n  %s", count(r.Kept(), "file"), commandLine(c))
}

// commandLine returns the command quoted for a shell.
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
