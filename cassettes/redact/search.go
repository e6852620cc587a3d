package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/internal/match"
)

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
