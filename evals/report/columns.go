package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/parquet"
	"github.com/looptape/looptape/internal/visible"
)

// column is a column of a table of runs: the value of a run for package parquet, or nil.
type column struct {
	name string
	kind parquet.Kind
	of   func(*Run) any
}

func (r *Report) columns() []column {
	list := []column{
		text("set", func(r *Run) string { return r.Set }),
		text("case", func(r *Run) string { return r.Case }),
		{"epoch", parquet.Whole, func(r *Run) any { return unless(r.Epoch < 0, int64(r.Epoch)) }},
		text("cluster", func(r *Run) string { return r.Cluster }),
		text("run", func(r *Run) string { return r.Row.Run }),
		text("file", func(r *Run) string { return r.File }),
		{"line", parquet.Whole, func(r *Run) any { return int64(r.Line) }},
		text("digest", func(r *Run) string { return r.Digest }),
		text("outcome", func(r *Run) string { return string(r.Outcome) }),
	}
	if r.Base == nil {
		list = list[1:]
	}
	for name := range new(evals.Row).Resources() {
		list = append(list, resource(name))
	}
	for _, metric := range r.Metrics() {
		score := func(r *Run) any { v, ok := r.Scores.Get(metric); return unless(!ok, v) }
		list = append(list, column{"score." + metric, parquet.Real, score},
			text("error."+metric, func(r *Run) string { return r.Errors.Of(metric) }),
			text("explanation."+metric, func(r *Run) string { return r.Explanations.Of(metric) }))
	}
	return list
}

// unless returns a value, or nil.
func unless[T any](not bool, v T) any {
	if not {
		return nil
	}
	return v
}

func text(name string, of func(*Run) string) column {
	return column{name, parquet.Text, func(r *Run) any {
		text := of(r)
		return unless(text == "", text)
	}}
}

// resource returns the column of a resource. All but the cost are integers.
func resource(name string) column {
	kind := parquet.Whole
	if name == "cost" {
		kind = parquet.Real
	}
	return column{name, kind, func(r *Run) any {
		for n, v := range r.Resources() {
			switch {
			case n != name || v == nil:
			case kind == parquet.Real:
				return *v
			default:
				return int64(*v)
			}
		}
		return nil
	}}
}

// CSV writes one line per run in the format of RFC 4180, after a line with the column names.
// Missing values are empty. A string that a spreadsheet could read as a formula gets an
// apostrophe as prefix (OWASP, "CSV Injection"). Characters that control a terminal or the direction
// of text are escaped, and so are commands for a CI system.
func (r *Report) CSV(w io.Writer) error {
	buf := bufio.NewWriter(w)
	columns := r.columns()
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = string(visible.Text([]byte(c.name)))
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

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return string(visible.Text([]byte(guarded(v))))
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

// Parquet writes an Apache Parquet file with one row per run and the columns of CSV: strings
// (STRING), integers (INT64) and floating-point numbers (DOUBLE). Missing values are null.
func (r *Report) Parquet(w io.Writer) error {
	buf := bufio.NewWriter(w)
	columns := r.columns()
	kinds := make([]parquet.Column, len(columns))
	for i, c := range columns {
		kinds[i] = parquet.Column{Name: c.name, Kind: c.kind}
	}
	table := parquet.NewWriter(buf, kinds)
	cells := make([]any, len(columns))
	for run := range r.Runs() {
		for i, c := range columns {
			cells[i] = c.of(&run)
		}
		if err := table.Write(cells); err != nil {
			return err
		}
	}
	if err := table.Close(); err != nil {
		return err
	}
	return buf.Flush()
}
