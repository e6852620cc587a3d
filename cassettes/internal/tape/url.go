package tape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WrittenURL is a URL as cassettes have it: spaces and what cannot be printed stand in
// percent encoding, and the rest as it is. Clients of Go send a query as it is, too.
func WrittenURL(text string) string {
	return escaped(text, func(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) })
}

// EscapedURL is a URL as it counts: all that is not ASCII stands in percent encoding, too.
func EscapedURL(text string) string {
	return escaped(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// escaped has what is odd in percent encoding, and the rest as it is.
func escaped(text string, odd func(rune) bool) string {
	if strings.IndexFunc(text, odd) < 0 {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if odd(r) {
			for _, c := range []byte(text[:n]) {
				out = fmt.Appendf(out, "%%%02X", c)
			}
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return string(out)
}
