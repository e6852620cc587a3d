// Package page writes what runs scored, and what they said, as one page of HTML for
// people: figures with their intervals, cases by outcome, the whole of a run with each
// call beside its result, and two runs side by side.
//
// The page is one file that needs nothing else. It asks the network for nothing, and its
// own policy forbids it to: of all code only what this package wrote may run. What runs
// said is data in it, which reaches the page as text and never as HTML, so that nothing
// in an answer, a name or an explanation can act. The same input is the same bytes.
//
// Package page computes no figures; those of package evals are shown.
package page

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/report"
)

// Page is what a page shows.
type Page struct {
	Title  string
	Report *report.Report
	// Runs is what the runs said, and Base what those of the base said; nil of a set of
	// which nothing is known.
	Runs, Base *Runs
}

// said yields the runs of the report with what the page has of them, which may be nil.
func (p *Page) said() iter.Seq2[report.Run, *said] {
	sets := map[string]map[ident]*said{"base": p.Base.kept(), "new": p.Runs.kept(), "": p.Runs.kept()}
	return func(yield func(report.Run, *said) bool) {
		for run := range p.Report.Runs() {
			if !yield(run, sets[run.Set][identOf(run.Row)]) {
				return
			}
		}
	}
}

// Notes says what is not on the page, and how to get it, a line each. The page itself
// says it, too.
func (p *Page) Notes() []string {
	runs, left, cut := 0, 0, 0
	for _, said := range p.said() {
		runs++
		switch {
		case said == nil:
			left++
		case said.cut:
			cut++
		}
	}
	notes := []string{}
	switch {
	case left == 0:
	case p.Runs.isFull() || p.Base.isFull():
		notes = append(notes, fmt.Sprintf("the page has no room for what %d of %d runs said; give it more with --transcripts", left, runs))
	default:
		notes = append(notes, fmt.Sprintf("what %d of %d runs said is not on the page, since parts have scores alone; give the recordings instead", left, runs))
	}
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d runs are too long to be whole on the page; what is left out stands in their recordings, at the lines that they tell", cut, runs))
	}
	return notes
}

// The parts of the page.
var (
	//go:embed page.html
	skeleton string
	//go:embed page.css
	style string
	//go:embed dom.js overview.js list.js run.js beside.js main.js
	scripts embed.FS
)

// script is all code of the page.
func script() string {
	text := "\"use strict\";\n{\n"
	for _, name := range []string{"dom.js", "overview.js", "list.js", "run.js", "beside.js", "main.js"} {
		part, _ := scripts.ReadFile(name) // it is embedded
		text += string(part)
	}
	return text + "}\n"
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	g := p.gather()
	code := script()
	head := strings.NewReplacer(
		"{{title}}", html.EscapeString(p.Title),
		"{{script-hash}}", hash(code), "{{style-hash}}", hash(style),
		"{{script}}", code, "{{style}}", style,
		"{{data}}", string(encode(g.data)),
	)
	top, bottom, _ := strings.Cut(skeleton, "{{transcripts}}")
	buf := bufio.NewWriter(w)
	if _, err := head.WriteString(buf, top); err != nil {
		return err
	}
	for _, digest := range slices.Sorted(maps.Keys(g.shared)) {
		writeData(buf, "text-"+digest, encode(g.shared[digest]))
	}
	for i, said := range g.transcripts {
		writeData(buf, fmt.Sprint("run-", i), said.json)
	}
	_, _ = buf.WriteString(bottom) // what it could not write Flush tells
	return buf.Flush()
}

// writeData writes an element with data.
func writeData(buf *bufio.Writer, id string, data []byte) {
	_, _ = fmt.Fprintf(buf, "<script type=\"application/json\" id=\"%s\">%s</script>\n", id, data)
}

// hash is what a policy names a script or a style by.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
