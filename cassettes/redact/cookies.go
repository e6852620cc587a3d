package redact

import (
	"regexp"
	"strings"
)

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

// setCookie matches the beginning of a cookie and the end of the previous one: a line, or a
// comma and a name. Dates contain no such comma. Within a value, which may contain commas,
// a space must follow.
var setCookie = regexp.MustCompile(`(?:^|\n)(?:[^=;,\n]*=)?|(?:,[ \t]+|;[^\n]*?,[ \t]*)[^=;,\s]+=`)
