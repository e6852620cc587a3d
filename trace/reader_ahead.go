package trace

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
)

// readLine is a line of a file and, if it is decoded, its event.
type readLine struct {
	text    []byte // with its line feed, good until the next read
	tooLong bool

	decoded  bool
	version  int // of the decoder
	event    Event
	err      error
	hash     string   // of a request
	messages []string // of a request, encoded; good until the decoder's next line
}

func (l *readLine) decode(d *decoder) {
	l.event, l.err = d.line(bytes.TrimSuffix(l.text, []byte{'\n'}))
	l.decoded, l.version, l.hash, l.messages = true, d.version, d.hash, d.messages
}

func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// nextLine returns the next line, which may be decoded, or the error of next. After a line it decodes all
// lines that are in memory, if there are several processors. It reads no more for that.
func (r *Reader) nextLine() (*readLine, error) {
	if len(r.ahead) == 0 {
		line, err := r.next()
		if err != nil {
			return nil, err
		}
		r.readAhead()
		r.first = readLine{text: line}
		return &r.first, nil
	}
	l := &r.ahead[0]
	r.ahead = r.ahead[1:]
	r.line++
	if l.tooLong {
		return nil, errLong
	}
	return l, nil
}

// readAhead decodes the lines in the buffer, if they are worth it.
func (r *Reader) readAhead() {
	const minSize = 8 << 10
	if len(r.decoders) < 2 || r.src.Buffered() < minSize {
		return
	}
	buffered, _ := r.src.Peek(r.src.Buffered())
	size := bytes.LastIndexByte(buffered, '\n') + 1
	r.lines = r.lines[:0]
	for line := range bytes.Lines(buffered[:size]) {
		_, err := checkLine(line, r.limit(), nil)
		r.lines = append(r.lines, readLine{text: line, tooLong: errors.Is(err, errLong)})
	}
	_, _ = r.src.Discard(size) // in the buffer, so that it moves nothing
	r.decode(r.lines)
	r.ahead = r.lines
}

// decode decodes lines concurrently.
func (r *Reader) decode(lines []readLine) {
	const step = 8 // lines at a time
	var next atomic.Int64
	var group sync.WaitGroup
	for i, d := range r.decoders[:min(len(r.decoders), (len(lines)+step-1)/step)] {
		if d == nil {
			d = newLineDecoder()
			r.decoders[i] = d
		}
		d.version = r.dec.version
		group.Go(func() {
			for from := int(next.Add(step)) - step; from < len(lines); from = int(next.Add(step)) - step {
				for i := from; i < min(from+step, len(lines)); i++ {
					if l := &lines[i]; !l.tooLong && !isBlank(l.text) {
						l.decode(d)
						l.messages = append([]string(nil), l.messages...)
					}
				}
			}
		})
	}
	group.Wait()
}
