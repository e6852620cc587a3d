package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/internal/chain"
)

// Errors of files.
var (
	// ErrNotTrace is the error for a file that does not begin with the header of a trace.
	ErrNotTrace = errors.New("trace: not a trace: the first line is no header with the format " + Format)
	// ErrVersion is the error for a file with a newer version of the format.
	ErrVersion = errors.New("newer version of the format")
	// ErrClosed is the error of a [Writer] after Close.
	ErrClosed = errors.New("trace: the writer is closed; make a new one")
)

// versionError is the text of an [ErrVersion].
type versionError string

func (e versionError) Error() string { return string(e) }

// Is implements the interface of package errors.
func (versionError) Is(target error) bool { return target == ErrVersion }

// LineError reports an invalid line of a file.
type LineError struct {
	Line int // counted from 1; the header is a line too
	// Run is the run that the line names; empty if the line names none.
	Run string
	Err error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the reason why the line is invalid.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads a trace file from its beginning to its end. It keeps in memory one line, the names
// of the runs in the file, and eight bytes for each message of the unfinished runs; on several
// processors, also the events of up to 64 KiB of lines, which it decodes concurrently. Strings of
// events share blocks of 32 KiB; a caller that keeps few of many strings should clone them. A
// Reader is not safe for concurrent use.
//
// A file may contain several concatenated traces. Each header begins a part. A header may also
// follow a truncated line, in which the previous trace ends. A run that has the name of a run in
// an earlier part is a different run: its name becomes the original name, "#" and the number of
// the part (r1#2).
type Reader struct {
	// MaxLine is the maximum length of a line in bytes; 0 means [DefaultMaxLine]. Set it before
	// [Reader.Events]. The limit of the header is always [DefaultMaxLine].
	MaxLine int

	src    *bufio.Reader
	long   []byte // a line that is longer than src's buffer
	line   int
	header Header
	dec    *decoder
	chains chain.Chains
	parts  parts

	first    readLine   // the last line that was read alone
	ahead    []readLine // lines that are read and not yet given
	lines    []readLine // memory for ahead
	decoders []*decoder // of lines that are decoded concurrently, one for each processor
}

const (
	readBuffer = 64 << 10
	// blockSize is the size of the blocks that strings of several events share.
	blockSize = 32 << 10
)

// NewReader reads the header of a trace. It returns [ErrNotTrace], [ErrVersion] or the error
// of r.
func NewReader(r io.Reader) (*Reader, error) {
	x := &Reader{src: bufio.NewReaderSize(r, readBuffer), dec: newLineDecoder(), decoders: make([]*decoder, runtime.GOMAXPROCS(0))}
	for {
		line, err := x.next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errLong):
			return nil, ErrNotTrace
		case err != nil:
			return nil, fmt.Errorf("trace: reading the header: %w", err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		header, err := readHeader(line)
		if err != nil {
			return nil, err
		}
		x.begin(header)
		return x, nil
	}
}

// newLineDecoder returns a decoder of the lines of a file.
func newLineDecoder() *decoder {
	d := newDecoder()
	d.mem.BlockSize = blockSize
	d.Words = map[string]string{}
	return d
}

// begin begins a part of the file.
func (r *Reader) begin(h Header) {
	r.header, r.chains = h, chain.Chains{}
	r.dec.version = h.Version
	r.parts.begin()
}

// Header returns the header of the part to which the last event belongs; before the first event,
// the header of the file.
func (r *Reader) Header() Header { return r.header }

// Line returns the number of the last line that was read, counted from 1.
func (r *Reader) Line() int { return r.line }

// Events yields the events in the order of the file. For an invalid line it yields a [*LineError]
// without an event and continues with the next line. Any other error concerns the file and is the
// last: [ErrVersion] for a part with a newer version. If the caller stops the iteration, the
// next iteration continues with the next line.
//
// Events verifies the hash of each request. After an invalid line it does not verify the hashes
// of a conversation until the conversation restarts.
func (r *Reader) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			var ev Event
			line, err := r.nextLine()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err == nil && isBlank(line.text):
				continue
			case err == nil:
				ev, err = r.event(line)
			case !errors.Is(err, errLong):
				yield(Event{}, fmt.Errorf("trace: reading line %d: %w", r.line, err))
				return
			}
			switch {
			case errors.Is(err, errHeader):
				continue
			case errors.Is(err, ErrVersion):
				r.src.Reset(bytes.NewReader(nil)) // the events cannot be trusted
				r.ahead = nil
				yield(Event{}, fmt.Errorf("trace: reading line %d: %w", r.line, err))
				return
			case err != nil:
				r.chains.Lose()
				ev, err = Event{}, &LineError{Line: r.line, Run: ev.Run, Err: err}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// errHeader reports that a line was the header of the next part.
var errHeader = errors.New("a header")

// event decodes a line. If it returns an error, Run of the event is the run that the line names,
// if any.
func (r *Reader) event(l *readLine) (Event, error) {
	if !l.decoded || l.version != r.dec.version {
		l.decode(r.dec)
	}
	line, whole := bytes.CutSuffix(l.text, []byte{'\n'})
	ev, err := l.event, l.err
	if err != nil {
		ev.Run = r.parts.refer(ev.Run)
		h, at, noHeader := headerWithin(line)
		switch {
		case errors.Is(noHeader, ErrVersion):
			return ev, noHeader
		case noHeader == nil:
			r.begin(h)
			if at == 0 {
				return ev, errHeader
			}
			return ev, fmt.Errorf("a trace ends within the line, and another begins there: %w", err)
		case !whole:
			err = fmt.Errorf("the file ends within the line, which is truncated: %w", err)
		}
		return ev, err
	}
	r.parts.rename(&ev)
	switch ev.Body.(type) {
	case RunEnd:
		delete(r.chains, ev.Run)
	case ModelRequest:
		return ev, r.verify(&ev, l)
	default:
	}
	return ev, nil
}

// verify adds the messages of a request to its conversation and compares the hash, if it has one.
func (r *Reader) verify(ev *Event, l *readLine) error {
	req, _ := ev.Body.(ModelRequest)
	hash, c := l.hash, r.chains.Of(ev.Run, string(ev.Purpose))
	n, known := c.Len()
	if !c.Keep(req.PrefixMessages) {
		if hash != "" && known {
			return fmt.Errorf("run %s: the request keeps %d messages of the %d before it: a line is missing", ev.Run, req.PrefixMessages, n)
		}
		return nil
	}
	c.Add(l.messages)
	if got := string(c.AppendHash(nil)); hash != "" && got != hash {
		return fmt.Errorf("run %s: the conversation has the hash %s but the request has %s: a message was changed after it was written, or a line is missing", ev.Run, got, hash)
	}
	return nil
}

// errLong reports that the reader skipped a line because of its length.
var errLong = errors.New("the line is too long; raise the reader's limit if it is meant to be")

func (r *Reader) limit() int {
	if r.MaxLine == 0 {
		return DefaultMaxLine
	}
	return r.MaxLine
}

// next returns the next line with its line feed, good until the next call.
func (r *Reader) next() ([]byte, error) {
	r.line++
	limit := r.limit()
	line, err := r.src.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return checkLine(line, limit, err)
	}
	r.long = r.long[:0]
	for {
		if len(r.long) <= limit {
			r.long = append(r.long, line...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return checkLine(r.long, limit, err)
		}
		line, err = r.src.ReadSlice('\n')
	}
}

// checkLine returns the result for a line that was read until err.
func checkLine(line []byte, limit int, err error) ([]byte, error) {
	switch {
	case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
		return nil, err
	case len(bytes.TrimSuffix(line, []byte{'\n'})) > limit:
		return nil, errLong
	}
	return line, nil
}

// headerWithin reads the header that is a line or ends it, and returns where the header begins.
// The header is not the whole line if a trace was truncated within a line and another trace was
// appended.
func headerWithin(line []byte) (h Header, at int, err error) {
	h, err = readHeader(line)
	if err == nil {
		return h, 0, nil
	}
	at = bytes.LastIndex(line, []byte(`{"format":"`+Format+`"`))
	if at <= 0 || !jsonio.Valid(line[at:]) {
		return h, 0, err
	}
	h, err = readHeader(line[at:])
	return h, at, err
}

func readHeader(line []byte) (Header, error) {
	var h Header
	if !jsonio.ValidUTF8(line) {
		return h, ErrNotTrace
	}
	c := coder{Coder: &jsonio.Coder{Dec: jsonio.NewDec(string(line))}}
	c.Begin()
	c.header(nil, &h)
	err := c.Dec.End()
	switch {
	case h.Format != Format:
		return h, ErrNotTrace
	case h.Version > Version:
		by := ""
		if h.Writer != "" {
			by = ", written by " + h.Writer
		}
		return h, versionError(fmt.Sprintf("trace: the file has version %d of the format%s, and this program reads up to %d: use a newer looptape", h.Version, by, Version))
	case err != nil:
		return h, fmt.Errorf("%w: %w", ErrNotTrace, err)
	case h.Version < 1:
		return h, fmt.Errorf("%w: its version is missing", ErrNotTrace)
	}
	return h, nil
}
