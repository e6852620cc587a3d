// Package page writes scored runs and their transcripts as one HTML page.
//
// The page is one file. It uses no network, and its content security policy forbids network
// access and foreign scripts. Transcripts are data in the page and become text, never HTML. The
// same input gives the same bytes.
//
// Package page renders the statistics that package evals computes.
package page

import (
	"bufio"
	"bytes"
	"compress/flate"
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
	"github.com/looptape/looptape/internal/plot"
	"github.com/looptape/looptape/internal/visible"
)

// Page is what a page shows.
type Page struct {
	Title  string
	Report *report.Report
	// Runs and Base are the transcripts of the runs and of the base; nil without recordings.
	Runs, Base *Runs
}

// said yields the runs of the report with their transcripts; a transcript may be nil.
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

// Notes returns one line for each kind of missing content, and how to get it. The page contains
// them, too.
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
		notes = append(notes, fmt.Sprintf("the page omits the transcripts of %d of %d runs: raise --transcripts", left, runs))
	default:
		notes = append(notes, fmt.Sprintf("the transcripts of %d of %d runs are missing, since score files contain no transcripts: pass the recordings", left, runs))
	}
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("the transcripts of %d of %d runs are shortened: see the lines of their recordings", cut, runs))
	}
	return notes
}

// The parts of the page.
var (
	//go:embed page.html
	skeleton string
	//go:embed page.css
	style string
	//go:embed dom.js overview.js list.js labels.js run.js compare.js main.js
	scripts embed.FS
)

func script() string {
	text := "\"use strict\";\n{\n"
	for _, name := range []string{"dom.js", "overview.js", "list.js", "labels.js", "run.js", "compare.js", "main.js"} {
		part, _ := scripts.ReadFile(name) // it is embedded
		text += string(part)
	}
	return text + "}\n"
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	g := p.gather()
	chunks := g.chunks()
	code, css := script(), plot.Style+style
	head := strings.NewReplacer(
		"{{title}}", plain(p.Title),
		"{{script-hash}}", hash(code), "{{style-hash}}", hash(css),
		"{{plots}}", string(visible.Text([]byte(setTable(p.Report)+plots(p.Report)))),
		"{{result}}", plain(p.Report.Headline()),
		"{{script}}", code, "{{style}}", css,
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
	for i, text := range chunks {
		writeData(buf, fmt.Sprint("chunk-", i), []byte(`"`+text+`"`))
	}
	_, _ = buf.WriteString(bottom) // Flush returns write errors
	return buf.Flush()
}

// chunks sets the numbers of the first transcripts of the chunks, and returns the chunks: JSON arrays of
// transcripts, compressed by DEFLATE (RFC 1951) and in base64url. The page decodes those that it shows.
func (g *gathered) chunks() (list []string) {
	const least = 256 << 10 // bytes of JSON
	var text []byte
	for i, said := range g.transcripts {
		if text == nil {
			g.data.Chunks = append(g.data.Chunks, i)
			text = append(text, '[')
		} else {
			text = append(text, ',')
		}
		text = append(text, said.json...)
		if len(text) >= least || i == len(g.transcripts)-1 {
			list = append(list, deflated(append(text, ']')))
			text = nil
		}
	}
	return list
}

// deflated returns text compressed and in base64url.
func deflated(text []byte) string {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression) // the level is valid
	_, _ = w.Write(text)                                 // a buffer returns no errors
	_ = w.Close()
	return base64.URLEncoding.EncodeToString(out.Bytes())
}

func writeData(buf *bufio.Writer, id string, data []byte) {
	_, _ = fmt.Fprintf(buf, "<script type=\"application/json\" id=\"%s\">%s</script>\n", id, data)
}

// plain returns text for HTML without hidden characters.
func plain(text string) string { return html.EscapeString(string(visible.Text([]byte(text)))) }

// hash returns the source of a script or style for the policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
