package cassettes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tape is a cassette that is replayed.
type tape struct {
	file     *File
	entries  []entry // those of the file, with the keys of this matching
	matching matching

	// sent finds an interaction by the key of its request byte by byte.
	sent map[uint64]int32

	mu   sync.Mutex
	by   map[uint64]int32 // the first interaction of a key, exact or bare, that may be left, or -1
	next []int32          // the one with the same exact key behind each, or -1
	bare []int32          // the same for bare keys
	used []bool
}

// newTape makes an index of a file.
func newTape(f *File, o *Options) (*tape, error) {
	m, n := o.matching(), f.Len()
	t := &tape{
		file: f, entries: f.entries, matching: m, sent: make(map[uint64]int32, n), by: make(map[uint64]int32, n),
		next: make([]int32, n), bare: make([]int32, n), used: make([]bool, n),
	}
	told := m.name() != "" && m.name() == f.Match
	if !told {
		t.entries = slices.Clone(f.entries) // others may replay the file, too
	}
	for i := n - 1; i >= 0; i-- {
		k := t.entries[i].keys
		if !told {
			x, err := f.Interaction(i)
			if err != nil {
				return nil, err
			}
			k = m.keys(x.Session, &o.Redacted(x).Request)
			t.entries[i].keys = k
		}
		if k.sent != 0 {
			t.sent[k.sent] = int32(i)
		}
		t.add(k.exact, int32(i), t.next)
		if k.bare != 0 {
			t.add(k.bare, int32(i), t.bare)
		}
	}
	return t, nil
}

// add puts an interaction before the others of a key.
func (t *tape) add(key uint64, i int32, next []int32) {
	next[i] = -1
	if j, ok := t.by[key]; ok {
		next[i] = j
	}
	t.by[key] = i
}

// take uses the next interaction of a request: with the same secrets, or, if none was
// recorded with them, with others. It is -1 if there is none.
func (t *tape) take(k keys) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, recorded := t.first(k.exact, t.next)
	if !recorded && k.bare != 0 {
		i, _ = t.first(k.bare, t.bare)
	}
	if i >= 0 {
		t.used[i] = true
	}
	return int(i)
}

// first is the first interaction of a key that was not used, or -1, and whether any was
// recorded. Those before it are forgotten.
func (t *tape) first(key uint64, next []int32) (first int32, recorded bool) {
	first, recorded = t.by[key]
	if !recorded {
		return -1, false
	}
	for first >= 0 && t.used[first] {
		first = next[first]
	}
	t.by[key] = first
	return first, true
}

// spent is the last interaction of a key that was used, or -1.
func (t *tape) spent(key uint64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, e := range slices.Backward(t.entries) {
		if t.used[i] && key != 0 && (e.keys.exact == key || e.keys.bare == key) {
			return i
		}
	}
	return -1
}

// unused returns an *UnusedError if there are interactions that were not used; again is
// how to record again.
func (t *tape) unused(again string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &UnusedError{File: t.file.name, RecordCommand: again}
	for i, used := range t.used {
		if !used {
			e.Unused = append(e.Unused, strings.TrimPrefix(string(t.file.title(i)), "=== "))
		}
	}
	if e.Unused == nil {
		return nil
	}
	return e
}

// replay answers from the cassette.
func (c *Cassette) replay(r *http.Request) (*http.Response, error) {
	begun := time.Now() //nolint:forbidigo // a pace is that of the real clock, or of a test's bubble
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
	from, events, err := c.tape.file.answer(i)
	if err != nil {
		return nil, err
	}
	if c.opts.DelayFactor > 0 {
		if from.Wait, err = c.tape.file.wait(i); err != nil {
			return nil, err
		}
	}
	if err := c.opts.pause(r.Context(), begun, from.Wait); err != nil {
		return nil, err
	}
	if from.Status == 0 {
		return nil, recordedError(from)
	}
	return c.opts.answer(r, from, events), nil
}

