package redact

import (
	"regexp"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// elements returns the values of XML elements with secret names. A truncated value counts
// if it is long and has a digit.
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

// element matches an element with text, up to its end or the end of the input.
var element = regexp.MustCompile(`<(?:[\w.-]+:)?([\w-]+)(?:\s[^<>]*)?>\s*([^<>\s][^<>]*?)\s*(</|<?$)`)

func isLongWord(text string) bool {
	return len(text) >= match.MinSecret && !strings.ContainsAny(text, " \t\r\n") && strings.ContainsAny(text, "0123456789")
}
