package redact

import (
	"regexp"
	"strings"
)

// cookies are the values of cookies.
func cookies(text string) (parts []part) {
	at := 0
	for _, pair := range strings.SplitAfter(text, ";") {
		value := strings.TrimRight(pair, "; ")
		_, secret, found := strings.Cut(value, "=")
		if !found {
			secret = strings.TrimLeft(value, " ")
		}
		parts = append(parts, part{from: at + len(value) - len(secret), to: at + len(value)})
		at += len(pair)
	}
	return parts
}

// setCookies are the values of the cookies that a server sets, of which there may be
// several in one header.
func setCookies(text string) (parts []part) {
	begins := setCookie.FindAllStringIndex(text, -1)
	for i, at := range begins {
		value := text[at[1]:]
		if i+1 < len(begins) {
			value = text[at[1]:begins[i+1][0]]
		}
		value, _, _ = strings.Cut(value, ";")
		parts = append(parts, part{from: at[1], to: at[1] + len(strings.TrimRight(value, " \t\r"))})
	}
	return parts
}

// setCookie is what stands before the value of a cookie, with what the one before it ends
// with: a line, or a comma with a name behind it. In dates there is none. In a value, which
// may have commas, there has to be a space, too.
var setCookie = regexp.MustCompile(`(?:^|\n)(?:[^=;,\n]*=)?|(?:,[ \t]+|;[^\n]*?,[ \t]*)[^=;,\s]+=`)
