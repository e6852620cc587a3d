// Package markdown escapes untrusted text for GitHub-flavored Markdown.
package markdown

import (
	"regexp"
	"strings"

	"github.com/looptape/looptape/internal/visible"
)

// links parts the beginnings of links.
var links = strings.NewReplacer("://", ":&#8203;//", "www.", "www&#8203;.", "WWW.", "WWW&#8203;.", "mailto:", "mailto&#8203;:", "xmpp:", "xmpp&#8203;:")

// issue matches a reference to an issue, such as GH-77.
var issue = regexp.MustCompile(`(?i)\b(gh)(-[0-9])`)

// spaced replaces a control character of ASCII by a space.
func spaced(c rune) rune {
	if c < ' ' || c == 0x7f {
		return ' '
	}
	return c
}

// Plain is a string that means nothing but itself in a line of Markdown or a cell of a
// table: neither markup, nor HTML, nor a mention of a user. GitHub looks for mentions
// and issues where backslashes are gone already, so a space of no width parts what would
// be one. The same parts what GitHub would make a link of
// (https://github.github.com/gfm/#autolinks-extension-). Characters that change the direction of
// text are escaped.
func Plain(text string) string {
	var b strings.Builder
	for _, c := range visible.Escaped(strings.Map(spaced, text)) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&@$", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
		if c == '@' || c == '#' {
			b.WriteString("&#8203;")
		}
	}
	return issue.ReplaceAllString(links.Replace(b.String()), "$1&#8203;$2")
}
