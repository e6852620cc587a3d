package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// CSV writes one line per run in the format of RFC 4180, after a line with the column names.
// Missing values are empty. A string that a spreadsheet could read as a formula gets an
// apostrophe as prefix (OWASP, "CSV Injection").
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

// cell returns a value as CSV.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return guarded(v)
	}
	return fmt.Sprint(v)
}

// guarded protects a string from being read as a formula.
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
