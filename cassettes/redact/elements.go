package redact

import (
	"regexp"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// elements are the values in a text that stand in elements of XML with the names of
// secrets. One that was cut counts as a word without quotes does.
func (o *Rules) elements(text string) (parts []part) {
	if !strings.Contains(text, "<") {
		return nil
	}
	for _, at := range element.FindAllStringSubmatchIndex(text, -1) {
		name, said, end := text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]
		if end != "</" && !isLongWord(said) {
			continue
		}
		if s := o.secrecy(kindBody, name); s == secretAlways || s == secretIfRandom && looksRandom(said) {
			parts = append(parts, part{from: at[4], to: at[5]})
		}
	}
	return parts
}

// element is the beginning of an element with a text, up to its end or that of all.
var element = regexp.MustCompile(`<(?:[\w.-]+:)?([\w-]+)(?:\s[^<>]*)?>\s*([^<>\s][^<>]*?)\s*(</|<?$)`)

// isLongWord reports whether a text is one word that is long and has a digit.
func isLongWord(text string) bool {
	return len(text) >= match.MinSecret && !strings.ContainsAny(text, " \t\r\n") && strings.ContainsAny(text, "0123456789")
}
