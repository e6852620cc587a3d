package cassettes

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/looptape/looptape/internal/jsonio"
)

// secrets are the secrets of an interaction, to be found wherever they are.
type secrets struct {
	known map[string]bool
	// list is how they are spelled: as they are, and in base64.
	list []spelling
}

// spelling is a text that is a secret.
type spelling struct {
	text []rune
	as   string
	mark string
}

// add looks for a secret everywhere from now on, and returns its mark; none if there is
// nothing, or it was redacted: what is left around a mark is no secret.
func (s *secrets) add(secret string) (mark string) {
	if secret == "" || hasMark(secret) {
		return ""
	}
	mark = Mark(secret)
	if len(secret) < leastEcho || s.known[secret] {
		return mark
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[secret] = true
	s.spell(secret, mark)
	for shift := range 3 {
		s.spell(inBase64(base64.RawStdEncoding, secret, shift), mark)
		if url := inBase64(base64.RawURLEncoding, secret, shift); strings.ContainsAny(url, "-_") {
			s.spell(url, mark)
		}
	}
	return mark
}

func (s *secrets) spell(text, mark string) {
	s.list = append(s.list, spelling{[]rune(text), text, mark})
}

// addPair adds what Basic authentication says: base64 of USER:PASSWORD, of which one
// may be empty.
func (s *secrets) addPair(pair string) {
	user, password, found := strings.Cut(pair, ":")
	if !found {
		return
	}
	s.add(pair)
	s.add(password)
	if password == "" || looksRandom(user) {
		s.add(user)
	}
}

// inBase64 is what base64 has for sure of a text that begins shift bytes behind a
// multiple of three.
func inBase64(enc *base64.Encoding, text string, shift int) string {
	all := enc.EncodeToString([]byte("\x00\x00"[:shift] + text))
	return all[(8*shift+5)/6 : 8*(shift+len(text))/6]
}

// span is a part of a text, and what comes in its place.
type span struct {
	from, to int
	with     string
}

// named adds the secrets of a text that is no echo, and returns where they are.
func (s *secrets) named(o *Options, l *leaf) (spans []span) {
	for _, p := range o.secretParts(l) {
		said := l.text[p.from:p.to]
		plain := meaning(said, p.inURL)
		mark := s.add(plain)
		if mark == "" {
			continue
		}
		if strings.EqualFold(strings.TrimSpace(scheme(l.text[:p.to])), "basic") {
			if pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "=")); err == nil {
				s.addPair(string(pair))
			}
		}
		if p.inURL {
			s.addPair(plain)
			mark = urlMark(mark)
		}
		spans = append(spans, span{p.from, p.to, mark})
	}
	return spans
}

// hits adds what has the form of a known key, and returns where it is.
func (s *secrets) hits(text string, list []hit) (spans []span) {
	for _, h := range list {
		if h.known {
			mark := s.add(text[h.from:h.to])
			spans = append(spans, span{h.from, h.to, markIn(text[:h.from], mark)})
		}
	}
	return spans
}

