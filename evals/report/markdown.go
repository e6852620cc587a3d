package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/looptape/looptape/internal/markdown"
)

// Markdown writes GitHub-flavored Markdown for a pull request: the statistics, the changes and
// the cases by outcome. It escapes untrusted text.
func (r *Report) Markdown(w io.Writer, l Lists) error {
	var text strings.Builder
	f := r.Summary
	fmt.Fprintf(&text, "### looptape eval report\n\nRuns: %d, of %d cases, up to %d per case. Cases: %s.\n", f.Runs, f.Cases, f.Epochs, r.Counts())
	for _, t := range r.Tables(l) {
		if len(t.Rows) == 0 || !strings.HasPrefix(t.Header[0], string(Passed)+" (") {
			writeTable(&text, t)
			continue
		}
		fmt.Fprintf(&text, "\n<details><summary>%s</summary>\n", t.Header[0])
		writeTable(&text, t)
		text.WriteString("\n</details>\n")
	}
	for _, u := range f.Unreadable {
		fmt.Fprintf(&text, "\nUnreadable: %s\n", markdown.Plain(u.String()))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeTable writes a table, if it has rows.
func writeTable(text *strings.Builder, t Table) {
	if len(t.Rows) == 0 {
		return
	}
	text.WriteByte('\n')
	writeRow(text, t.Header)
	text.WriteString(strings.Repeat("| --- ", len(t.Header)) + "|\n")
	for _, row := range t.Rows {
		writeRow(text, row)
	}
}

func writeRow(text *strings.Builder, cells []string) {
	for _, cell := range cells {
		text.WriteString("| " + markdown.Plain(cell) + " ")
	}
	text.WriteString("|\n")
}
