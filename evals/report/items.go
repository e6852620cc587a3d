package report

import (
	"fmt"

	"github.com/looptape/looptape/internal/tabular"
)

// Maximum lengths in characters of explanations in tables.
const (
	maxExplanation = 160 // unless its first item is longer
	maxItem        = 1000
)

// shortItems shortens an explanation between its items, such as "a; b; 2 more". Items are separated by
// semicolons outside of quoted text and JSON.
func shortItems(text string) string {
	if len([]rune(text)) <= maxExplanation {
		return text
	}
	all := items(text)
	kept, length := 0, 0
	for kept < len(all) {
		length += len([]rune(all[kept])) + len("; ")
		if kept > 0 && length > maxExplanation {
			break
		}
		kept++
	}
	short := tabular.Short(all[0], maxItem)
	for _, item := range all[1:kept] {
		short += "; " + item
	}
	if more := len(all) - kept; more > 0 {
		short += fmt.Sprintf("; %d more", more)
	}
	return short
}

// items returns the items of an explanation.
func items(text string) (list []string) {
	quoted, escaped, depth, from := false, false, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth = max(0, depth-1)
		case depth == 0 && c == ';' && i+1 < len(text) && text[i+1] == ' ':
			list = append(list, text[from:i])
			from = i + len("; ")
		}
	}
	return append(list, text[from:])
}
