package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/evals/report/page"
)

// pageFlags is the page of a report, with its settings.
type pageFlags struct {
	page.Page

	megabytes int // of what runs said
	size      int // of what those of a set may say, in bytes; negative where there is no page
}

// of gives a command the flag --transcripts.
func (p *pageFlags) of(c *cobra.Command) {
	c.Flags().IntVar(&p.megabytes, "transcripts", 32, "html: how many `megabytes` of what runs said to keep, that of runs that failed first")
}

// settle takes the settings of the report of some files.
func (p *pageFlags) settle(r *reportFlags, files []string) error {
	const most = 1024 // a browser does not open what is much larger
	if p.megabytes < 0 || p.megabytes > most {
		return fmt.Errorf("--transcripts %d: it is a number of megabytes from 0 to %d", p.megabytes, most)
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

// listen keeps what the runs of a set say, if there is a page.
func (p *pageFlags) listen(set *runSet) *page.Runs {
	if p.size < 0 {
		return nil
	}
	said := page.NewRuns(p.size)
	set.Seen = said.Add
	return said
}

// tell tells what is not on the page.
func (p *pageFlags) tell(w *world) {
	for _, note := range p.Notes() {
		complain(w, errors.New(note))
	}
}