// meaning is what a part of a text says, without its escapes.
func meaning(said string, inURL bool) string {
	if inURL {
		if plain, err := url.QueryUnescape(said); err == nil {
			return plain
		}
	} else if quoted := `"` + said + `"`; strings.Contains(said, `\`) && jsonio.Valid([]byte(quoted)) {
		return unquoted(quoted)
	}
	return said
}

// in reports whether a text has a secret, be it in a mark.
func (s *secrets) in(text string) bool {
	escaped := strings.ContainsAny(text, escapes)
	return slices.ContainsFunc(s.list, func(sp spelling) bool {
		from, _ := sp.find(text, 0, escaped)
		return from >= 0
	})
}

// escapes are what characters are escaped by.
const escapes = `\%+`

// echoes are the places in a text where a secret is, other than in marks.
func (s *secrets) echoes(text string) (spans []span) {
	var done [][]int
	if strings.Contains(text, "redacted") {
		done = markForm.FindAllStringIndex(text, -1)
	}
	escaped := strings.ContainsAny(text, escapes)
	for _, sp := range s.list {
		for at := 0; ; {
			from, to := sp.find(text, at, escaped)
			if from < 0 {
				break
			}
			at = to
			if slices.ContainsFunc(done, func(m []int) bool { return from < m[1] && m[0] < to }) {
				continue
			}
			spans = append(spans, span{from, to, markIn(text[:from], sp.mark)})
		}
	}
	return spans
}

// markIn is a mark as it stands behind a text, which may be the beginning of a URL.
func markIn(before, mark string) string {
	if word := before[strings.LastIndexAny(before, " \t\r\n\"'<>")+1:]; strings.Contains(word, "://") {
		return urlMark(mark)
	}
	return mark
}

// find finds the first place from at where the spelling is; -1 if there is none.
func (sp *spelling) find(text string, at int, escaped bool) (from, to int) {
	from = strings.Index(text[at:], sp.as)
	if from >= 0 {
		from, to = from+at, from+at+len(sp.as)
	}
	if !escaped {
		return from, to
	}
	last := len(text) - 1
	if from >= 0 {
		last = from - 1
	}
	for i := at; i <= last; i++ {
		if c := text[i]; c != sp.as[0] && c != '%' && c != '\\' && c != '+' {
			continue
		}
		if n := sp.escapedAt(text[i:]); n > 0 {
			return i, i + n
		}
	}
	return from, to
}

// escapedAt is how long the spelling is that a text begins with, whatever its
// characters are escaped by; 0 if it does not.
func (sp *spelling) escapedAt(text string) int {
	left := text
	for i, r := range sp.text {
		if r == '\\' {
			continue // backslashes do not count
		}
		plain := left
		if i > 0 {
			plain = strings.TrimLeft(left, `\`)
		}
		n := characterAt(plain, r, len(plain) < len(left))
		if n == 0 {
			return 0
		}
		left = plain[n:]
	}
	return len(text) - len(left)
}

// characterAt is how long the character is that a text begins with, 0 if it is another
// one. Escaped is whether a backslash stands before it.
func characterAt(text string, r rune, escaped bool) int {
	if escaped {
		if n := unicodeAt(text, r); n > 0 {
			return n
		}
		if i := strings.IndexRune("\n\r\t\b\f", r); i >= 0 && text != "" && text[0] == "nrtbf"[i] {
			return 1
		}
	}
	switch word := string(r); {
	case strings.HasPrefix(text, word):
		return len(word)
	case strings.HasPrefix(text, `\u`):
		if n := unicodeAt(text[1:], r); n > 0 {
			return 1 + n
		}
	case r == ' ' && strings.HasPrefix(text, "+"):
		return 1
	case strings.HasPrefix(text, "%"):
		return percentAt(text, word)
	}
	return 0
}

// unicodeAt is how long uXXXX is, which may be two.
func unicodeAt(text string, r rune) int {
	word := ""
	for i, unit := range utf16.AppendRune(nil, r) {
		if i > 0 {
			word += `\`
		}
		word += "u" + strconv.FormatInt(0x10000+int64(unit), 16)[1:]
	}
	if len(text) >= len(word) && strings.EqualFold(text[:len(word)], word) {
		return len(word)
	}
	return 0
}

// percentAt is how long a character is in percent encoding, which may be done twice.
func percentAt(text, character string) int {
	left := text
	for i := range len(character) {
		digits := strings.TrimPrefix(left, "%")
		for len(digits) < len(left) && strings.HasPrefix(digits, "25") && character[i] != '%' {
			digits = digits[2:]
		}
		if len(digits) < 2 || len(digits) == len(left) || !strings.EqualFold(digits[:2], strconv.FormatInt(0x100+int64(character[i]), 16)[1:]) {
			return 0
		}
		left = digits[2:]
	}
	return len(text) - len(left)
}
