package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

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
	if len(secret) < match.MinSecret || isOrdinary(secret) || s.known[secret] {
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

const maxURL = 4096 // length of a URL before a secret

// placeholderIn returns the placeholder in the form for its context, which may be a URL.
func placeholderIn(before, mark string) string {
	before = before[max(0, len(before)-maxURL):]
	if word := before[strings.LastIndexAny(before, " \t\r\n\"'<>")+1:]; strings.Contains(word, "://") {
		return match.EscapedPlaceholder(mark)
	}
	return mark
}

// searchSet is a set of strings to search for, escaped with backslashes or percent-encoded in
// any way.
type searchSet struct {
	list    []searchItem
	ordered int       // number of sorted items
	begins  [256]bool // their first bytes
}

// searchItem is a string to search for, without backslashes, which are ignored.
type searchItem struct {
	text string
	mark string
}

func (s *searchSet) addItem(text, mark string) {
	if text = strings.ReplaceAll(text, `\`, ""); text != "" {
		s.list = append(s.list, searchItem{text, mark})
	}
}

func (s *searchSet) order() {
	if s.ordered == len(s.list) {
		return
	}
	for _, sp := range s.list[s.ordered:] {
		s.begins[sp.text[0]] = true
	}
	for _, c := range `\%+` {
		s.begins[c] = true
	}
	slices.SortStableFunc(s.list, func(a, b searchItem) int { return strings.Compare(a.text, b.text) })
	s.ordered = len(s.list)
}

// at returns the length of the longest item at the beginning of text, and its placeholder.
// If text may be truncated, all of it may be the beginning of an item.
func (s *searchSet) at(text string, cut bool) (n int, mark string) {
	search{text: text, cut: cut, found: func(to int, with string) {
		if to > n {
			n, mark = to, with
		}
	}}.from(s.list, 0, 0)
	return n, mark
}

type search struct {
	text  string
	cut   bool // accept the beginning of an item at the end
	found func(to int, mark string)
}

// from continues with the items whose first bytes matched.
func (s search) from(list []searchItem, bytes, at int) {
	for {
		for len(list) > 0 && len(list[0].text) == bytes {
			s.found(at, list[0].mark)
			list = list[1:]
		}
		if len(list) == 0 {
			return
		}
		if at == len(s.text) {
			if s.cut && bytes >= match.MinSecret {
				s.found(at, list[0].mark)
			}
			return
		}
		if strings.IndexByte(`\%+`, s.text[at]) >= 0 {
			break
		}
		list = beginning(list, bytes, s.text[at:at+1]) // a literal byte
		bytes, at = bytes+1, at+1
	}
	left := s.text[at:]
	plain := left
	if bytes > 0 || strings.HasPrefix(left, `\u`) {
		plain = strings.TrimLeft(left, `\`)
	}
	next := func(said string, n int) {
		if among := beginning(list, bytes, said); len(among) > 0 {
			s.from(among, bytes+len(said), len(s.text)-len(plain)+n)
		}
	}
	if plain == "" {
		return
	}
	if len(plain) < len(left) {
		escape(plain, next)
	}
	if bytes > 0 || len(plain) == len(left) {
		next(plain[:1], 1)
	}
	switch plain[0] {
	case '+':
		next(" ", 1)
	case '%':
		percent(plain, next)
	}
}

// beginning returns the items of a sorted list that continue with these bytes.
func beginning(list []searchItem, from int, said string) []searchItem {
	if len(list) == 1 {
		if strings.HasPrefix(list[0].text[from:], said) {
			return list
		}
		return nil
	}
	for i := range len(said) {
		byByte := func(sp searchItem, c int) int {
			if from+i == len(sp.text) {
				return -1
			}
			return int(sp.text[from+i]) - c
		}
		c := int(said[i])
		first, _ := slices.BinarySearchFunc(list, c, byByte)
		end, _ := slices.BinarySearchFunc(list, c+1, byByte)
		list = list[first:end]
	}
	return list
}

func escape(text string, next func(said string, n int)) {
	if i := strings.IndexByte("nrtbf", text[0]); i >= 0 {
		next("\n\r\t\b\f"[i:i+1], 1)
	}
	r, ok := hexRune(text)
	if !ok {
		return
	}
	n := len("uXXXX")
	if low, ok := hexRune(strings.TrimPrefix(text[n:], `\`)); ok && text[n] == '\\' && utf16.IsSurrogate(r) {
		r, n = utf16.DecodeRune(r, low), 2*n+1
	}
	next(string(utf8.AppendRune(nil, r)), n)
}

func hexRune(text string) (rune, bool) {
	if len(text) < len("uXXXX") || text[0] != 'u' {
		return 0, false
	}
	code, err := strconv.ParseUint(text[1:len("uXXXX")], 16, 16)
	return rune(code), err == nil
}

func percent(text string, next func(said string, n int)) {
	digits := text[1:]
	for strings.HasPrefix(digits, "25") {
		digits = digits[2:]
		next("%", len(text)-len(digits))
	}
	if len(digits) < 2 {
		return
	}
	if c, err := strconv.ParseUint(digits[:2], 16, 8); err == nil {
		next(string([]byte{byte(c)}), len(text)-len(digits)+2)
	}
}
