// Package jsonio reads and writes the JSON of trace lines without reflection.
//
// Each value has exactly one encoding, without HTML escapes and spaces. The reader follows RFC
// 8259 strictly and reports the byte offset of each error. The strings that it returns share the
// memory of the input. The package is not a general encoder; use encoding/json for other types.
package jsonio

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string. It escapes only what RFC 8259 requires, so that text
// stays readable. Bytes that are not UTF-8 become U+FFFD; see [AppendText] for a form that keeps
// them.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := plainASCII(s, 0); i < len(s); i = plainASCII(s, i) {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// plainASCII returns the end of the ASCII bytes from s[i] that a string contains without escapes.
func plainASCII(s string, i int) int {
	for ; len(s)-i >= step; i += step {
		x := word(s, i)
		if m := special(x) | x&tops; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// AppendText appends the member `"key":"s"`. If s is not UTF-8, it appends `"key_b64":"…"` with
// the bytes in standard base64, so that nothing is lost.
func AppendText(dst []byte, key, s string) []byte {
	dst = append(append(dst, '"'), key...)
	switch plain := plainASCII(s, 0); {
	case plain == len(s):
		return append(append(append(dst, `":"`...), s...), '"')
	case utf8.ValidString(s[plain:]):
		return AppendString(append(dst, `":`...), s)
	}
	dst = append(dst, `_b64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, []byte(s))
	return append(dst, '"')
}

// AppendInt appends n in decimal.
func AppendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// AppendRaw appends a JSON value without insignificant white space. A value
// that is not JSON is kept as {"$not_json_b64":"…"}; an empty one is null.
func AppendRaw(dst []byte, raw []byte) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	if !Valid(raw) {
		dst = append(dst, `{"$not_json_b64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, raw)
		return append(dst, `"}`...)
	}
	if !hasSpace(raw) {
		return append(dst, raw...)
	}
	buf := bytes.NewBuffer(dst)
	if err := json.Compact(buf, raw); err != nil {
		return append(dst, "null"...) // not reached: Valid is as strict as encoding/json
	}
	return buf.Bytes()
}

// IsCompact reports whether a string is JSON without white space outside its strings.
func IsCompact(raw string) bool { return ValidText(raw) && !hasSpace(Bytes(raw)) }

// hasSpace reports whether raw, which is valid JSON, has white space outside
// its strings.
func hasSpace(raw []byte) bool {
	s := View(raw)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			i = max(i, stringEnd(s, i+1)-1)
		case c <= ' ':
			return true
		}
	}
	return false
}

// ValidUTF8 is utf8.Valid, faster for what is ASCII for the most part.
func ValidUTF8(b []byte) bool {
	const step = 32
	for len(b) >= step {
		high := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if high&tops != 0 {
			break
		}
		b = b[step:]
	}
	return utf8.Valid(b)
}

// Valid reports whether raw is one JSON value in valid UTF-8, with white space
// around it allowed.
func Valid(raw []byte) bool { return ValidUTF8(raw) && ValidSyntax(raw) }

// ValidSyntax is Valid for a text that may not be UTF-8, like Valid of encoding/json.
func ValidSyntax(raw []byte) bool {
	d := Dec{s: View(raw)}
	d.Skip()
	return d.End() == nil
}

// ValidText is Valid of a string.
func ValidText(raw string) bool { return Valid(Bytes(raw)) }

// IsObject reports whether a string is a JSON object.
func IsObject(text string) bool {
	d := NewDec(text)
	return d.Peek() == '{' && ValidText(text)
}

// AppendNamed appends a member of any name. Its value is base64 if it is not UTF-8 or if the name
// itself ends in _b64.
func AppendNamed(dst []byte, name, v string) []byte {
	if utf8.ValidString(v) && !strings.HasSuffix(name, b64Suffix) {
		return AppendString(append(AppendString(dst, name), ':'), v)
	}
	dst = append(AppendString(dst, name+b64Suffix), `:"`...)
	return append(base64.StdEncoding.AppendEncode(dst, []byte(v)), '"')
}
