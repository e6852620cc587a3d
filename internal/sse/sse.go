// Package sse reads and writes server-sent events, as the section "Server-sent
// events" of the HTML standard (https://html.spec.whatwg.org) defines them, with
// bounded memory. It knows nothing of what the events carry.
package sse

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Event is one event of a stream.
type Event struct {
	Name string // empty where the stream has no event field
	// Data are the data fields, joined by line feeds. They stay until the next
	// event is read.
	Data []byte
	ID   string // of this event or the last that had one
}

// Next returns ErrTooLong if an event exceeds the limit.
var ErrTooLong = errors.New("sse: an event is too long")

// Reader reads the events of a stream, in any of its three line endings. It needs
// memory for one event and for one read. It is for one goroutine.
type Reader struct {
	lines *bufio.Scanner
	limit int
	err   error // ErrTooLong, once it was returned

	maxLine int // the maximum length of the next line
	scanned int // the next line has no end up to here
	begun   bool
	afterCR bool // a line feed now belongs to the line before

	data []byte
	some bool // a data field came
	name string
	id   string

	other []byte
}

// maxOther limits the bytes that are kept of lines outside any event.
const maxOther = 64 << 10

// readSize is the minimum space for a read after the longest line.
const readSize = 4 << 10

// usual is how many bytes most events do not go beyond.
const usual = 1 << 10

// NewReader returns a Reader whose events have limit bytes at most, names and
// comments included.
func NewReader(from io.Reader, limit int) *Reader {
	r := &Reader{lines: bufio.NewScanner(from), limit: limit}
	r.lines.Buffer(nil, limit+readSize)
	r.lines.Split(r.line)
	return r
}

// Next returns the next event. At the end of the stream it returns what came of
// a last event that no empty line ends, if it has data, and then io.EOF. Any other
// error is the stream's, or wraps ErrTooLong.
func (r *Reader) Next() (Event, error) {
	r.data, r.name, r.some = r.data[:0], "", false
	for size := 0; ; {
		r.maxLine = r.limit - size
		if r.err != nil || !r.lines.Scan() {
			if err := cmp.Or(r.err, r.lines.Err()); err != nil || !r.some {
				return Event{}, cmp.Or(err, io.EOF)
			}
			return r.event(), nil
		}
		line := r.lines.Bytes()
		if size += len(line) + 1; size > r.limit {
			return Event{}, r.tooLong()
		}
		switch {
		case len(line) > 0:
			r.field(line)
		case r.some:
			return r.event(), nil
		default: // without data there is no event
			r.name, size = "", 0
		}
	}
}

func (r *Reader) event() Event {
	return Event{Name: r.name, Data: r.data[:len(r.data)-1], ID: r.id}
}

func (r *Reader) tooLong() error {
	r.err = fmt.Errorf("%w: over %d bytes", ErrTooLong, r.limit)
	return r.err
}

// field takes a line that is not empty.
func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if r.data == nil {
			r.data = make([]byte, 0, max(usual, len(value)+1))
		}
		r.data = append(append(r.data, value...), '\n')
		r.some = true
	case "event":
		r.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	case "", "retry": // a comment, and what only a browser wants
	default:
		if len(r.other)+len(line) < maxOther {
			r.other = append(append(r.other, line...), '\n')
		}
	}
}

// OtherLines returns the lines so far that are no fields of an event, up to 64 KiB. Some servers
// send errors in such lines.
func (r *Reader) OtherLines() []byte { return r.other }

// line is a [bufio.SplitFunc] for lines without their line ends, of at most maxLine bytes. The end of
// the stream also ends a line.
func (r *Reader) line(data []byte, atEnd bool) (advance int, line []byte, err error) {
	rest := data
	switch {
	case !r.begun && !atEnd && len(data) < len(bom) && strings.HasPrefix(bom, string(data)):
		return 0, nil, nil // more bytes show whether a byte order mark begins the stream
	case !r.begun:
		r.begun, rest = true, bytes.TrimPrefix(data, []byte(bom))
	case r.afterCR && len(data) > 0:
		r.afterCR, rest = false, bytes.TrimPrefix(data, []byte("\n"))
	}
	skipped := len(data) - len(rest)
	if end := lineEnd(rest[r.scanned:]); end >= 0 {
		end += r.scanned
		r.afterCR, r.scanned = rest[end] == '\r', 0
		return skipped + end + 1, rest[:end], nil
	}
	r.scanned = len(rest)
	switch {
	case r.scanned > r.maxLine:
		return 0, nil, r.tooLong()
	case atEnd && r.scanned > 0:
		r.scanned = 0
		return len(data), rest, nil
	}
	return skipped, nil, nil
}

// lineEnd returns where the first line ends, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// bom is the byte order mark that may begin a stream.
const bom = "\xef\xbb\xbf"

// Append appends an event. It omits an empty name. It writes each line of data as a field. Name
// and data must not contain a carriage return, and name must not contain a line feed.
func Append(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	for {
		line, rest, more := bytes.Cut(data, []byte("\n"))
		dst = append(append(append(dst, "data: "...), line...), '\n')
		if !more {
			return append(dst, '\n')
		}
		data = rest
	}
}
