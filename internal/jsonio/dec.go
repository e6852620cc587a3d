package jsonio

import (
	"fmt"
	"iter"
	"strconv"
)

// MaxDepth is the maximum depth of arrays and objects. Package encoding/json has the same limit.
const MaxDepth = 10000

// Dec reads one JSON text from a string, in order, without copying strings
// that have no escapes. Its first error stays; every later read then returns
// zero values, so a caller may look at End alone.
//
// A copy of a Dec reads on by itself. A Dec and its copies are for one
// goroutine.
type Dec struct {
	s     string
	i     int
	depth int
	err   *SyntaxError
	mem   *Arena // for strings with escapes; nil before the first one
	valid bool   // the text is valid, so that Skip does not validate it

	// Version is the version of the format that the text has, for its readers;
	// 0 means unknown.
	Version int
}

// SyntaxError reports what is invalid in a JSON text, and where.
type SyntaxError struct {
	Msg    string
	Offset int    // in bytes from the start of the text
	Path   string // of the value, as in `new[0].parts[1]`; empty at the top
}

func (e *SyntaxError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s (byte %d)", e.Msg, e.Offset+1)
	}
	return fmt.Sprintf("%s at %s (byte %d)", e.Msg, e.Path, e.Offset+1)
}

// NewDec returns a decoder of s, which it keeps: strings that it returns share
// the memory of s. The caller checks that s is valid UTF-8.
func NewDec(s string) Dec { return Dec{s: s} }

// NewValidDec is NewDec for a text that is known to be valid JSON, which makes Skip and Raw faster.
// Of an invalid text, they return any part, and other methods may return errors.
func NewValidDec(s string) Dec { return Dec{s: s, valid: true} }

// NewDecIn is NewDec with the memory that strings with escapes are put in; it
// may serve many decoders, one after another.
func NewDecIn(mem *Arena, s string) Dec { return Dec{s: s, mem: mem} }

// NewValidDecIn is NewValidDec with the memory of NewDecIn.
func NewValidDecIn(mem *Arena, s string) Dec { return Dec{s: s, mem: mem, valid: true} }

// Fail records an error at the current place, if there is none yet.
func (d *Dec) Fail(msg string) { d.failAt(d.i, msg) }

func (d *Dec) failAt(at int, msg string) {
	if d.err == nil {
		at = min(at, len(d.s))
		d.err = &SyntaxError{Msg: msg, Offset: at, Path: pathAt(d.s[:at])}
	}
	d.i = len(d.s)
}

// Err returns the first error, or nil.
func (d *Dec) Err() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

// End returns the first error, or one if something follows the value.
func (d *Dec) End() error {
	if d.err == nil {
		d.space()
		if d.i < len(d.s) {
			d.Fail("something follows the JSON value")
		}
	}
	return d.Err()
}

// Short reports whether the first error is at the end of the text, so that more text may
// correct it.
func (d *Dec) Short() bool { return d.err != nil && d.err.Offset == len(d.s) }

// Offset returns the current offset in bytes.
func (d *Dec) Offset() int { return d.i }

