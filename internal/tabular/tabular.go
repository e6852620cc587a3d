// Package tabular formats numbers and tables for people. Package cli of the command prints
// tables on a terminal, and evals/report in Markdown.
package tabular

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Filled returns a table without empty columns. It takes ownership of its arguments.
func Filled(header []string, rows [][]string) ([]string, [][]string) {
	for col := len(header) - 1; col >= 0; col-- {
		if slices.ContainsFunc(rows, func(row []string) bool { return row[col] != "" }) {
			continue
		}
		header = slices.Delete(header, col, col+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], col, col+1)
		}
	}
	return header, rows
}

// Count formats a number; 0 is empty.
func Count(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") }

// Short shortens text to a maximum number of characters.
func Short(text string, maxLength int) string {
	if runes := []rune(text); len(runes) > maxLength {
		return string(runes[:maxLength]) + "…"
	}
	return text
}

// Value formats a number with four decimals, or six digits if it is large; nil is "-".
func Value(x *float64) string {
	const large = 100
	switch {
	case x == nil:
		return "-"
	case math.Abs(*x) < large:
		return fmt.Sprintf("%.4f", *x)
	}
	return fmt.Sprintf("%.6g", *x)
}

// Brief formats a number with three digits, or as an integer if it is large.
func Brief(x float64) string {
	const large, digits = 1000, 3
	if math.Abs(x) >= large {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', digits, 64)
}

// Interval formats the bounds of an interval; nil is "-".
func Interval(in *[2]float64) string {
	if in == nil {
		return "-"
	}
	return Value(&in[0]) + " to " + Value(&in[1])
}

// Signed formats a difference.
func Signed(x *float64) string {
	if x != nil && *x > 0 {
		return "+" + Value(x)
	}
	return Value(x)
}

// Probability formats a p-value.
func Probability(p *float64) string {
	const smallest = 0.0001
	if p != nil && *p < smallest {
		return "<" + fmt.Sprint(smallest)
	}
	return Value(p)
}
