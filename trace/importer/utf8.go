package importer

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// textReader finds the first byte that is not UTF-8 in what is read from it. Readers of JSON replace
// such bytes.
type textReader struct {
	io.Reader
	offset, line int    // of the next byte, from 0
	rest         []byte // an incomplete character at the end of what was read
	invalid      *encodingError
}

// encodingError is the error of a byte that is not UTF-8.
type encodingError struct {
	value        byte
	offset, line int // from 0
}

func (e *encodingError) Error() string {
	return fmt.Sprintf("the byte %#02x at offset %d is not UTF-8, and the text after it may have others: convert the file to UTF-8", e.value, e.offset)
}

// Read implements io.Reader.
func (r *textReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.invalid == nil {
		r.check(p[:n], err != nil)
	}
	return n, err
}

// check checks the next bytes, which are the last ones if ended is true.
func (r *textReader) check(p []byte, ended bool) {
	for len(r.rest) > 0 && len(p) > 0 && !utf8.FullRune(r.rest) {
		r.rest, p = append(r.rest, p[0]), p[1:]
	}
	if len(r.rest) > 0 && (ended || utf8.FullRune(r.rest)) {
		r.take(r.rest)
		r.rest = r.rest[:0]
	}
	n := len(p) - incomplete(p)
	r.take(p[:n])
	if r.rest = append(r.rest, p[n:]...); ended {
		r.take(r.rest)
	}
}

// take checks whole characters.
func (r *textReader) take(p []byte) {
	if r.invalid != nil || len(p) == 0 {
		return
	}
	if !utf8.Valid(p) {
		n := validPrefix(p)
		r.invalid = &encodingError{p[n], r.offset + n, r.line + bytes.Count(p[:n], []byte{'\n'})}
	}
	r.offset += len(p)
	r.line += bytes.Count(p, []byte{'\n'})
}

// incomplete returns the length of the beginning of a character at the end of p.
func incomplete(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if last := p[len(p)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

func validPrefix(p []byte) (n int) {
	for {
		r, size := utf8.DecodeRune(p[n:])
		if r == utf8.RuneError && size <= 1 {
			return n
		}
		n += size
	}
}

// checkText returns the error of a text that is not UTF-8, or nil.
func checkText(text []byte) *encodingError {
	r := textReader{}
	r.check(text, true)
	return r.invalid
}
