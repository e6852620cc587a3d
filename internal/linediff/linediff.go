// Package linediff shows where two texts differ.
package linediff

import "strings"

// context is the number of equal lines before the first difference.
const context = 2

// Lines returns the lines from shortly before the first difference to the last one: equal ones, those that only a
// has (-) and those that only b has (+). at is the number of the first line that differs, from 1. Equal texts give "".
func Lines(a, b string) (text string, at int) {
	if a == b {
		return "", 0
	}
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for x[at] == y[at] { // ends at the last line, since only that one has no newline
		at++
	}
	end := 0
	for end < min(len(x), len(y))-at && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	var out strings.Builder
	put := func(sign string, lines []string) {
		for _, l := range lines {
			if l != "" {
				out.WriteString(sign + strings.TrimSuffix(l, "\n") + "\n")
			}
		}
	}
	put("  ", x[max(0, at-context):at])
	put("- ", x[at:len(x)-end])
	put("+ ", y[at:len(y)-end])
	return out.String(), at + 1
}
