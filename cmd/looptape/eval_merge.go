package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals"
)

func newEvalMerge(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "merge PART…",
		Short: "Put parts of scored runs together",
		Long: `merge puts together what looptape eval score -o wrote of parts of the runs. What
comes out is, byte for byte, what scoring all of them at once writes, whatever
the order of the parts. Runs that are in two parts are an error that names both,
and so are parts that are not whole, or that other scorers made.

Exit status: 0, or 2 if the parts cannot be read or put together.`,
		Example: "  looptape eval merge -o all.jsonl part-1.jsonl part-2.jsonl",
		Args:    needFiles,
	}
	out := c.Flags().StringP("output", "o", "", "the `file` to write, instead of standard output")
	c.RunE = func(_ *cobra.Command, args []string) error {
		var parts []*evals.Result
		for _, name := range args {
			p, err := w.readPart(name)
			if err != nil {
				return err
			}
			parts = append(parts, p)
		}
		whole, err := evals.Merge(parts...)
		switch {
		case err != nil:
			return fmt.Errorf("the parts overlap, or do not fit: %w", err)
		case *out != "":
			return replaceWith(*out, whole.Write)
		}
		return whole.Write(w.out)
	}
	return c
}

// readPart reads the file of a result.
func (w *world) readPart(name string) (*evals.Result, error) {
	f, err := w.openFile(name)
	if err != nil {
		return nil, err
	}
	p, err := evals.ReadResult(name, f)
	return p, closeAfter(f, err)
}
