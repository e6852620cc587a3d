package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/evals/report/page"
)

// pageFlags is the page of a report and its settings.
type pageFlags struct {
	page.Page

	megabytes int // limit of the transcripts
	size      int // limit of the transcripts of a set in bytes; negative without a page
}

// of adds the flag --transcripts.
func (p *pageFlags) of(c *cobra.Command) {
	c.Flags().IntVar(&p.megabytes, "transcripts", 32, "html: limit of transcripts in `megabytes`; failed runs come first")
}

// settle takes the settings of the report of some files.
func (p *pageFlags) settle(r *reportFlags, files []string) error {
	const most = 1024 // browsers do not open much larger pages
	if p.megabytes < 0 || p.megabytes > most {
		return fmt.Errorf("--transcripts %d: want a number of megabytes from 0 to %d", p.megabytes, most)
	}
	p.Title, p.size = strings.Join(slices.Sorted(slices.Values(files)), " "), p.megabytes<<20
	if r.against != "" {
		p.Title += " against " + r.against
		p.size /= 2
	}
	if r.format != "html" {
		p.size = -1
	}
	return nil
}

// listen collects the transcripts of a set if there is a page.
func (p *pageFlags) listen(set *runSet) *page.Runs {
	if p.size < 0 {
		return nil
	}
	transcripts := page.NewRuns(p.size)
	set.Seen = transcripts.Add
	return transcripts
}

// reportNotes reports what the page omits.
func (p *pageFlags) reportNotes(w *cli.World) {
	for _, note := range p.Notes() {
		w.PrintError(errors.New(note))
	}
}
