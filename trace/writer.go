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
	c := coder{&jsonio.Coder{Dst: dst}}
	c.header(c.Element(), &h)
	return c.Dst
}

// AppendJSON appends the event as a JSON object, one line of a trace file without its line feed.
// It allocates only to grow dst and for maps with more than eight entries. It does not retain ev.
//
// Members have a fixed order and are absent where they are empty. Durations are integers in
// nanoseconds. A string that is not UTF-8 is written as base64 under its name and "_b64". Names
// of options and of extra members must be UTF-8.
func (ev *Event) AppendJSON(dst []byte) []byte {
	state := coders.Get().(*jsonio.Coder)
	state.Dst = dst
	coder{state}.line(ev)
	dst, state.Dst = state.Dst, nil
	coders.Put(state)
	return dst
}

// coders are unused coders: package llm gets pointers to them, so they are not on the stack.
var coders = sync.Pool{New: func() any { return new(jsonio.Coder) }}

// line encodes an event.
func (c coder) line(ev *Event) {
	s := c.Root()
	c.event(ev)
	c.Take("kind")
	kind := ev.kind()
	c.Dst = jsonio.AppendString(c.Dst, string(kind))
	if u, ok := ev.Body.(Unknown); ok || !c.body(s, kind, &ev.Body) {
		c.unknown(s, &u)
	}
}

// Writer is a [Sink] that writes a trace file. It is safe for use by many goroutines and runs. It
// buffers events until Flush or Close. After an error, every later call returns that error.
type Writer struct {
	// Redact, if set, returns the event to write instead. It must not change the memory that the
	// event refers to, and must not use the Writer. Calls are sequential. Set it before the
	// first Write.
	Redact func(Event) Event

	mu     sync.Mutex
	to     io.Writer
	coder  jsonio.Coder // its Dst is the buffer
	chains chain.Chains
	err    error
}

// flushAt is how full the buffer gets before it is written.
const flushAt = 32 << 10

// NewWriter returns a Writer to w whose first line is h.
func NewWriter(w io.Writer, h Header) *Writer {
	x := &Writer{to: w, chains: chain.Chains{}}
	x.coder.Dst = append(h.AppendJSON(make([]byte, 0, 2*flushAt)), '\n')
	return x
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
	if len(w.coder.Dst) < flushAt {
		return nil
	}
	return w.flush()
}

func (w *Writer) append(ev *Event) {
	c := coder{&w.coder}
	var messages *chain.Chain // of the request, if its hash is known
	if b, ok := ev.Body.(ModelRequest); ok {
		if all := w.chains.Of(ev.Run, string(ev.Purpose)); all.Keep(b.PrefixMessages) {
			messages = all
		}
	}
	c.Record, c.Recorded = messages != nil, c.Recorded[:0]
	c.line(ev)
	if messages != nil {
		messages.Add(c.Recorded)
		c.Dst = messages.AppendHash(append(c.Dst[:len(c.Dst)-1], `,"hash":"`...))
		c.Dst = append(c.Dst, `"}`...)
	}
	c.Dst = append(c.Dst, '\n')
	if _, ok := ev.Body.(RunEnd); ok {
		delete(w.chains, ev.Run)
	}
}

func (w *Writer) flush() error {
	_, w.err = w.to.Write(w.coder.Dst)
	w.coder.Dst = w.coder.Dst[:0]
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
