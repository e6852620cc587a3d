package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/internal/lockfile"
)

// journalEnd is the suffix of a score file's journal.
const journalEnd = ".resume"

// resuming continues interrupted scoring.
type resuming struct {
	*evals.Journal

	file *os.File
}

// openJournal opens the journal of a score file.
func openJournal(w *cli.World, name string) (*resuming, error) {
	if name == "" {
		return nil, errors.New("--resume needs a score file: set -o")
	}
	f, err := atomicfile.Open(name+journalEnd, os.O_CREATE, 0)
	if err != nil {
		return nil, err
	}
	if err := lockfile.Lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: another process is using this journal: %w", f.Name(), err), f.Close())
	}
	j, err := evals.OpenJournal(f, w.Version())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
	}
	if n := j.Kept(); n > 0 {
		w.Warn("%s: continuing after %s", f.Name(), cli.Count(n, "file"))
	}
	return &resuming{j, f}, nil
}

// scoreTo scores a set of runs and writes the score file, unless name is empty.
func scoreTo(w *cli.World, c *cobra.Command, set *runSet, name string, resume bool) (*evals.Result, error) {
	var going *resuming
	if resume {
		var err error
		if going, err = openJournal(w, name); err != nil {
			return nil, set.graders.close(err)
		}
		set.Journal = going.Journal
	}
	r, err := scoreSet(c.Context(), w, set)
	if err == nil && name != "" {
		err = w.Output(name, r.Write)
	}
	stopped := errors.Is(err, context.Canceled)
	switch {
	case stopped && resume:
		err = fmt.Errorf("scoring stopped; the scores of %s are kept. Continue with:\n  %s", cli.Count(going.Kept(), "file"), commandLine(c))
	case stopped && set.graders.record != "":
		err = fmt.Errorf("scoring stopped; the recorded responses are kept. Continue with:\n  %s", commandLine(c))
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

// commandLine returns the command quoted for a shell.
func commandLine(c *cobra.Command) string {
	words := strings.Fields(c.CommandPath())
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
			words = append(words, word)
		}
	})
	return cli.ShellLine(append(words, c.Flags().Args()...)...)
}
