package cassettes

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

func (c *Cassette) replay(r *http.Request) (*http.Response, error) {
	begun := time.Now() //nolint:forbidigo // delays use the real clock, or that of a test's bubble
	body, err := c.readBody(r)
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
	return c.play(r, i, begun)
}

// play responds with an interaction.
func (c *Cassette) play(r *http.Request, i int, begun time.Time) (*http.Response, error) {
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

// find uses the interaction that answers a request, or returns a [*MissError].
func (c *Cassette) find(session string, r recording.Request) (int, error) {
	i, clean := c.lookUp(session, r)
	if i < 0 {
		return 0, c.miss(session, clean)
	}
	return i, nil
}

// lookUp uses the interaction that answers a request. Without one it returns -1 and the redacted
// request. A request that was recorded unchanged contains no secret and needs no redaction.
func (c *Cassette) lookUp(session string, r recording.Request) (i int, clean recording.Request) {
	if i := c.index.TakeSame(session, &r); i >= 0 {
		c.memory.Notice(r.Header)
		return i, r
	}
	r = withOwnHeader(r) // redactors may change it
	clean = c.memory.Redacted(&recording.Interaction{Request: r}).Request
	if i := c.index.Take(session, &clean); i >= 0 {
		return i, clean
	}
	if i := c.index.Take(session, &c.memory.RedactedAll(&recording.Interaction{Request: r}).Request); i >= 0 {
		return i, clean
	}
	if i := c.index.TakeByPlaceholder(session, &clean); i >= 0 {
		return i, clean
	}
	return c.index.TakeRedacted(session, &clean, c.opts.Redacted), clean
}

// recordedFailure is a recorded failure.
type recordedFailure struct{ text string }

func (e *recordedFailure) Error() string { return "cassettes: " + e.text }

// errClientLeft means that the recorded client disconnected.
var errClientLeft = &recordedFailure{"the recording ends here because its client disconnected"}

func recordedError(r *recording.Response) error {
	switch {
	case r.Termination == recording.Canceled || r.Termination == recording.Failed && r.Failure == context.Canceled.Error():
		return errClientLeft
	case r.Termination == recording.Truncated && (r.Failure == "" || r.Failure == io.ErrUnexpectedEOF.Error()):
		return io.ErrUnexpectedEOF
	}
	return &recordedFailure{"recorded: " + r.Failure}
}

// answer returns the response to a request. Its body comes from events unless that is nil.
func (o *Options) answer(r *http.Request, from *recording.Response, events *tape.EventStream) *http.Response {
	if r.Method != http.MethodHead && from.Status != http.StatusNotModified && from.Termination == "" {
		fitLength(from, events)
	}
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
	now := time.Now() //nolint:forbidigo // delays use the real clock, or that of a test's bubble
	resp.Body = &playback{ctx: ctx, leave: leave, opts: o, from: from, to: resp, begun: now, events: events, left: from.Body, chunks: from.Chunks}
	return resp
}

// fitLength corrects a Content-Length that differs from the length of the body, because the body
// was edited or the recorder decoded it. A client would report a truncated body.
func fitLength(from *recording.Response, events *tape.EventStream) {
	const name = "Content-Length"
	if from.Header.Get(name) == "" {
		return
	}
	length := len(from.Body)
	if events != nil {
		for left, err := *events, error(nil); err == nil; {
			var event []byte
			_, event, err = left.Next()
			length += len(event)
		}
	}
	from.Header.Set(name, strconv.Itoa(length))
}

type playback struct {
	ctx   context.Context
	leave context.CancelCauseFunc
	opts  *Options
	from  *recording.Response
	to    *http.Response
	begun time.Time // time of the header

	mu     sync.Mutex
	events *tape.EventStream // nil if the rest is in left
	left   []byte
	chunks []recording.Chunk // those that have not begun
	due    time.Duration     // when the current one was due, in recorded time
	unread int               // unread bytes of the current one
}

// errBodyClosed is the error of reading a closed body.
var errBodyClosed = errors.New("http: read on closed response body")

func (p *playback) Read(dst []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.begin(); err != nil {
		return 0, err
	}
	n := copy(dst, p.left[:p.unread])
	p.left, p.unread = p.left[n:], p.unread-n
	return n, nil
}

// begin waits for the next chunk if no byte is left of the current one. Its error at the end
// is that of the recording, or io.EOF.
func (p *playback) begin() (err error) {
	if p.ctx.Err() != nil || p.unread > 0 {
		return context.Cause(p.ctx)
	}
	var next recording.Chunk
	switch {
	case p.events != nil:
		next.After, p.left, err = p.events.Next()
		next.Len = len(p.left)
	case len(p.chunks) > 0:
		next, p.chunks = p.chunks[0], p.chunks[1:]
	case len(p.left) > 0:
		next.Len = len(p.left)
	default:
		err = io.EOF
	}
	if err == io.EOF { //nolint:errorlint // as EventStream returns it
		return p.end()
	}
	p.due += next.After
	p.unread = next.Len
	return cmp.Or(err, p.opts.pause(p.ctx, p.begun, p.due))
}

func (p *playback) end() error {
	if p.from.Termination != "" {
		return recordedError(p.from)
	}
	for name, values := range p.from.Trailer {
		p.to.Trailer[name] = values
	}
	return io.EOF
}

// Close also ends a waiting Read.
func (p *playback) Close() error {
	p.leave(errBodyClosed)
	return nil
}
