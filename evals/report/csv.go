package report

import (
	"bufio"
	"fmt"
	"io"
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
			cells[i] = cell(columns[i].of(&run))
		}
		writeRecord(buf, cells)
	}
	return buf.Flush()
}

// cell is what a column has, in CSV.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return guarded(v)
	}
	return fmt.Sprint(v)
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
