package eval

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals"
)

func newMerge(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "merge FILE…",
		Short: "Merge score files",
		Long: `merge merges score files from looptape eval score -o. The result is byte for
byte the score file of all runs together, in any order of the files. It is an
error if two files contain the same run, if a file is incomplete, or if the
scorers differ.

Exit status: 0, or 2 if the files cannot be read or merged.`,
		Example: "  looptape eval merge -o all.jsonl scores-1.jsonl scores-2.jsonl",
		Args:    cli.NeedFiles,
	}
	var out string
	cli.OutputFlag(c, &out, "output", "output `file` (default: standard output)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		var list []*evals.Result
		for _, name := range args {
			p, err := readScoreFile(w, name)
			if err != nil {
				return err
			}
			list = append(list, p)
		}
		merged, err := evals.Merge(list...)
		if err != nil {
			return fmt.Errorf("the score files overlap or do not match: %w", err)
		}
		return w.Output(out, merged.Write)
	}
	return c
}

// readScoreFile reads a score file.
func readScoreFile(w *cli.World, name string) (*evals.Result, error) {
	f, err := w.Open(name)
	if err != nil {
		return nil, err
	}
	p, err := evals.ReadResult(name, f)
	return p, errors.Join(err, f.Close())
}
