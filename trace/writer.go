package trace

import (
	"cmp"
	"io"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/internal/chain"
)

// Header is the first line of a trace file.
type Header struct {
	Format  string `json:"format" schema:"const=looptape-trace"` // the name of the format; empty means Format
	Version int    `json:"version" schema:"const=2"`             // the version of the format; 0 means Version. Readers read all older versions
	// Writer is the name of the program that wrote the file.
	Writer string `json:"writer,omitempty"`
	// Declares contains the options that the loop declares for every run in the file. The options
	// of a run take precedence.
	Declares Options `json:"declares,omitempty"`
	// Suppress contains the accepted violations of every run in the file, as in [RunStart].
	Suppress map[string]string `json:"suppress,omitempty"`
}

// AppendJSON appends the header's JSON, without a line feed.
func (h Header) AppendJSON(dst []byte) []byte {
	h.Format = cmp.Or(h.Format, Format)
	h.Version = cmp.Or(h.Version, Version)
	return append(encoder.header(append(dst, '{'), &h), '}')
}

// AppendJSON appends the event as a JSON object, one line of a trace file without its line feed.
// It allocates only to grow dst and for maps with more than eight entries. It does not retain ev.
//
// Members have a fixed order and are absent where they are empty. Durations are integers in
// nanoseconds. A string that is not UTF-8 is written as base64 under its name and "_b64". Names
// of options and of extra members must be UTF-8.
func (ev *Event) AppendJSON(dst []byte) []byte {
	return encoder.line(dst, ev)
}

// line encodes an event.
func (c coder) line(dst jsonio.Out, ev *Event) jsonio.Out {
	return append(c.appendBody(c.event(append(dst, '{'), ev), ev.Body), '}')
}

// Writer is a [Sink] that writes a trace file. It is safe for use by many goroutines and runs. It
// buffers events until Flush or Close. After an error, every later call returns that error.
type Writer struct {
	// Redact, if set, returns the event to write instead. It must not change the memory that the
	// event refers to, and must not use the Writer. Calls are sequential. Set it before the
	// first Write.
	Redact func(Event) Event

	mu       sync.Mutex
	to       io.Writer
	buf      []byte
	messages []string // of the last request, encoded
	chains   chain.Chains
	err      error
}

// flushAt is how full the buffer gets before it is written.
const flushAt = 32 << 10

// NewWriter returns a Writer to w whose first line is h.
func NewWriter(w io.Writer, h Header) *Writer {
	first := append(h.AppendJSON(make([]byte, 0, 2*flushAt)), '\n')
	return &Writer{to: w, buf: first, chains: chain.Chains{}}
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
	w.messages = w.messages[:0]
	w.buf = coder{jsonio.Encoder, &w.messages}.line(w.buf, ev)
	if b, ok := ev.Body.(ModelRequest); ok {
		if all := w.chains.Of(ev.Run, string(ev.Purpose)); all.Keep(b.PrefixMessages) {
			all.Add(w.messages)
			w.buf = all.AppendHash(append(w.buf[:len(w.buf)-1], `,"hash":"`...))
			w.buf = append(w.buf, `"}`...)
		}
	}
	w.buf = append(w.buf, '\n')
	if _, ok := ev.Body.(RunEnd); ok {
		delete(w.chains, ev.Run)
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
