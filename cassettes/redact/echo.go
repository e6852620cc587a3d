package redact

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/internal/jsonio"
)

// secrets are the secrets of an interaction, to be found wherever they are.
type secrets struct {
	known map[string]bool
	spellings
}

// add looks for a secret everywhere from now on, and returns its mark; none if there is
// nothing, or it was redacted: what is left around a mark is no secret.
func (s *secrets) add(secret string) (mark string) {
	if secret == "" || match.HasPlaceholder(secret) {
		return ""
	}
	mark = match.Placeholder(secret)
	if len(secret) < match.MinSecret || s.known[secret] {
		return mark
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[secret] = true
	secret = secret[:min(len(secret), mostEcho)]
	s.spell(secret, mark)
	for shift := range 3 {
		s.spell(inBase64(base64.RawStdEncoding, secret, shift), mark)
		if url := inBase64(base64.RawURLEncoding, secret, shift); strings.ContainsAny(url, "-_") {
			s.spell(url, mark)
		}
	}
	return mark
}

// mostEcho is how much of a secret is looked for everywhere: more than most servers take in
// one header.
const mostEcho = 8 << 10

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
func (s *secrets) named(o *Rules, l *leaf) (spans []span) {
	for _, p := range o.secretParts(l) {
		said := l.text[p.from:p.to]
		plain := meaning(said, p.encoded)
		mark := s.add(plain)
		if mark == "" {
			continue
		}
		if strings.EqualFold(strings.TrimSpace(scheme(l.text[:p.to])), "basic") {
			if pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "=")); err == nil {
				s.addPair(string(pair))
			}
		}
		if p.encoded > 0 {
			s.addPair(plain)
		}
		for range p.encoded {
			mark = match.EscapedPlaceholder(mark)
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

// meaning is what a part of a text says, without its escapes and so many percent encodings.
func meaning(said string, encoded int) string {
	for range encoded {
		if plain, err := url.QueryUnescape(said); err == nil {
			said = plain
		}
	}
	if quoted := `"` + said + `"`; encoded == 0 && strings.Contains(said, `\`) && jsonio.Valid([]byte(quoted)) {
		return unquoted(quoted)
	}
	return said
}

// echoes are the places in a text where a secret is, other than in marks; in one that may
// have been cut, also the beginning of a secret at its end.
func (s *secrets) echoes(text string, cut bool) (spans []span) {
	if len(s.list) == 0 {
		return nil
	}
	s.order()
	var done [][]int
	if strings.Contains(text, "redacted") {
		done = match.PlaceholderPattern.FindAllStringIndex(text, -1)
	}
	for from := range len(text) {
		if !s.begins[text[from]] {
			continue
		}
		n, mark := s.at(text[from:], cut)
		if n == 0 {
			continue
		}
		for len(done) > 0 && done[0][1] <= from {
			done = done[1:]
		}
		if len(done) == 0 || from+n <= done[0][0] {
			spans = append(spans, span{from, from + n, markIn(text[:from], mark)})
		}
	}
	return spans
}

// mostURL is how long a URL is before what is secret in it.
const mostURL = 4096

// markIn is a mark as it stands behind a text, which may be the beginning of a URL.
func markIn(before, mark string) string {
	before = before[max(0, len(before)-mostURL):]
	if word := before[strings.LastIndexAny(before, " \t\r\n\"'<>")+1:]; strings.Contains(word, "://") {
		return match.EscapedPlaceholder(mark)
	}
	return mark
}
