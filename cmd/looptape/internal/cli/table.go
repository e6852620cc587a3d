package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/looptape/looptape/internal/visible"
)

// WriteJSON writes v on one line, without HTML escaping. Hidden characters in strings, and commands for a
// CI system, are escaped.
func WriteJSON(out io.Writer, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := out.Write(visible.JSON(text.Bytes()))
	return err
}

// OutputError returns the first error of printing. [Execute] reports it.
func (w *World) OutputError() error { return w.outputError }

// printer calls write with standard output, unless printing failed before.
func (w *World) printer(write func(out io.Writer) error) {
	if w.outputError == nil {
		w.outputError = write(w.Out)
	}
}

// JSON prints v on one line.
func (w *World) JSON(v any) {
	w.printer(func(out io.Writer) error { return WriteJSON(out, v) })
}

// Printf prints text on standard output.
func (w *World) Printf(format string, args ...any) { w.Print(fmt.Appendf(nil, format, args...)) }

// Print prints text on standard output.
func (w *World) Print(text []byte) { w.PrintBytes(visible.Text(text)) }

// PrintBytes prints bytes on standard output as they are.
func (w *World) PrintBytes(text []byte) {
	w.printer(func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
}

// PrintBody prints a recorded body on standard output. On a terminal it has no hidden characters, and no
// commands for a CI system where the output may be its log. Otherwise the bytes are unchanged.
func (w *World) PrintBody(body []byte) {
	out, ok := w.outFile()
	switch {
	case w.OutTerminal:
		body = visible.Text(body)
	case w.Getenv("CI") != "" && !(ok && out.Mode().IsRegular()):
		body = visible.Commands(body)
	}
	w.PrintBytes(body)
}

// Columns is the width of help and tables. A table is wider if its last column would be narrower
// than lastWidth.
const (
	Columns   = 80
	lastWidth = 32
)

// wrapAt returns the width at which the last column wraps.
func wrapAt(header []string, rows [][]string) int {
	left := Columns
	for i := range header[:len(header)-1] {
		widest := len(header[i])
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		left -= widest + 2
	}
	return max(left, lastWidth)
}

// Table prints a table and an empty line, or nothing without rows. The layout does not depend on
// the terminal.
func (w *World) Table(header []string, rows [][]string) {
	if len(rows) > 0 {
		w.printer(func(out io.Writer) error { return writeTable(out, header, rows) })
	}
}

func writeTable(out io.Writer, header []string, rows [][]string) error {
	shown := make([][]string, len(rows))
	for i, row := range rows {
		shown[i] = Visible(row)
	}
	header = Visible(header)
	width := wrapAt(header, shown)
	for _, row := range shown {
		last := &row[len(row)-1]
		*last = brokenWords(*last, width)
	}
	var text bytes.Buffer
	t := tablewriter.NewTable(&text,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{
				Lines:      tw.LinesNone,
				Separators: tw.SeparatorsNone,
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off), // it would split words
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithRowMaxWidth(width),
		tablewriter.WithPadding(tw.Padding{Right: "  ", Overwrite: true}),
	)
	for i, name := range header {
		header[i] = strings.ToUpper(name)
	}
	t.Header(header)
	if err := t.Bulk(shown); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	var lines []byte
	for line := range strings.Lines(text.String()) {
		lines = append(append(lines, strings.TrimRight(line, " \n")...), '\n')
	}
	_, err := out.Write(visible.Commands(append(lines, '\n')))
	return err
}

// brokenWords returns text with a space in each word that is wider than a line.
func brokenWords(text string, width int) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		var lines []string
		for line := range slices.Chunk([]rune(word), width) {
			lines = append(lines, string(line))
		}
		words[i] = strings.Join(lines, " ")
	}
	return strings.Join(words, " ")
}

// Visible returns the cells of a row. It quotes a cell with line feeds, tabs or hidden characters.
func Visible(row []string) []string {
	out := slices.Clone(row)
	for i, cell := range row {
		if strings.ContainsAny(cell, "\n\t") || visible.HasHidden(cell) {
			out[i] = strconv.Quote(cell)
		}
	}
	return out
}

// The colors of a result line.
const (
	red   = "\x1b[31m"
	Green = "\x1b[32m"
	reset = "\x1b[0m"
)

// ResultLine prints a last line, green for success and red for failure, unless the output must not
// be colored; see no-color.org.
func (w *World) ResultLine(line string, ok bool) {
	if w.OutTerminal && w.Getenv("NO_COLOR") == "" && w.Getenv("TERM") != "dumb" {
		c := Green
		if !ok {
			c = red
		}
		w.PrintBytes(slices.Concat([]byte(c), visible.Text([]byte(line)), []byte(reset+"\n")))
		return
	}
	w.Printf("%s\n", line)
}

// Report prints the result of a command, and returns its status. The format is json, or a table
// for people: the unreadable records on standard error, tables, and the last line that tables
// returns.
func Report[T fmt.Stringer](w *World, format string, result any, unreadable []T, tables func() (line string), status error) error {
	if format == "json" {
		w.JSON(result)
		return status
	}
	PrintErrors(w, unreadable)
	w.ResultLine(tables(), status == nil)
	return status
}
