// Package sse reads and writes server-sent events, as the section "Server-sent
// events" of the HTML standard (https://html.spec.whatwg.org) defines them, with
// bounded memory. It knows nothing of what the events carry.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Event is one event of a stream.
type Event struct {
	Name string // empty where the stream has no event field
	// Data are the data fields, joined by line feeds. They stay until the next
	// event is read.
	Data []byte
	ID   string // of this event or the last that had one
}

// ErrTooLong is the error that Next returns if an event exceeds the limit.
var ErrTooLong = errors.New("sse: an event is too long")

// Reader reads the events of a stream, in any of its three line endings. It needs
// memory for one event and for one read. It is for one goroutine.
type Reader struct {
	from    io.Reader
	limit   int
	err     error // of from; it comes after what was read before it
	memory  *memory
	buf     []byte
	pos     int // the next byte
	scanned int // up to here buf has no line end
	begun   bool
	afterCR bool // a line feed now belongs to the line before

	data []byte
	some bool // a data field came
	name string
	id   string

	other []byte
	lines int // returned so far
	first int // line of the current event
}

// maxOther limits the bytes that are kept of lines outside any event.
const maxOther = 64 << 10

// readSize is how much is read at once.
const readSize = 4 << 10

// memory is what readers use one after the other.
type memory struct {
	buf   []byte
	names []string // of events
}

// memories has the memory of readers that were released.
var memories = sync.Pool{New: func() any {
	return &memory{buf: make([]byte, 0, readSize)}
}}

// usual is how many bytes most events do not go beyond.
const usual = 1 << 10

// maxNames limits the names that a memory has, and maxName the bytes of each.
const maxNames, maxName = 32, 64

// name returns a name that shares its memory with the equal names before it.
func (m *memory) name(b []byte) string {
	for _, name := range m.names {
		if name == string(b) {
			return name
		}
	}
	name := string(b)
	if len(m.names) < maxNames && len(name) <= maxName {
		m.names = append(m.names, name)
	}
	return name
}

// NewReader returns a Reader whose events have limit bytes at most, names and
// comments included.
func NewReader(from io.Reader, limit int) *Reader {
	return &Reader{from: from, limit: limit}
}

// Next returns the next event. At the end of the stream it returns what came of
// a last event that no empty line ends, if it has data, and then io.EOF. Any other
// error is the stream's, or wraps ErrTooLong.
func (r *Reader) Next() (Event, error) {
	r.data, r.name, r.some = r.data[:0], "", false
	size := 0
	r.first = r.lines + 1
	for {
		line, err := r.line(r.limit - size)
		if err != nil {
			if !errors.Is(err, io.EOF) || !r.some {
				return Event{}, err
			}
			return r.event(), nil
		}
		r.lines++
		if size += len(line) + 1; size > r.limit {
			return Event{}, r.tooLong()
		}
		switch {
		case len(line) > 0:
			r.field(line)
		case r.some:
			return r.event(), nil
		default: // without data there is no event
			r.name, size, r.first = "", 0, r.lines+1
		}
	}
}

func (r *Reader) event() Event {
	return Event{Name: r.name, Data: r.data[:len(r.data)-1], ID: r.id}
}

func (r *Reader) tooLong() error {
	r.err = fmt.Errorf("%w: over %d bytes", ErrTooLong, r.limit)
	r.buf, r.pos, r.scanned = nil, 0, 0
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
		r.name = r.memory.name(value)
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

// Release lets another Reader use the memory of r, which must not be used again.
func (r *Reader) Release() {
	if m := r.memory; m != nil {
		r.memory = nil
		memories.Put(m)
	}
}

// OtherLines returns the lines so far that are no fields of an event, up to 64 KiB. Some servers
// send errors in such lines.
func (r *Reader) OtherLines() []byte { return r.other }

// Line returns the line on which the last event begins, from 1.
func (r *Reader) Line() int { return r.first }

// line returns the next line without its line end, with at most this number of bytes. The end of the stream
// also ends a line.
func (r *Reader) line(maxLine int) ([]byte, error) {
	for {
		if r.afterCR && r.pos < len(r.buf) {
			r.afterCR = false
			if r.buf[r.pos] == '\n' {
				r.pos++
				r.scanned = r.pos
			}
		}
		if end := lineEnd(r.buf[r.scanned:]); end >= 0 {
			end += r.scanned
			line := r.buf[r.pos:end]
			r.afterCR = r.buf[end] == '\r'
			r.pos, r.scanned = end+1, end+1
			return line, nil
		}
		r.scanned = len(r.buf)
		if r.scanned-r.pos > maxLine {
			return nil, r.tooLong()
		}
		if r.err != nil {
			if r.pos == len(r.buf) || !errors.Is(r.err, io.EOF) {
				return nil, r.err
			}
			line := r.buf[r.pos:]
			r.pos = len(r.buf)
			return line, nil
		}
		r.fill()
	}
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

// fill reads once, and more only to see whether a byte order mark begins the
// stream.
func (r *Reader) fill() {
	if r.pos > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.pos:])]
		r.scanned -= r.pos
		r.pos = 0
	}
	if r.buf == nil {
		r.memory = memories.Get().(*memory)
		r.buf = r.memory.buf[:0]
	}
	if cap(r.buf)-len(r.buf) < readSize/2 {
		r.buf = append(make([]byte, 0, min(2*cap(r.buf)+readSize, r.limit+2*readSize)), r.buf...)
	}
	for r.err == nil {
		var n int
		n, r.err = r.from.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if n == 0 {
			continue
		}
		if r.begun {
			return
		}
		if len(r.buf) >= len(bom) || !strings.HasPrefix(bom, string(r.buf)) {
			r.begun = true
			if bytes.HasPrefix(r.buf, []byte(bom)) {
				r.pos, r.scanned = len(bom), len(bom)
			}
			return
		}
	}
}

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
