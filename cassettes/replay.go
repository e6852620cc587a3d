package cassettes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// tape is a cassette that is replayed.
type tape struct {
	file     *File
	matching matching

	mu    sync.Mutex
	by    map[uint64]int32 // the first interaction of a key that was not used
	next  []int32          // the one with the same key behind each, or -1
	used  []bool
	spent map[uint64]int32 // the last interaction of a key that was used
}

// newTape makes an index of a file.
func newTape(f *File, o *Options) (*tape, error) {
	m := o.matching()
	t := &tape{file: f, matching: m, by: make(map[uint64]int32, f.Len()), next: make([]int32, f.Len()), used: make([]bool, f.Len()), spent: map[uint64]int32{}}
	told := m.name() != "" && m.name() == f.Match
	for i := f.Len() - 1; i >= 0; i-- {
		key := f.entries[i].key
		if !told {
			x, err := f.Interaction(i)
			if err != nil {
				return nil, err
			}
			key = m.key(x.Lane, &o.Redacted(x).Request)
			f.entries[i].key = key
		}
		t.next[i] = -1
		if j, ok := t.by[key]; ok {
			t.next[i] = j
		}
		t.by[key] = int32(i)
	}
	return t, nil
}

// take uses the next interaction of a key; it is -1 if there is none.
func (t *tape) take(key uint64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.by[key]
	if !ok {
		return -1
	}
	t.used[i] = true
	t.spent[key] = i
	if t.next[i] < 0 {
		delete(t.by, key)
	} else {
		t.by[key] = t.next[i]
	}
	return int(i)
}

// unused returns an *UnusedError if there are interactions that were not used.
func (t *tape) unused() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &UnusedError{File: t.file.name}
	for i, used := range t.used {
		if !used {
			line, _, _ := strings.Cut(string(t.file.text[t.file.entries[i].from:t.file.entries[i].to]), "\n")
			e.Unused = append(e.Unused, strings.TrimPrefix(line, "=== "))
		}
	}
	if e.Unused == nil {
		return nil
	}
	return e
}

// replay answers from the cassette.
func (c *Cassette) replay(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	i, err := c.find(c.opts.lane(r), requestOf(r, body))
	if err != nil {
		return nil, err
	}
	from, err := c.tape.file.answer(i)
	if err != nil {
		return nil, err
	}
	if err := c.opts.pause(r.Context(), from.Wait); err != nil {
		return nil, err
	}
	if from.Status == 0 {
		return nil, recordedError(from)
	}
	return c.opts.answer(r, from), nil
}

// find uses the interaction that answers a request. One that was recorded as it is, in
// all that counts, holds no secret there, and need not be redacted to be found.
func (c *Cassette) find(lane string, r Request) (int, error) {
	if m := c.tape.matching; m.own == nil && m.redact == nil {
		if i := c.tape.take(m.key(lane, &r)); i >= 0 {
			return i, nil
		}
	}
	r = c.opts.Redacted(&Interaction{Request: r}).Request
	key := c.tape.matching.key(lane, &r)
	if i := c.tape.take(key); i >= 0 {
		return i, nil
	}
	return 0, c.miss(key, lane, r)
}

// recordedError is the error with which an answer ended when it was recorded.
func recordedError(r *Response) error {
	switch {
	case r.Ending == Cancelled:
		return errors.New("cassettes: the recording ends here, since its client left")
	case r.Ending == Cut && (r.Failure == "" || r.Failure == io.ErrUnexpectedEOF.Error()):
		return io.ErrUnexpectedEOF
	}
	return fmt.Errorf("cassettes: recorded: %s", r.Failure)
}

// answer makes a response of a recorded one.
func (o *Options) answer(r *http.Request, from *Response) *http.Response {
	resp := &http.Response{
		Status: strconv.Itoa(from.Status) + " " + from.StatusText(), StatusCode: from.Status, Proto: from.Proto,
		Header: from.Header, Uncompressed: from.Uncompressed, ContentLength: int64(len(from.Body)), Request: r,
	}
	resp.ProtoMajor, resp.ProtoMinor, _ = http.ParseHTTPVersion(from.Proto)
	if n, err := strconv.ParseInt(from.Header.Get("Content-Length"), 10, 64); err == nil {
		resp.ContentLength = n
	}
	if from.Chunked {
		resp.ContentLength = -1
		if resp.ProtoMajor == 1 && !from.Uncompressed {
			resp.TransferEncoding = []string{"chunked"}
		}
	}
	if from.Trailer != nil {
		resp.Trailer = http.Header{}
		for name := range from.Trailer {
			resp.Trailer[name] = nil
		}
	}
	ctx, leave := context.WithCancelCause(r.Context())
	resp.Body = &playback{ctx: ctx, leave: leave, opts: o, from: from, to: resp, left: from.Body, pieces: from.Pieces}
	return resp
}

// playback is the body of a replayed answer.
type playback struct {
	ctx   context.Context
	leave context.CancelCauseFunc
	opts  *Options
	from  *Response
	to    *http.Response

	mu     sync.Mutex
	left   []byte
	pieces []Piece // those that have not begun
	piece  int     // what is left of the one that has
}

// errBodyClosed is what reading a closed body gives.
var errBodyClosed = errors.New("http: read on closed response body")

func (p *playback) Read(dst []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.begin(); err != nil {
		return 0, err
	}
	if len(p.left) == 0 {
		return 0, p.end()
	}
	n := copy(dst, p.left[:p.piece])
	p.left, p.piece = p.left[n:], p.piece-n
	return n, nil
}

// begin waits for the next piece, if the one at hand is read.
func (p *playback) begin() error {
	switch {
	case p.ctx.Err() != nil:
		return context.Cause(p.ctx)
	case p.piece > 0 || len(p.left) == 0:
		return nil
	case len(p.pieces) == 0:
		p.piece = len(p.left)
		return nil
	}
	if err := p.opts.pause(p.ctx, p.pieces[0].After); err != nil {
		return err
	}
	p.piece, p.pieces = p.pieces[0].Len, p.pieces[1:]
	return nil
}

// end is what a body ends with.
func (p *playback) end() error {
	if p.from.Ending != "" {
		return recordedError(p.from)
	}
	for name, values := range p.from.Trailer {
		p.to.Trailer[name] = values
	}
	return io.EOF
}

// Close ends a read that waits, too.
func (p *playback) Close() error {
	p.leave(errBodyClosed)
	return nil
}
