package wire

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/looptape/looptape/internal/sse"
)

// reply is an answer before it goes out. It is whole, so that quirks can change
// any part of it.
type reply struct {
	status int
	header http.Header
	// frames are the events of a stream; body is what comes in their place, or
	// after them as it is.
	frames []frame
	body   []byte
	style  style
	// chunk is how many bytes are written at once; 0 is a frame.
	chunk int
	end   ending
	open  bool // the stream has no end of its own
	// drip is written again and again after the rest, if end is hang.
	drip []byte
	// delay comes before all, and between each two pieces; pace, if it is not nil,
	// waits for them.
	delay, between time.Duration
	pace           func(time.Duration) error
	// whole is called before the first piece behind which nothing waits: from then on
	// the client may have all of the answer.
	whole func()
}

// frame is one event of a stream.
type frame struct {
	name string
	data []byte
}

// ending is what comes after the last byte.
type ending int

const (
	endBody ending = iota // the end of the response
	hang                  // nothing, until the client leaves
	reset                 // the connection is torn down
)

// style is how a stream is written. The zero value is the plain way.
type style struct {
	array   bool   // one JSON array, as Gemini streams without alt=sse
	eol     string // of each line; "" is LF
	before  string // before the first event
	between string // before each event
	tight   bool   // no space after "data:"
	broken  bool   // data in two lines
	bare    bool   // the last event stands outside any, without "data:"
}

// json makes r a buffered answer.
func (r *reply) json(status int, body []byte) {
	r.status, r.body, r.frames = status, body, nil
	r.header.Set("Content-Type", "application/json")
}

// pieces are what is written, one flush each, and how many they are. A piece is for
// use before the next.
func (r *reply) pieces() (n int, each iter.Seq[[]byte]) {
	n = len(r.frames)
	ends := r.style.array && !r.open && r.end == endBody
	if ends {
		n++
	}
	if len(r.body) > 0 {
		n++
	}
	each = func(yield func([]byte) bool) {
		const around = 64 // bytes, at most usually, of a frame beside its data
		size := 0
		for _, f := range r.frames {
			size = max(size, len(f.data)+around)
		}
		text := make([]byte, 0, size)
		for i, f := range r.frames {
			if text = r.style.append(text[:0], f, i, i == len(r.frames)-1); !yield(text) {
				return
			}
		}
		if ends && !yield([]byte("]")) {
			return
		}
		if len(r.body) > 0 {
			yield(r.body)
		}
	}
	if r.chunk == 0 {
		return n, each
	}
	var whole []byte
	for b := range each {
		whole = append(whole, b...)
	}
	return (len(whole) + r.chunk - 1) / r.chunk, slices.Chunk(whole, r.chunk)
}

// append writes the i-th frame.
func (s style) append(dst []byte, f frame, i int, last bool) []byte {
	if s.array {
		start := ",\r\n"
		if i == 0 {
			start = "["
		}
		return append(append(dst, start...), f.data...)
	}
	if i == 0 {
		dst = append(dst, s.before...)
	}
	dst = append(dst, s.between...)
	if s.bare && last {
		return append(append(dst, f.data...), '\n')
	}
	data := f.data
	if s.broken && bytes.HasPrefix(data, []byte("{")) {
		data = append([]byte("{\n"), data[1:]...) // white space in JSON, a line end in the stream
	}
	begin := len(dst)
	dst = sse.Append(dst, f.name, data)
	if s.tight {
		lines := append([]byte("\n"), dst[begin:]...)
		dst = append(dst[:begin], bytes.ReplaceAll(lines, []byte("\ndata: "), []byte("\ndata:"))[1:]...)
	}
	if s.eol != "" {
		dst = append(dst[:begin], bytes.ReplaceAll(dst[begin:], []byte("\n"), []byte(s.eol))...)
	}
	return dst
}

// dripEvery is the time between two pings of a stall.
const dripEvery = 15 * time.Second

// write sends r. It returns when the client has all of it, or has left where r
// never ends.
func (r *reply) write(ctx context.Context, w http.ResponseWriter) {
	if r.status == 0 || r.wait(r.delay) != nil { // the connection breaks before there is an answer
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status)
	flush := http.NewResponseController(w)
	put := func(b []byte) bool {
		if _, err := w.Write(b); err != nil {
			return false // the client has left
		}
		err := flush.Flush()
		return err == nil || errors.Is(err, http.ErrNotSupported)
	}
	n, pieces := r.pieces()
	i, rest := 0, 0
	if r.between > 0 {
		rest = n - 1
	}
	for b := range pieces {
		if i > 0 && r.wait(r.between) != nil {
			return
		}
		if i == rest {
			r.whole()
		}
		if !put(b) {
			return
		}
		i++
	}
	switch r.end {
	case endBody:
	case reset:
		_ = flush.Flush() // the headers, if nothing else came
		panic(http.ErrAbortHandler)
	case hang:
		_ = flush.Flush() // the headers, if nothing else came
		for len(r.drip) > 0 && ctx.Err() == nil && put(r.drip) && r.wait(dripEvery) == nil {
			continue
		}
		<-ctx.Done()
	}
}

func (r *reply) wait(d time.Duration) error {
	if d == 0 || r.pace == nil {
		return nil
	}
	return r.pace(d)
}
