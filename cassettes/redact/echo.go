package redact

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/internal/jsonio"
)

// secrets are known secrets to search for.
type secrets struct {
	known map[string]bool
	searchSet
}

// add remembers a secret and returns its placeholder. It returns the empty string if secret
// is empty or contains a placeholder.
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
	secret = secret[:min(len(secret), maxSearched)]
	s.addItem(secret, mark)
	for shift := range 3 {
		s.addItem(inBase64(base64.RawStdEncoding, secret, shift), mark)
		if url := inBase64(base64.RawURLEncoding, secret, shift); strings.ContainsAny(url, "-_") {
			s.addItem(url, mark)
		}
	}
	return mark
}

// maxSearched limits the searched part of a secret; most servers accept no longer header.
const maxSearched = 8 << 10

// addPair adds the user and password of Basic authentication.
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

// inBase64 returns the base64 digits that depend only on text, if text begins shift bytes
// after a multiple of three.
func inBase64(enc *base64.Encoding, text string, shift int) string {
	all := enc.EncodeToString([]byte("\x00\x00"[:shift] + text))
	return all[(8*shift+5)/6 : 8*(shift+len(text))/6]
}

type span struct {
	from, to int
	with     string
}

// named adds the secrets that names in text mark and returns their positions.
func (s *secrets) named(o *Rules, l *leaf) (spans []span) {
	for _, p := range o.secretParts(l) {
		said := l.text[p.from:p.to]
		plain := decodedValue(said, p.encoded)
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

// hits adds the secrets with a known shape and returns their positions.
func (s *secrets) hits(text string, list []hit) (spans []span) {
	for _, h := range list {
		if h.known {
			mark := s.add(text[h.from:h.to])
			spans = append(spans, span{h.from, h.to, placeholderIn(text[:h.from], mark)})
		}
	}
	return spans
}

// decodedValue decodes escapes, or percent encoding repeatedly.
func decodedValue(said string, encoded int) string {
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

// occurrences returns the positions of secrets outside of placeholders. If text may be
// truncated, it includes the beginning of a secret at the end.
func (s *secrets) occurrences(text string, cut bool) (spans []span) {
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
			spans = append(spans, span{from, from + n, placeholderIn(text[:from], mark)})
		}
	}
	return spans
}

// maxURL limits the length of a URL before a secret.
const maxURL = 4096

// placeholderIn returns the placeholder in the form for its context, which may be a URL.
func placeholderIn(before, mark string) string {
	before = before[max(0, len(before)-maxURL):]
	if word := before[strings.LastIndexAny(before, " \t\r\n\"'<>")+1:]; strings.Contains(word, "://") {
		return match.EscapedPlaceholder(mark)
	}
	return mark
}
