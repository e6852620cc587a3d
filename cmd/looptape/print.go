package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// printJSON prints v on one line, without HTML escaping.
func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// A table is at most lineWidth wide, unless its last column would be narrower than
// lastWidth.
const (
	lineWidth = 80
	lastWidth = 32
)

// wrapAt returns the width at which the last column wraps.
func wrapAt(header []string, rows [][]string) int {
	left := lineWidth
	for i := range header[:len(header)-1] {
		widest := len(header[i])
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		left -= widest + 2
	}
	return max(left, lastWidth)
}

// printTable prints a table and an empty line, or nothing without rows. The layout does not
// depend on the terminal.
func printTable(w *world, header []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	shown := visible(rows)
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
	names := slices.Clone(header)
	for i, name := range names {
		names[i] = strings.ToUpper(name)
	}
	t.Header(names)
	if err := t.Bulk(shown); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w.out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w.out)
	return err
}

// brokenWords is a text with a space in each word that is wider than a line.
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

// visible quotes cells with control characters.
func visible(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = slices.Clone(row)
		for j, cell := range row {
			if strings.ContainsFunc(cell, unicode.IsControl) {
				out[i][j] = strconv.Quote(cell)
			}
		}
	}
	return out
}

// The colors of a summary.
const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

// printSummary prints the counts of a check.
func printSummary(w *world, r *report) error {
	line := fmt.Sprintf("%s checked: %s, %s", count(r.Runs, "run"), count(len(r.Violations), "violation"), count(len(r.Unreadable), "unreadable record"))
	if len(r.Suppressed) > 0 {
		line += fmt.Sprintf(", %d accepted", len(r.Suppressed))
	}
	return printResultLine(w, line, r.status() == nil)
}

// printResultLine prints a last line, green for success and red for failure.
func printResultLine(w *world, line string, held bool) error {
	if w.color() {
		c := green
		if !held {
			c = red
		}
		line = c + line + reset
	}
	_, err := fmt.Fprintln(w.out, line)
	return err
}

// count returns a number with its noun, in the plural if needed.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
