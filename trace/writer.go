package trace

import (
	"errors"
	"io"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
)

// Format is the name of the format in a trace file's header, and Version the
// newest version of it that this package reads, and the one that it writes.
const (
	Format  = "looptape-trace"
	Version = 2
)

// Header is the first line of a trace file.
type Header struct {
	Format  string // empty means Format
	Version int    // 0 means Version
	// Writer is the name of the program that wrote the file.
	Writer string
	// Declares contains the options that the loop declares for every run in the file. The options
	// of a run take precedence.
	Declares Options
	// Suppress holds for every run in the file; see RunStart.
	Suppress map[string]string
}

// AppendJSON appends the header's JSON, without a line feed.
func (h Header) AppendJSON(dst []byte) []byte {
	if h.Format == "" {
		h.Format = Format
	}
	if h.Version == 0 {
		h.Version = Version
	}
	dst = jsonio.AppendText(append(dst, '{'), "format", h.Format)
	dst = appendInt(dst, "version", int64(h.Version))
	dst = appendText(dst, "writer", h.Writer)
	dst = appendOptions(dst, "declares", h.Declares)
	dst = appendMap(dst, "suppress", h.Suppress)
	return append(dst, '}')
}

// ErrClosed is the error of a [Writer] after Close.
var ErrClosed = errors.New("trace: the writer is closed; make a new one")

// Writer is a [Sink] that writes a trace file. It is safe for use by many goroutines and runs. It
// buffers events until Flush or Close. After an error, every later call returns that error.
type Writer struct {
	// Redact, if set, returns the event to write instead. It must not change the memory that the
	// event refers to, and must not use the Writer. Calls are sequential. Set it before the
	// first Write.
	Redact func(Event) Event

	mu     sync.Mutex
	to     io.Writer
	buf    []byte
	chains chains
	err    error
}

// flushAt is how full the buffer gets before it is written.
const flushAt = 32 << 10

// NewWriter returns a Writer to w whose first line is h.
func NewWriter(w io.Writer, h Header) *Writer {
	return &Writer{to: w, buf: append(h.AppendJSON(make([]byte, 0, 2*flushAt)), '\n'), chains: chains{}}
}

// Write writes one event. It keeps nothing of it.
func (w *Writer) Write(ev Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.Redact != nil {
		ev = w.Redact(ev)
	}
	w.append(&ev)
	if len(w.buf) < flushAt {
		return nil
	}
	return w.flush()
}

func (w *Writer) append(ev *Event) {
	var c *chain
	if _, ok := ev.Body.(ModelRequest); ok {
		c = w.chains.of(ev)
	}
	w.buf = append(appendBody(appendEnvelope(w.buf, ev), ev.Body, c), '}', '\n')
	if _, ok := ev.Body.(RunEnd); ok {
		w.chains.end(ev.Run)
	}
}

func (w *Writer) flush() error {
	_, w.err = w.to.Write(w.buf)
	w.buf = w.buf[:0]
	return w.err
}

// Flush writes the buffered events.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	return w.flush()
}

// Close flushes and closes the Writer. Later calls return [ErrClosed] or the earlier error. It does
// not close the underlying writer.
func (w *Writer) Close() error {
	err := w.Flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = ErrClosed
	}
	return err
}
