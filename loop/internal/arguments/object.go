// Package arguments checks, completes and decodes the arguments of tool calls.
package arguments

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

// maxDepth is the nesting limit of arguments, far above that of providers (quirk QT-09).
const maxDepth = 1000

// Error reports why arguments are not a usable JSON object.
type Error struct {
	Truncated bool // the arguments end in the middle
	message   string
}

func (e *Error) Error() string { return e.message }

// CheckObject reports why the arguments are not one complete JSON object that every
// provider accepts in a history: another type, trailing data, duplicate members,
// lone surrogates, excessive depth, or invalid UTF-8.
func CheckObject(args string) *Error {
	if args == "{}" || isPlain(args) {
		return nil
	}
	d := jsonio.NewDec(args)
	var problem string
	object := d.Peek() == '{'
	if object {
		problem = walk(&d, 1)
	} else {
		d.Skip()
	}
	if err := d.End(); err != nil {
		syntax, _ := errors.AsType[*jsonio.SyntaxError](err)
		return &Error{syntax.Offset >= len(args), "the arguments are not JSON: " + err.Error()}
	}
	switch {
	case !object:
		return &Error{message: "the arguments are JSON, but not an object"}
	case problem != "":
		return &Error{message: problem}
	case !utf8.ValidString(args):
		return &Error{message: "the arguments are not valid UTF-8"}
	case hasLoneSurrogate(args):
		return &Error{message: "the arguments have half of a surrogate pair"}
	}
	return nil
}

// isPlain reports whether the arguments are an object with strings and whole numbers as
// members, in ASCII without escapes and white space. Most arguments are, and need no decoder.
func isPlain(args string) bool {
	var seen members
	i := 0
	for opening := byte('{'); i < len(args) && args[i] == opening; opening = ',' {
		name := plainValue(args[i+1:])
		i += 1 + len(name)
		if name == "" || name[0] != '"' || i == len(args) || args[i] != ':' || seen.add(name) {
			return false
		}
		value := plainValue(args[i+1:])
		i += 1 + len(value)
		if value == "" {
			return false
		}
	}
	return i > 0 && args[i:] == "}"
}

// plainValue returns the plain string or whole number that s begins with; "" for any other value.
func plainValue(s string) string {
	if s == "" || s[0] != '"' {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' && s[0] != '0' {
			n++
		}
		return s[:n]
	}
	for i := 1; i < len(s) && ' ' <= s[i] && s[i] != '\\' && s[i] < utf8.RuneSelf; i++ {
		if s[i] == '"' {
			return s[:i+1]
		}
	}
	return ""
}

// walk reads a value and returns its first problem beyond syntax.
func walk(d *jsonio.Dec, depth int) (problem string) {
	if depth > maxDepth {
		d.Skip()
		return fmt.Sprintf("the arguments are nested more than %d deep", maxDepth)
	}
	note := func(p string) { problem = cmp.Or(problem, p) }
	switch d.Peek() {
	case '{':
		var seen members
		for key := range d.Members() {
			if seen.add(key) {
				note(fmt.Sprintf("the arguments have the member %q twice", key))
			}
			note(walk(d, depth+1))
		}
	case '[':
		for range d.Elements() {
			note(walk(d, depth+1))
		}
	default:
		d.Skip()
	}
	return problem
}

// members is a set of names. A small set needs no map.
type members struct {
	few  [8]string
	n    int
	many map[string]bool
}

// add adds key and reports whether the set contained it.
func (m *members) add(key string) (duplicate bool) {
	switch {
	case m.has(key):
		return true
	case m.n < len(m.few):
		m.few[m.n] = key
		m.n++
		return false
	case m.many == nil:
		m.many = map[string]bool{}
	}
	m.many[key] = true
	return false
}

func (m *members) has(key string) bool { return slices.Contains(m.few[:m.n], key) || m.many[key] }

// hasLoneSurrogate reports whether valid JSON contains an escape of half a pair.
func hasLoneSurrogate(s string) bool {
	if !strings.Contains(s, `\u`) {
		return false
	}
	for i := strings.IndexByte(s, '\\'); i >= 0; i = strings.IndexByte(s, '\\') {
		s = s[i:]
		switch unit := escaped(s); {
		case !utf16.IsSurrogate(unit):
			s = s[2:]
		case utf16.DecodeRune(unit, escaped(s[6:])) == utf8.RuneError:
			return true
		default:
			s = s[12:]
		}
	}
	return false
}

// escaped returns the code unit whose \u escape s begins with, or 0.
func escaped(s string) rune {
	if len(s) < 6 || s[:2] != `\u` {
		return 0
	}
	unit, _ := strconv.ParseUint(s[2:6], 16, 16)
	return rune(unit)
}
