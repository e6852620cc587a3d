package tape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WrittenURL returns a URL as cassettes contain it: spaces and unprintable characters are
// percent-encoded.
func WrittenURL(text string) string {
	return escaped(text, func(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) })
}

// EscapedURL returns a URL with all non-ASCII characters percent-encoded.
func EscapedURL(text string) string {
	return escaped(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func escaped(text string, escape func(rune) bool) string {
	if strings.IndexFunc(text, escape) < 0 {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if escape(r) {
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
