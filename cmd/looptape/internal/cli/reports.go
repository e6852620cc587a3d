package cli

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/internal/testreport"
)

// ReportFiles are the files for CI systems that a command also writes. Their names may be empty.
type ReportFiles struct{ junit, markdown string }

// ReportFlags adds the flags --junit and --markdown.
func ReportFlags(c *cobra.Command) *ReportFiles {
	r := &ReportFiles{}
	OutputFlag(c, &r.junit, "junit", "also write JUnit XML to this `file`")
	OutputFlag(c, &r.markdown, "markdown", "also write Markdown to this `file`")
	return r
}

// Reporter is a result that can be written for CI systems. [testreport.Report] is one.
type Reporter interface {
	JUnit(w io.Writer) error
	Markdown(w io.Writer) error
	GitHub(w io.Writer) error
}

var _ Reporter = (*testreport.Report)(nil)

// Write writes the files.
func (r *ReportFiles) Write(w *World, from Reporter) error {
	for _, to := range []struct {
		name  string
		write func(io.Writer) error
	}{{r.junit, from.JUnit}, {r.markdown, from.Markdown}} {
		if to.name == "" {
			continue
		}
		if err := w.Output(to.name, to.write); err != nil {
			return err
		}
	}
	return nil
}

// Annotations prints annotations of GitHub Actions and returns status.
func Annotations(w *World, from Reporter, status error) error {
	return cmp.Or(from.GitHub(w.Out), status)
}