// Since returns the text from a former Offset up to here, without the space
// before it.
func (d *Dec) Since(from int) string {
	s := d.s[from:min(d.i, len(d.s))]
	for s != "" && (s[0] == ' ' || s[0] == '\n' || s[0] == '\r' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

func (d *Dec) space() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

// Peek returns the first byte of the next value, or 0 at the end: one of
// `{["tfn`, `-` or a digit, if the text is JSON.
func (d *Dec) Peek() byte {
	if d.i < len(d.s) && d.s[d.i] > ' ' {
		return d.s[d.i]
	}
	return d.peek()
}

func (d *Dec) peek() byte {
	d.space()
	if d.i >= len(d.s) {
		return 0
	}
	return d.s[d.i]
}

func (d *Dec) open(c byte, what string) bool {
	if d.Peek() != c || d.err != nil {
		d.Fail("expected " + what)
		return false
	}
	if d.depth++; d.depth > MaxDepth {
		d.Fail("nested too deeply")
		return false
	}
	d.i++
	return true
}

// Object begins to read an object; Key then returns its members.
func (d *Dec) Object() bool { return d.open('{', "an object") }

// Key returns the next member's name; ok is false when the object has ended.
// The caller must read the value of the member, or call [Dec.Skip]. First is true if no
// member was read yet; Key clears it.
func (d *Dec) Key(first *bool) (key string, ok bool) {
	if from := d.nameAt(*first); from > 0 {
		// The usual case, in one go: a name without escapes, no space around it.
		if i := plain(d.s, from); i+1 < len(d.s) && d.s[i] == '"' && d.s[i+1] == ':' {
			*first = false
			d.i = i + 2
			return d.s[from:i], true
		}
	}
	if !d.more('}', first) {
		return "", false
	}
	if d.Peek() != '"' {
		d.Fail("expected a member's name in double quotes")
		return "", false
	}
	key = d.String()
	d.space()
	if d.err != nil {
		return "", false
	}
	if d.i >= len(d.s) || d.s[d.i] != ':' {
		d.Fail("expected a colon after the member's name")
		return "", false
	}
	d.i++
	return key, true
}

// nameAt returns where the name of the next member begins if it follows its comma and quote
// without white space; otherwise 0.
func (d *Dec) nameAt(first bool) int {
	i := d.i
	if !first {
		if i >= len(d.s) || d.s[i] != ',' {
			return 0
		}
		i++
	}
	if i >= len(d.s) || d.s[i] != '"' {
		return 0
	}
	return i + 1
}

// Member reads the name of the next member if it is key, without escapes and white space. This
// package writes names so. Otherwise Member reads nothing, and [Dec.Key] returns the name.
func (d *Dec) Member(key string, first *bool) bool {
	from := d.nameAt(*first)
	end := from + len(key)
	if from == 0 || end+1 >= len(d.s) || d.s[end] != '"' || d.s[end+1] != ':' || d.s[from:end] != key {
		return false
	}
	*first = false
	d.i = end + 2
	return true
}

// Array begins to read an array; More then reports whether an element follows.
func (d *Dec) Array() bool { return d.open('[', "an array") }

// More reports whether the array has another element, which must then be read.
func (d *Dec) More(first *bool) bool { return d.more(']', first) }

func (d *Dec) more(closing byte, first *bool) bool {
	c := d.Peek()
	switch {
	case d.err != nil:
		return false
	case c == closing:
		d.i++
		d.depth--
		return false
	case *first:
		*first = false
		if c == 0 {
			d.Fail("the text ends too early")
			return false
		}
		return true
	case c == ',':
		d.i++
		if d.Peek() == closing {
			d.Fail("a comma before the end")
			return false
		}
		return true
	case c == 0:
		d.Fail("the text ends too early")
	default:
		d.Fail("expected a comma or the end")
	}
	return false
}

// Null reads null if it comes next.
func (d *Dec) Null() bool {
	if d.Peek() == 'n' {
		d.word("null")
		return true
	}
	return false
}

// Bool reads true or false.
func (d *Dec) Bool() bool {
	switch d.Peek() {
	case 't':
		d.word("true")
		return d.err == nil
	case 'f':
		d.word("false")
	default:
		d.Fail("expected true or false")
	}
	return false
}

func (d *Dec) word(w string) {
	if len(d.s)-d.i < len(w) || d.s[d.i:d.i+len(w)] != w {
		d.Fail("not a JSON value")
		return
	}
	d.i += len(w)
}

// Int reads a whole number.
func (d *Dec) Int() int64 {
	if n, ok := d.smallInt(); ok {
		return n
	}
	at := d.i
	s := d.number()
	if d.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		d.failAt(at, "expected a whole number, not "+s)
	}
	return n
}

// smallInt reads digits that begin at the current byte and end with a comma or a bracket. Most
// numbers have this form.
func (d *Dec) smallInt() (n int64, ok bool) {
	const maxDigits = 18 // that fit into an int64
	i := d.i
	for i < len(d.s) && d.s[i]-'0' <= 9 && i-d.i < maxDigits {
		n = n*10 + int64(d.s[i]-'0')
		i++
	}
	if i >= len(d.s) || i == d.i || d.s[i] != ',' && d.s[i] != '}' || d.s[d.i] == '0' && i-d.i > 1 {
		return 0, false
	}
	d.i = i
	return n, true
}

// Float reads a number.
func (d *Dec) Float() float64 {
	if n, ok := d.smallInt(); ok {
		return float64(n)
	}
	at := d.i
	s := d.number()
	if d.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		d.failAt(at, "the number "+s+" is out of range")
	}
	return f
}

