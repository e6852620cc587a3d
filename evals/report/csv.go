package report

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CSV writes a line a run as RFC 4180 has it, below a line with the names of the columns.
// What a run has not is empty. A text that a spreadsheet would take for a formula has an
// apostrophe before it (OWASP, "CSV Injection").
func (r *Report) CSV(w io.Writer) error {
	buf := bufio.NewWriter(w)
	columns := r.columns()
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.name
	}
	writeRecord(buf, cells)
	for run := range r.Runs() {
		for i := range columns {
			cells[i] = columns[i].cell(&run)
		}
		writeRecord(buf, cells)
	}
	return buf.Flush()
}

// cell is what the column has of a run.
func (c *column) cell(r *Run) string {
	switch {
	case c.text != nil:
		return guarded(c.text(r))
	case c.whole != nil:
		if v, ok := c.whole(r); ok {
			return strconv.FormatInt(v, 10)
		}
	default:
		if v, ok := c.real(r); ok {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return ""
}

// guarded is a text that no spreadsheet takes for a formula.
func guarded(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}

// writeRecord writes a line. A buffered writer keeps its error for Flush.
func writeRecord(w *bufio.Writer, cells []string) {
	for i, cell := range cells {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		if strings.ContainsAny(cell, "\",\r\n") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		_, _ = w.WriteString(cell)
	}
	_, _ = w.WriteString("\r\n")
}
