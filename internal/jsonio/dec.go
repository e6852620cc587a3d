package jsonio

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// MaxDepth is how deeply arrays and objects may nest; encoding/json has the
// same limit.
const MaxDepth = 10000

// Dec reads one JSON text from a string, in order, without copying strings
// that have no escapes. Its first error stays; every later read then returns
// zero values, so a caller may look at End alone.
//
// A Dec is for one goroutine.
type Dec struct {
	s     string
	i     int
	depth int
	err   *SyntaxError
}

// SyntaxError says what is wrong with a JSON text, and where.
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

// bytesAsString views b as a string; the caller keeps b unchanged meanwhile.
func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

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

// Offset is where the decoder stands, in bytes.
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

// Object starts to read an object; Key then gives its members.
func (d *Dec) Object() bool { return d.open('{', "an object") }

// Key returns the next member's name; ok is false when the object has ended.
// The member's value must be read, with Skip if nothing else. First says that
// no member was read yet; Key clears it.
func (d *Dec) Key(first *bool) (key string, ok bool) {
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

// Array starts to read an array; More then says whether an element follows.
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

// Float reads a number.
func (d *Dec) Float() float64 {
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

// String reads a string. Lone surrogates become U+FFFD, as in encoding/json.
func (d *Dec) String() string {
	if d.Peek() != '"' || d.err != nil {
		d.Fail("expected a string")
		return ""
	}
	from := d.i + 1
	esc, ok := d.skipString()
	if !ok {
		return ""
	}
	raw := d.s[from : d.i-1]
	if !esc {
		return raw
	}
	return unescape(raw)
}

// Text reads the value of a member written by AppendText, of which key is the
// name as read: with "_b64" at its end the value is base64.
func (d *Dec) Text(key string) string {
	s := d.String()
	if len(key) < 4 || key[len(key)-4:] != "_b64" || d.err != nil {
		return s
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		d.Fail("not base64: " + key)
	}
	return string(b)
}

const ones, tops uint64 = 0x0101010101010101, 0x8080808080808080

// word returns the eight bytes from s[i], the first one lowest.
func word(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// plain returns the end of the bytes from s[i] that mean only themselves in a
// string: no quote, no backslash, no control character.
func plain(s string, i int) int {
	for ; len(s)-i >= 8; i += 8 {
		x := word(s, i)
		quote, slash := x^ones*'"', x^ones*'\\'
		// A byte's top bit is set in one of the terms if the byte is below 0x20,
		// a quote or a backslash; a borrow can only come from such a byte, so the
		// lowest one is right.
		m := ((x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// skipString moves behind a string, validating it; d.i is at its quote.
func (d *Dec) skipString() (escaped, ok bool) {
	s, i := d.s, d.i+1
	for {
		i = plain(s, i)
		if i >= len(s) {
			d.failAt(i, "the text ends within a string")
			return escaped, false
		}
		switch c := s[i]; {
		case c == '"':
			d.i = i + 1
			return escaped, true
		case c == '\\':
			escaped = true
			n := escapeLen(s[i:])
			if n == 0 {
				d.failAt(i, "a string has a backslash that escapes nothing")
				return escaped, false
			}
			i += n
		default:
			d.failAt(i, "a string has a control character that is not escaped")
			return escaped, false
		}
	}
}

// escapeLen is the length of the escape that s begins with, or 0 if it is not
// one.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	if escapes[s[1]] != 0 {
		return 2
	}
	if _, ok := hex4(s); ok && s[1] == 'u' {
		return 6
	}
	return 0
}

// hex4 reads the \uXXXX that s begins with.
func hex4(s string) (r rune, ok bool) {
	if len(s) < 6 {
		return 0, false
	}
	for _, c := range []byte(s[2:6]) {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape returns what a string with escapes means. It never is longer.
func unescape(raw string) string {
	b, n := make([]byte, len(raw)), 0
	for i := 0; i < len(raw); {
		if len(raw)-i >= 8 { // copy eight bytes, go on as far as they are plain
			x := word(raw, i)
			binary.LittleEndian.PutUint64(b[n:], x)
			slash := x ^ ones*'\\'
			plain := bits.TrailingZeros64((slash-ones)&^slash&tops) / 8
			i, n = i+plain, n+plain
			if plain == 8 {
				continue
			}
		}
		c := raw[i]
		if c != '\\' {
			b[n] = c
			i, n = i+1, n+1
			continue
		}
		if c = escapes[raw[i+1]]; c != 0 {
			b[n] = c
			i, n = i+2, n+1
			continue
		}
		r, size := unescapeRune(raw[i:])
		i, n = i+size, n+utf8.EncodeRune(b[n:], r)
	}
	return bytesAsString(b[:n])
}

// escapes is what a letter means after a backslash; 0 for u and for all that
// means nothing there.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeRune reads the \uXXXX that s begins with, or the pair of them.
func unescapeRune(s string) (r rune, size int) {
	r, _ = hex4(s)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(s[6:]); ok && s[6] == '\\' && s[7] == 'u' {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

// Raw reads any value and returns its text as it stands.
func (d *Dec) Raw() string {
	d.space()
	from := d.i
	d.Skip()
	if d.err != nil {
		return ""
	}
	return d.s[from:d.i]
}

// Skip reads any value and forgets it; it is validated all the same.
func (d *Dec) Skip() {
	switch c := d.Peek(); c {
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
			if _, ok := d.skipString(); !ok {
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

// maxPath is how long a path in a message may be, in bytes: what is nested
// thousands deep has a path that nobody reads.
const maxPath = 100

// pathAt gives the path of the value at the end of s, the beginning of a JSON
// text up to an error; of a long one, its beginning. It is slow and only used
// for messages.
func pathAt(s string) string {
	type level struct {
		object bool
		key    string
		n      int
		inKey  bool
	}
	var stack []level
	for i := 0; i < len(s); i++ {
		top := len(stack) - 1
		switch s[i] {
		case '{':
			stack = append(stack, level{object: true, inKey: true})
		case '[':
			stack = append(stack, level{})
		case '}', ']':
			if top >= 0 {
				stack = stack[:top]
			}
		case ',':
			if top >= 0 {
				stack[top].n++
				stack[top].inKey = stack[top].object
			}
		case ':':
			if top >= 0 {
				stack[top].inKey = false
			}
		case '"':
			j := i + 1
			for j < len(s) && s[j] != '"' {
				if s[j] == '\\' {
					j++
				}
				j++
			}
			if top >= 0 && stack[top].inKey && j < len(s) {
				stack[top].key = s[i+1 : j]
			}
			i = j
		}
	}
	var path []byte
	for _, l := range stack {
		if l.object {
			if l.key == "" {
				continue
			}
			if len(path) > 0 {
				path = append(path, '.')
			}
			path = append(path, l.key...)
			continue
		}
		path = append(path, '[')
		path = strconv.AppendInt(path, int64(l.n), 10)
		path = append(path, ']')
	}
	if len(path) <= maxPath {
		return string(path)
	}
	n := maxPath
	for n > 0 && !utf8.RuneStart(path[n]) {
		n--
	}
	return string(path[:n]) + "…"
}
