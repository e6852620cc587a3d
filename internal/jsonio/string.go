package jsonio

import (
	"encoding/base64"
	"encoding/binary"
	"iter"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Arena allocates memory for strings in blocks. Many short strings share a block, which remains
// in memory as long as any of them is used. The zero value is ready to use. An Arena is not safe
// for concurrent use.
type Arena struct {
	// BlockSize is the size of a block in bytes. 0 means the maximum that the current string can
	// need, up to 4 KiB.
	BlockSize int
	free      []byte
}

// reserve returns unused memory of at least minBytes. The caller needs no more than maxBytes.
func (a *Arena) reserve(minBytes, maxBytes int) []byte {
	if len(a.free) < minBytes {
		size := a.BlockSize
		if size == 0 {
			size = min(maxBytes, 4<<10)
		}
		a.free = make([]byte, max(minBytes, size))
	}
	return a.free
}

// grow returns a buffer of at least a size that begins with the first n bytes of the previous one.
func (a *Arena) grow(n, size int) []byte {
	used := a.free[:n]
	a.free = make([]byte, max(size, a.BlockSize))
	copy(a.free, used)
	return a.free
}

// take returns the first n bytes of the buffer as a string.
func (a *Arena) take(n int) string {
	s := View(a.free[:n])
	a.free = a.free[n:]
	return s
}

// String returns a copy of b.
func (a *Arena) String(b []byte) string {
	return a.take(copy(a.reserve(len(b), len(b)), b))
}

// Bytes returns a copy of b whose capacity is its length.
func (a *Arena) Bytes(b []byte) []byte {
	n := copy(a.reserve(len(b), len(b)), b)
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}

// View views b as a string. The caller must never change b again as long as the
// string, or a part of it, is in use.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes views s as bytes, which must never be changed. Their capacity is their length.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

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

// StringBytes reads a string as bytes that the caller may change. It returns nil if d has an error.
func (d *Dec) StringBytes() []byte {
	d.Peek() // skips white space
	from := d.i
	s := d.String()
	switch {
	case d.err != nil:
		return nil
	case len(s)+len(`""`) == d.i-from: // without escapes, it shares the memory of the JSON
		return []byte(s)
	}
	return Bytes(s)
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

// step is how many bytes are compared in one operation.
const step = 8

const ones, tops uint64 = 0x0101010101010101, 0x8080808080808080

// word returns the eight bytes from s[i], the first one lowest.
func word(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// special sets the top bit of the lowest byte of x that is a quote, a backslash or a control
// character. Bits above it are not significant. 0 means that all eight bytes are plain.
func special(x uint64) uint64 {
	// Exclusive-or with 2 swaps the quote and the space, and leaves the control
	// characters among themselves: so one subtraction finds them and the quote. A
	// borrow can only come from a byte that is looked for, so the lowest one that
	// is marked is right.
	low := (x ^ ones*2) - ones*('"'^2+1)
	slash := (x ^ ones*'\\') - ones
	return (low | slash) &^ x & tops
}

// plain returns the end of the bytes from s[i] that a string contains without escapes.
func plain(s string, i int) int {
	for ; len(s)-i >= step; i += step {
		if m := special(word(s, i)); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// unescape decodes the string from s[from], whose first escape or error is at s[i].
func (d *Dec) unescape(from, i int) string {
	if d.mem == nil {
		d.mem = &Arena{}
	}
	s := d.s
	out := d.mem.reserve(i-from+step, len(s)-from+step)
	n := copy(out, s[from:i])
	for {
		i, n = unescapeWords(out, n, s, i)
		if len(out)-n < step {
			end := stringEnd(s, i)
			if end == 0 {
				end = len(s)
			}
			out = d.mem.grow(n, n+end-i+step)
		}
		switch {
		case i >= len(s) || s[i] < 0x20:
			d.badString(i)
			return ""
		case s[i] == '"':
			d.i = i + 1
			return d.mem.take(n)
		case s[i] != '\\':
			out[n] = s[i]
			i, n = i+1, n+1
			continue
		}
		r, size := unescapeAt(s[i:])
		if size == 0 {
			d.badString(i)
			return ""
		}
		i, n = i+size, n+utf8.EncodeRune(out[n:], r)
	}
}

// unescapeWords copies from s[i] to out[n]. It copies plain bytes, eight at a time, and escapes
// of two bytes. It stops at any other byte and near the end of s or out.
func unescapeWords(out []byte, n int, s string, i int) (nextI, nextN int) {
	for len(s)-i > step && len(out)-n >= step {
		x := word(s, i)
		binary.LittleEndian.PutUint64(out[n:], x)
		m := special(x)
		if m == 0 {
			i, n = i+step, n+step
			continue
		}
		k := bits.TrailingZeros64(m) / 8
		i, n = i+k, n+k
		if s[i] != '\\' || escapes[s[i+1]] == 0 {
			break
		}
		out[n] = escapes[s[i+1]]
		i, n = i+2, n+1
	}
	return i, n
}

// badString reports the error in a string at s[i].
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

// skipString validates the string that begins at d.i and moves d.i to the byte after it.
func (d *Dec) skipString() bool {
	s, i := d.s, d.i+1
	for {
		i = plain(s, i)
		switch {
		case i >= len(s) || s[i] < 0x20:
			d.badString(i)
			return false
		case s[i] == '"':
			d.i = i + 1
			return true
		case i+1 < len(s) && escapes[s[i+1]] != 0:
			i += 2
			continue
		}
		_, size := unescapeRune(s[i:])
		if size == 0 {
			d.badString(i)
			return false
		}
		i += size
	}
}

// stringEnd returns the offset after the quote that ends a valid string, whose text begins at s[i]; 0
// if s ends within it.
func stringEnd(s string, i int) int {
	n := strings.IndexByte(s[i:], '"')
	switch quote := i + n; {
	case n < 0:
		return 0
	case n == 0 || s[quote-1] != '\\':
		return quote + 1
	default:
		slash := quote - 1
		for slash > i && s[slash-1] == '\\' {
			slash--
		}
		return escapedEnd(s, slash)
	}
}

// escapedEnd is stringEnd for text with many escapes. It compares 64 bytes without branches.
func escapedEnd(s string, i int) int {
	const block = 64
	var escaped, quotes uint64 // a bit for each byte
	next := uint64(0)          // 1 if the first byte of the next block is escaped
	for ; len(s)-i >= block; i += block {
		var slashes uint64
		quotes = 0
		for k := 0; k < block; k += step {
			x := word(s[i:i+block], k)
			slashes |= zeroBytes(x^ones*'\\') << k
			quotes |= zeroBytes(x^ones*'"') << k
		}
		escaped, next = escapedBytes(slashes, next)
		if quotes &^= escaped; quotes != 0 {
			return i + bits.TrailingZeros64(quotes) + 1
		}
	}
	for i += int(next); i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// zeroBytes returns a bit for each byte of x that is 0, the first one lowest.
func zeroBytes(x uint64) uint64 {
	const low = ^tops
	x = ^(x&low + low | x | low)
	return x >> 7 * 0x0102040810204080 >> 56 // moves the top bits of the bytes into one
}

// escapedBytes returns the bytes of a block that a backslash escapes. A block has a bit for each of 64
// bytes. First is 1 if the first byte is escaped, and next if the first one of the next block is.
func escapedBytes(slashes, first uint64) (escaped, next uint64) {
	const even uint64 = 0x5555555555555555
	slashes &^= first
	after := slashes<<1 | first
	// Of a run of backslashes that begins at the offset 1, 3 and so on, the sum has the bit after the
	// end. Of the other runs it has all bits.
	sum, next := bits.Add64(slashes&^even&^after, slashes, 0)
	return (even ^ sum<<1) & after, next
}

// escapes maps the letter after a backslash to its character; 0 for u and for invalid letters.
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

// LoneSurrogates yields the offsets of the escapes of surrogates without their other half in
// JSON. Each is six bytes long. JSON readers reject them or interpret them differently.
func LoneSurrogates(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; at < len(text); {
			next := strings.IndexByte(text[at:], '\\')
			if next < 0 {
				return
			}
			at += next
			r, size := unescapeRune(text[at:])
			if r == utf8.RuneError && text[at+2]|0x20 == 'd' && !yield(at) {
				return
			}
			at += max(size, 2)
		}
	}
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
