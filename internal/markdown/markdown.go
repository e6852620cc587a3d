// Package markdown escapes untrusted text for GitHub-flavored Markdown.
package markdown

import "strings"

// Plain is a string that means nothing but itself in a line of Markdown or a cell of a
// table: neither markup, nor HTML, nor a mention of a user. GitHub looks for mentions
// and issues where backslashes are gone already, so a space of no width parts what would
// be one.
func Plain(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c < ' ' || c == 0x7f:
			c = ' '
		case strings.ContainsRune("\\`*_{}[]<>()#+!|~&@$", c):
			b.WriteByte('\\')
		}
		b.WriteRune(c)
		if c == '@' || c == '#' {
			b.WriteString("&#8203;")
		}
	}
	return b.String()
}
