package trace

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// TextError says where a text form is wrong, and how.
type TextError struct {
	Line, Column int // counted from 1, the column in characters
	Msg          string
}

func (e *TextError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg) }

// scanner reads the tokens of one line. Its first error stays, and ends the
// line.
type scanner struct {
	s   string
	i   int
	err *TextError
}

func (s *scanner) fail(at int, format string, args ...any) {
	if s.err == nil {
		s.err = &TextError{Column: utf8.RuneCountInString(s.s[:at]) + 1, Msg: fmt.Sprintf(format, args...)}
	}
	s.i = len(s.s)
}

// peek returns the first byte of the next token, or 0 at the end of the line.
func (s *scanner) peek() byte {
	for s.i < len(s.s) && s.s[s.i] == ' ' {
		s.i++
	}
	return s.next()
}

// next returns the next byte, be it a space.
func (s *scanner) next() byte {
	if s.i < len(s.s) {
		return s.s[s.i]
	}
	return 0
}

// accept reads c if it comes at once.
func (s *scanner) accept(c byte) bool {
	if s.next() != c {
		return false
	}
	s.i++
	return true
}

func (s *scanner) expect(c byte) {
	if s.peek(); !s.accept(c) {
		s.fail(s.i, "expected %q", c)
	}
}

func (s *scanner) end() {
	if s.peek() != 0 {
		s.fail(s.i, "expected the end of the line")
	}
}

const base64Start = `b64"`

// isQuoted reports whether a quoted string comes next.
func (s *scanner) isQuoted() bool {
	return s.peek() == '"' || strings.HasPrefix(s.s[s.i:], base64Start)
}

// bare returns the word that comes next, without reading it; it is empty if
// something else comes.
func (s *scanner) bare() string {
	if s.isQuoted() {
		return ""
	}
	end := s.i
	for end < len(s.s) && isWordByte(s.s[end]) {
		end++
	}
	return s.s[s.i:end]
}

// text reads a word or a quoted string.
func (s *scanner) text() string {
	switch word := s.bare(); {
	case word != "":
		s.i += len(word)
		return word
	case s.peek() == '"':
		return s.json((*jsonio.Dec).String)
	case s.isQuoted():
		return string(s.base64())
	}
	s.fail(s.i, "expected a word or a string in double quotes")
	return ""
}

func (s *scanner) base64() []byte {
	at := s.i
	if !strings.HasPrefix(s.s[s.i:], base64Start) {
		s.fail(at, "expected a string of base64, %s…\"", base64Start)
		return nil
	}
	s.i += len(base64Start)
	text, _, ok := strings.Cut(s.s[s.i:], `"`)
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		s.fail(at, "not base64")
		return nil
	}
	s.i += len(text) + 1
	return b
}

// json reads one JSON value.
func (s *scanner) json(read func(*jsonio.Dec) string) string {
	s.peek()
	d := jsonio.NewDec(s.s[s.i:])
	v := read(&d)
	if err, ok := errors.AsType[*jsonio.SyntaxError](d.Err()); ok {
		s.fail(s.i+err.Offset, "%s", err.Msg)
		return ""
	}
	s.i += d.Offset()
	return v
}

func (s *scanner) raw() json.RawMessage { return json.RawMessage(s.json((*jsonio.Dec).Raw)) }

// value reads arguments or a result: JSON as it stands, or a string.
func (s *scanner) value() string {
	if c := s.peek(); c == '{' || c == '[' {
		return s.json((*jsonio.Dec).Raw)
	}
	return s.text()
}

// number reads a whole number.
func (s *scanner) number() int64 {
	s.peek()
	from := s.i
	s.accept('-')
	for c := s.next(); c >= '0' && c <= '9'; c = s.next() {
		s.i++
	}
	n, err := strconv.ParseInt(s.s[from:s.i], 10, 64)
	if err != nil {
		s.fail(from, "expected a whole number")
	}
	return n
}

func (s *scanner) int() int { return int(s.number()) }

// duration reads a duration as Go spells it.
func (s *scanner) duration() time.Duration {
	s.peek()
	rest := s.s[s.i:]
	text := rest[:strings.IndexAny(rest+" ", " ;)")]
	d, err := time.ParseDuration(text)
	if err != nil {
		s.fail(s.i, "expected a duration, as in 1m30s or 20ms")
		return 0
	}
	s.i += len(text)
	return d
}

func (s *scanner) truth() bool {
	at := s.i
	word := s.text()
	if word != "true" && word != "false" {
		s.fail(at, "expected true or false")
	}
	return word == "true"
}

func (s *scanner) words() []string {
	list := []string{s.text()}
	for s.accept(',') {
		list = append(list, s.text())
	}
	return list
}

func (s *scanner) usage() llm.Usage {
	u := llm.Usage{InputTokens: s.number()}
	s.expect('/')
	u.OutputTokens = s.number()
	if s.accept('(') {
		s.members(func(name string) bool {
			switch name {
			case "cached=":
				u.CacheReadInputTokens = s.number()
			case "cache_write=":
				u.CacheCreationInputTokens = s.number()
			case "reasoning=":
				u.ReasoningOutputTokens = s.number()
			default:
				return false
			}
			return true
		})
		s.expect(')')
	}
	return u
}

// atKey reports whether the word that comes next is a member's name.
func (s *scanner) atKey() bool {
	end := s.i + len(s.bare())
	return end > s.i && end < len(s.s) && s.s[end] == '='
}

// members reads what comes as key=value or as a bare word. Member gets the key
// with its =, or the word, and reads the value; it returns false for what it
// does not know.
func (s *scanner) members(member func(name string) bool) {
	for s.bare() != "" {
		s.member(member)
	}
}

func (s *scanner) member(member func(name string) bool) {
	name, at := s.bare(), s.i
	if s.atKey() {
		name += "="
	}
	s.i += len(name)
	if !member(name) {
		s.fail(at, "%s is not known here", name)
	}
}
