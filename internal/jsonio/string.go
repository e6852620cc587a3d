package jsonio

import (
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Arena is memory for texts that are read, taken in pieces: many short texts
// share one, which is kept as long as any of them is. Its zero value is ready.
// It is for one goroutine.
type Arena struct {
	free []byte
	// Piece is how many bytes are taken at once, at least; 0 takes what is needed.
	Piece int
}

// room returns unused memory of n bytes or more.
func (a *Arena) room(n int) []byte {
	if len(a.free) < n {
		a.free = make([]byte, max(n, a.Piece))
	}
	return a.free
}

// take makes the first n bytes of the room a text.
func (a *Arena) take(n int) string {
	s := bytesAsString(a.free[:n])
	a.free = a.free[n:]
	return s
}

// String returns a text of the same bytes as b.
func (a *Arena) String(b []byte) string { return a.take(copy(a.room(len(b)), b)) }

// bytesAsString views b as a string; the caller keeps b unchanged meanwhile.
func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// String reads a string. Lone surrogates become U+FFFD, as in encoding/json.
func (d *Dec) String() string {
	if d.Peek() != '"' {
		d.Fail("expected a string")
		return ""
	}
	from := d.i + 1
	i := plain(d.s, from)
	if i < len(d.s) && d.s[i] == '"' {
		d.i = i + 1
		return d.s[from:i]
	}
	return d.unescape(from, i)
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

// plainBytes is how many bytes of x, from the lowest, mean only themselves in a
// string: no quote, no backslash, no control character.
func plainBytes(x uint64) int {
	// Exclusive-or with 2 swaps the quote and the space, and leaves the control
	// characters among themselves: so one subtraction finds them and the quote. A
	// borrow can only come from a byte that is looked for, so the lowest one that
	// is marked is right.
	low := (x ^ ones*2) - ones*('"'^2+1)
	slash := (x ^ ones*'\\') - ones
	return bits.TrailingZeros64((low|slash)&^x&tops) / 8
}

// plain returns the end of the bytes from s[i] that mean only themselves in a
// string.
func plain(s string, i int) int {
	for len(s)-i >= 8 {
		n := plainBytes(word(s, i))
		i += n
		if n < 8 {
			return i
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// unescape reads the string from s[from], whose first escape or error is at
// s[i], and returns what it means. That is never longer than what stands there.
func (d *Dec) unescape(from, i int) string {
	if d.mem == nil {
		d.mem = &Arena{}
	}
	s := d.s
	out := d.mem.room(len(s) - from)
	n := copy(out, s[from:i])
	for {
		if len(s)-i >= 8 { // copy eight bytes, go on as far as they are plain
			x := word(s, i)
			binary.LittleEndian.PutUint64(out[n:], x)
			k := plainBytes(x)
			i, n = i+k, n+k
			if k == 8 {
				continue
			}
		}
		if i >= len(s) || s[i] < 0x20 {
			d.badString(i)
			return ""
		}
		switch s[i] {
		case '\\':
			c, size := unescapeAt(s[i:])
			if size == 0 {
				d.badString(i)
				return ""
			}
			i += size
			if c < utf8.RuneSelf {
				out[n] = byte(c)
				n++
				continue
			}
			n += utf8.EncodeRune(out[n:], c)
		case '"':
			d.i = i + 1
			return d.mem.take(n)
		default:
			out[n] = s[i]
			i, n = i+1, n+1
		}
	}
}

// badString says what is wrong in a string at s[i].
func (d *Dec) badString(i int) {
	switch {
	case i >= len(d.s):
		d.failAt(i, "the text ends within a string")
	case d.s[i] == '\\':
		d.failAt(i, "a string has a backslash that escapes nothing")
	default:
		d.failAt(i, "a string has a control character that is not escaped")
	}
}

// skipString moves behind a string, validating it; d.i is at its quote.
func (d *Dec) skipString() bool {
	s, i := d.s, d.i+1
	for {
		i = plain(s, i)
		if i >= len(s) || s[i] < 0x20 {
			d.badString(i)
			return false
		}
		if s[i] == '"' {
			d.i = i + 1
			return true
		}
		_, size := unescapeAt(s[i:])
		if size == 0 {
			d.badString(i)
			return false
		}
		i += size
	}
}

// escapes is what a letter means after a backslash; 0 for u and for all that
// means nothing there.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeAt reads the escape that s begins with, or a pair of surrogates. The
// size is 0 if it is not one.
func unescapeAt(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	if c := escapes[s[1]]; c != 0 {
		return rune(c), 2
	}
	return unescapeRune(s)
}

// unescapeRune reads the \uXXXX that s begins with, or the pair of them.
func unescapeRune(s string) (r rune, size int) {
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(s[6:]); ok {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads the \uXXXX that s begins with.
func hex4(s string) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
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