// find uses the interaction that answers a request. One that was recorded as it is, in
// all that counts, holds no secret there, and need not be redacted to be found.
func (c *Cassette) find(lane string, r Request) (int, error) {
	if m := c.tape.matching; m.own == nil && m.redact == nil {
		var k keys
		if i, same := c.tape.sent[sentKey(lane, &r)]; same {
			k.exact = c.tape.entries[i].keys.exact
		} else {
			k.exact = digest(m.text(lane, &r))
		}
		if i := c.tape.take(k); i >= 0 {
			c.notice(r.Header)
			return i, nil
		}
	}
	r = r.withOwnHeader() // redactors may change it
	clean := c.redacted(&Interaction{Request: r}).Request
	k := c.tape.matching.key(lane, &clean)
	if i := c.tape.take(k); i >= 0 {
		return i, nil
	}
	more, _ := c.opts.redacted(&Interaction{Request: r}, false, c.seen.whole())
	if i := c.tape.take(c.tape.matching.key(lane, &more.Request)); i >= 0 {
		return i, nil
	}
	if i := c.tape.takeMarked(lane, &clean); i >= 0 {
		return i, nil
	}
	return 0, c.miss(k, lane, clean)
}

// playedError is an error with which an answer ended when it was recorded.
type playedError struct{ text string }

func (e *playedError) Error() string { return "cassettes: " + e.text }

// errLeft says that a client was not there for the rest when it was recorded.
var errLeft = &playedError{"the recording ends here, since its client left"}

// recordedError is the error with which an answer ended when it was recorded.
func recordedError(r *Response) error {
	switch {
	case r.Termination == Canceled || r.Termination == Failed && r.Failure == context.Canceled.Error():
		return errLeft
	case r.Termination == Truncated && (r.Failure == "" || r.Failure == io.ErrUnexpectedEOF.Error()):
		return io.ErrUnexpectedEOF
	}
	return &playedError{"recorded: " + r.Failure}
}

// answer makes a response of a recorded one, the body of which is the events, if there
// are any.
func (o *Options) answer(r *http.Request, from *Response, events *stream) *http.Response {
	resp := &http.Response{
		Status: strconv.Itoa(from.Status) + " " + from.StatusText(), StatusCode: from.Status, Proto: from.Proto,
		Header: from.Header, Uncompressed: from.Uncompressed, ContentLength: from.ContentLength(), TransferEncoding: from.TransferEncoding(), Request: r,
	}
	resp.ProtoMajor, resp.ProtoMinor, _ = http.ParseHTTPVersion(from.Proto)
	if from.Trailer != nil {
		resp.Trailer = http.Header{}
		for name := range from.Trailer {
			resp.Trailer[name] = nil
		}
	}
	ctx, leave := context.WithCancelCause(r.Context())
	now := time.Now() //nolint:forbidigo // a pace is that of the real clock, or of a test's bubble
	resp.Body = &playback{ctx: ctx, leave: leave, opts: o, from: from, to: resp, begun: now, events: events, left: from.Body, pieces: from.Chunks}
	return resp
}

// playback is the body of a replayed answer.
type playback struct {
	ctx   context.Context
	leave context.CancelCauseFunc
	opts  *Options
	from  *Response
	to    *http.Response
	begun time.Time // when the header came

	mu     sync.Mutex
	events *stream // nil if all that is left is at hand
	left   []byte
	pieces []Chunk       // those that have not begun
	due    time.Duration // when the last one that has was due, in recorded time
	piece  int           // what is left of the one that has
}

// errBodyClosed is what reading a closed body gives.
var errBodyClosed = errors.New("http: read on closed response body")

func (p *playback) Read(dst []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.begin(); err == io.EOF { //nolint:errorlint // as next gives it
		return 0, p.end()
	} else if err != nil {
		return 0, err
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
	case p.piece > 0:
		return nil
	}
	next, err := p.next()
	if err != nil {
		return err
	}
	due := p.due + next.After
	if err := p.opts.pause(p.ctx, p.begun, due); err != nil {
		return err
	}
	p.due, p.piece = due, next.Len
	return nil
}

// next is the next piece, which is what is left to read, or begins it; behind the last
// one the error is io.EOF.
func (p *playback) next() (next Chunk, err error) {
	switch {
	case p.events != nil:
		next.After, p.left, err = p.events.next()
		next.Len = len(p.left)
	case len(p.pieces) > 0:
		next, p.pieces = p.pieces[0], p.pieces[1:]
	case len(p.left) > 0:
		next.Len = len(p.left)
	default:
		err = io.EOF
	}
	return next, err
}

// end is what a body ends with.
func (p *playback) end() error {
	if p.from.Termination != "" {
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