func (d *Dec) number() string {
	d.space()
	from := d.i
	if d.i < len(d.s) && d.s[d.i] == '-' {
		d.i++
	}
	switch {
	case d.i < len(d.s) && d.s[d.i] == '0':
		d.i++
	case d.digits() == 0:
		d.Fail("expected a number")
		return ""
	}
	if d.i < len(d.s) && d.s[d.i] == '.' {
		d.i++
		if d.digits() == 0 {
			d.Fail("a number ends with its point")
			return ""
		}
	}
	if d.i < len(d.s) && (d.s[d.i] == 'e' || d.s[d.i] == 'E') {
		d.i++
		if d.i < len(d.s) && (d.s[d.i] == '+' || d.s[d.i] == '-') {
			d.i++
		}
		if d.digits() == 0 {
			d.Fail("a number without its exponent")
			return ""
		}
	}
	return d.s[from:d.i]
}

func (d *Dec) digits() int {
	from := d.i
	for d.i < len(d.s) && d.s[d.i]-'0' <= 9 {
		d.i++
	}
	return d.i - from
}

// Raw reads any value and returns its text unchanged.
func (d *Dec) Raw() string {
	d.space()
	from := d.i
	d.Skip()
	if d.err != nil {
		return ""
	}
	return d.s[from:d.i]
}

// Skip validates and discards the next value.
func (d *Dec) Skip() {
	c := d.Peek()
	if d.valid && c != 0 && d.err == nil {
		d.i = valueEnd(d.s, d.i)
		return
	}
	switch c {
	case '{':
		if !d.Object() {
			return
		}
		for first := true; ; {
			if !d.more('}', &first) {
				return
			}
			if d.Peek() != '"' {
				d.Fail("expected a member's name in double quotes")
				return
			}
			if !d.skipString() {
				return
			}
			if d.Peek() != ':' {
				d.Fail("expected a colon after the member's name")
				return
			}
			d.i++
			d.Skip()
		}
	case '[':
		if !d.Array() {
			return
		}
		for first := true; d.More(&first); {
			d.Skip()
		}
	case '"':
		d.skipString()
	case 't', 'f':
		d.Bool()
	case 'n':
		d.Null()
	case 0:
		d.Fail("the text ends too early")
	default:
		if c != '-' && (c < '0' || c > '9') {
			d.Fail("expected a value")
			return
		}
		d.number()
	}
}

// valueEnd returns the end of the valid value that begins at s[i]; len(s) if s ends within it. It is
// more than i.
func valueEnd(s string, i int) int {
	if c := s[i]; c == '"' || c == '{' || c == '[' {
		if n := ValueLength(s[i:]); n > 0 {
			return i + n
		}
		return len(s)
	}
	for i++; i < len(s) && s[i] != ',' && s[i] != ']' && s[i] != '}' && s[i] > ' '; i++ {
	}
	return i
}

// ValueLength returns the length of the string, the array or the object that s begins with, by its
// brackets and quotes; 0 if s ends within it. It does not validate the value.
func ValueLength(s string) int {
	for i, depth := 0, 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			n := stringEnd(s, i+1)
			if n == 0 {
				return 0
			}
			i = n - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return 0
}

// Members starts to read an object and returns its members' names. The loop over
// them reads the value of each member, with Skip if nothing else. A loop that
// ends early leaves the decoder within the object.
func (d *Dec) Members() iter.Seq[string] {
	return func(yield func(string) bool) {
		d.Object()
		first := true
		for key, ok := d.Key(&first); ok && yield(key); key, ok = d.Key(&first) {
		}
	}
}

// MembersAfter is Members for an object that was begun by Object; first is that
// of the calls of [Dec.Member] since.
func (d *Dec) MembersAfter(first bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key, ok := d.Key(&first); ok && yield(key); key, ok = d.Key(&first) {
		}
	}
}

// Elements starts to read an array and counts its elements from 0. The loop over
// them reads each.
func (d *Dec) Elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		if !d.Array() {
			return
		}
		first := true
		for i := 0; d.More(&first) && yield(i); i++ {
		}
	}
}
