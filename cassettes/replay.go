package cassettes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/looptape/looptape/cassettes/internal/tape"
)

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
	i, err := c.find(c.opts.session(r), requestOf(r, body))
	if err != nil {
		return nil, err
	}
	from, events, err := c.file.Answer(i)
	if err != nil {
		return nil, err
	}
	if c.opts.DelayFactor > 0 {
		if from.Wait, err = c.file.Wait(i); err != nil {
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
func (c *Cassette) find(session string, r Request) (int, error) {
	if i := c.tape.TakeSame(session, &r); i >= 0 {
		c.memory.Notice(r.Header)
		return i, nil
	}
	r = withOwnHeader(r) // redactors may change it
	clean := c.memory.Redacted(&Interaction{Request: r}).Request
	if i := c.tape.Take(session, &clean); i >= 0 {
		return i, nil
	}
	if i := c.tape.Take(session, &c.memory.RedactedAll(&Interaction{Request: r}).Request); i >= 0 {
		return i, nil
	}
	if i := c.tape.TakeMarked(session, &clean); i >= 0 {
		return i, nil
	}
	return 0, c.miss(session, clean)
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
func (o *Options) answer(r *http.Request, from *Response, events *tape.EventStream) *http.Response {
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
	events *tape.EventStream // nil if all that is left is at hand
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
		next.After, p.left, err = p.events.Next()
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
