package cassettes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// inFlight is an interaction in progress.
type inFlight struct {
	c      *Cassette
	number int
	x      *recording.Interaction

	mu    sync.Mutex
	ended bool
	err   error // of the journal
	begun time.Time
	size  int         // of the body of the response
	body  bodyBuffer  // unless it is longer than Options.MaxBody
	long  *longStream // of a longer one, and of many events
	came  arrivals    // at most one in a millisecond
	live  *http.Response
}

// arrival is the time at which size bytes of a body had arrived.
type arrival struct {
	at   time.Duration // since the header
	size int
}

func (c *Cassette) record(r *http.Request) (*http.Response, error) {
	rec, out, err := c.begin(r)
	if err != nil {
		return nil, err
	}
	resp, err := c.ask(out)
	if err != nil {
		return nil, and(err, rec.end(recording.Failed, err))
	}
	if !rec.answered(resp) {
		return resp, nil
	}
	if resp.Body == nil || resp.Body == http.NoBody || rec.complete() {
		return resp, rec.end("", nil)
	}
	resp.Body = &tee{rec: rec, body: resp.Body, ctx: r.Context()}
	return resp, nil
}

func (c *Cassette) ask(r *http.Request) (*http.Response, error) {
	resp, err := c.opts.transport().RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, err
	}
	return nil, and(fmt.Errorf("cassettes: the server switched to the protocol %q, which cannot be recorded: disable the upgrade in the client", resp.Header.Get("Upgrade")), resp.Body.Close())
}

// and returns err unchanged if other is nil, because callers check the types of network
// errors.
func and(err, other error) error {
	if other == nil {
		return err
	}
	return errors.Join(err, other)
}

// begin numbers a request and returns a copy to send.
func (c *Cassette) begin(r *http.Request) (*inFlight, *http.Request, error) {
	body, err := c.readBody(r)
	if err != nil {
		return nil, nil, err
	}
	if err := c.opts.CheckHeader(r.Header); err != nil {
		return nil, nil, fmt.Errorf("cassettes: nothing was sent: %w", err)
	}
	out := r.Clone(r.Context())
	withoutSession(out.Header)
	match.AskReadable(out.Header)
	if r.Body != nil && r.Body != http.NoBody {
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	rec := &inFlight{c: c, begun: c.opts.now(), x: &recording.Interaction{Session: c.opts.session(r), Request: withOwnHeader(requestOf(r, body))}}
	c.memory.Notice(rec.x.Request.Header)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	c.issued++
	rec.number = c.issued
	c.open[rec] = true
	return rec, out, nil
}

// readBody reads and closes the body of a request. It returns an error if the request is
// canceled.
func (c *Cassette) readBody(r *http.Request) ([]byte, error) {
	body, err := wantedBody(r, c.opts.maxBody())
	return body, cmp.Or(err, context.Cause(r.Context()))
}

func wantedBody(r *http.Request, most int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.GetBody != nil { // reading from memory does not block
		return wholeBody(r, most)
	}
	var body []byte
	read := make(chan error, 1)
	go func() {
		var err error
		body, err = wholeBody(r, most)
		read <- err
	}()
	select {
	case err := <-read:
		return body, err
	case <-r.Context().Done():
		go func() { _ = r.Body.Close() }() // may wait for the reader
		return nil, context.Cause(r.Context())
	}
}

func wholeBody(r *http.Request, most int64) ([]byte, error) {
	from := io.LimitReader(r.Body, most+1)
	if 0 < r.ContentLength && r.ContentLength <= min(maxReserved, most) {
		var body bytes.Buffer
		body.Grow(int(r.ContentLength) + bytes.MinRead)
		_, err := body.ReadFrom(from)
		return body.Bytes(), and(err, r.Body.Close())
	}
	var body bodyBuffer
	n, err := io.Copy(&body, from)
	if n > most {
		err = and(fmt.Errorf("cassettes: the request has more than %d bytes: set MaxBody (--max-body)", most), err)
	}
	return body.whole(), and(err, r.Body.Close())
}

// requestOf returns the request in its recorded form. It shares the header with r if
// possible.
func requestOf(r *http.Request, body []byte) recording.Request {
	out := recording.Request{Method: cmp.Or(r.Method, http.MethodGet), URL: r.URL.String(), Header: r.Header, Body: body, Trailer: r.Trailer}
	host, chunked := r.Host != "" && r.Host != r.URL.Host, r.ContentLength <= 0 && len(body) > 0
	if h := r.Header; h != nil && !host && !chunked && h[SessionHeader] == nil && h[oldSessionHeader] == nil && h["Transfer-Encoding"] == nil && h["Host"] == nil {
		return out
	}
	if out.Header = r.Header.Clone(); out.Header == nil {
		out.Header = http.Header{}
	}
	withoutSession(out.Header)
	out.Header.Del("Transfer-Encoding") // net/http ignores these fields
	out.Header.Del("Host")
	if chunked {
		out.Header.Set("Transfer-Encoding", "chunked")
	}
	if host {
		out.Header.Set("Host", r.Host)
	}
	return out
}

func withOwnHeader(r recording.Request) recording.Request {
	r.Header, r.Trailer = r.Header.Clone(), r.Trailer.Clone()
	return r
}

// answered records the response header. It returns false if the recording is closed.
func (rec *inFlight) answered(resp *http.Response) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.ended {
		return false
	}
	out := &rec.x.Response
	now := rec.c.opts.now()
	out.Wait, rec.begun = now.Sub(rec.begun), now
	out.Status, out.Proto, out.Header = resp.StatusCode, resp.Proto, resp.Header.Clone()
	if reason, _ := strings.CutPrefix(resp.Status, strconv.Itoa(resp.StatusCode)+" "); reason != http.StatusText(resp.StatusCode) {
		out.Reason = reason
	}
	out.Chunked, out.Uncompressed = resp.ContentLength < 0, resp.Uncompressed
	rec.live = resp
	return true
}

// complete reports whether the body is known to be complete before its end is read. A caller
// may stop reading there. A response that announces a trailer is complete only at its end.
func (rec *inFlight) complete() bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	r := &rec.x.Response
	switch {
	case rec.live.Trailer != nil:
		return false
	case rec.x.Request.Method == http.MethodHead, r.Status == http.StatusNoContent, r.Status == http.StatusNotModified:
		return true
	}
	return !r.Chunked && r.Header.Get("Content-Length") == strconv.Itoa(rec.size)
}

func (rec *inFlight) take(part []byte) {
	if len(part) == 0 {
		return
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.size += len(part)
	at := rec.c.opts.now().Sub(rec.begun)
	if rec.fits() {
		_, _ = rec.body.Write(part)
		rec.came.add(at, rec.size)
	}
	switch {
	case rec.long != nil:
		rec.long.add(part, at, rec.size)
	case !rec.fits() || rec.size > rec.c.parts.Size && isEvents(rec.x.Response.Header):
		rec.lengthen(part, at)
	}
	if !rec.fits() {
		rec.body, rec.came = bodyBuffer{}, arrivals{}
	}
}

// fits reports whether the body can be recorded as a whole.
func (rec *inFlight) fits() bool { return int64(rec.size) <= rec.c.opts.maxBody() }

// isEvents reports whether a body has readable events.
func isEvents(h http.Header) bool { return tape.IsEvents(h) && match.ContentEncoding(h) == "" }

func (rec *inFlight) over() bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.ended
}

// maxReserved limits the memory that is reserved for a body before it arrives.
const maxReserved = 1 << 20

// bodyBuffer is a body that arrives in parts. It does not copy earlier parts when it grows.
type bodyBuffer struct {
	full [][]byte
	last []byte // may have free capacity
	size int
}

// Write implements [io.Writer]. Its error is nil.
func (b *bodyBuffer) Write(part []byte) (int, error) {
	if cap(b.last)-len(b.last) < len(part) {
		if b.last != nil {
			b.full = append(b.full, b.last)
		}
		b.last = make([]byte, 0, max(len(part), min(b.size, maxReserved)))
	}
	b.last = append(b.last, part...)
	b.size += len(part)
	return len(part), nil
}

// whole returns the body so far in one slice.
func (b *bodyBuffer) whole() []byte {
	if b.full == nil {
		return b.last
	}
	return slices.Concat(append(b.full, b.last)...)
}

// end writes the interaction once. Later calls return the same error.
func (rec *inFlight) end(how recording.Termination, because error) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.ended {
		return rec.err
	}
	rec.ended = true
	rec.err = fmt.Errorf("interaction %d is not recorded: Redact or Match of the options has panicked", rec.number) // the result after a panic
	r := &rec.x.Response
	if r.Termination = how; because != nil {
		r.Failure = strings.ToValidUTF8(because.Error(), "\uFFFD")
	}
	switch {
	case rec.live == nil:
		r.Wait = rec.c.opts.now().Sub(rec.begun)
	case how == "": // before the end of the body, the transport may be writing the trailer
		r.Trailer = rec.live.Trailer.Clone()
	}
	write := rec.add
	if rec.long != nil {
		write = rec.addLong
	}
	rec.err = rec.keep(write)
	return rec.err
}

// addLong writes the parts, or the whole body if it fits and its parts cannot be written.
func (rec *inFlight) addLong() ([]redact.SuspectedSecret, error) {
	suspects, err := rec.long.end()
	switch {
	case err == nil:
		return suspects, nil
	case rec.fits():
		return rec.add()
	}
	rec.c.drop(err)
	return nil, nil // the client gets the whole response
}

// drop keeps the error of the first interaction that is not recorded. Close returns it.
func (c *Cassette) drop(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped = cmp.Or(c.dropped, err)
}

// keep ends an interaction with a function that writes it to the journal, or returns its suspected
// secrets.
func (rec *inFlight) keep(write func() ([]redact.SuspectedSecret, error)) error {
	c := rec.c
	known := c.memory.Len()
	suspects, err := write()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[rec.number] = known
	for _, s := range suspects {
		s.Interaction = rec.number
		c.suspected = append(c.suspected, s)
	}
	delete(c.open, rec)
	return err
}

func (rec *inFlight) add() ([]redact.SuspectedSecret, error) {
	c, r := rec.c, &rec.x.Response
	r.Body = rec.body.whole()
	r.Chunks = chunksOf(r, rec.came.came)
	x := c.memory.Redacted(rec.x)
	if suspects := c.memory.FindSecrets(x); suspects != nil {
		return suspects, nil
	}
	return nil, c.journal.Add(rec.number, x, c.opts.matching().Keys(x.Session, &x.Request))
}

// chunksOf returns the chunks of a body. Server-sent events have one chunk each, at the
// time of their last byte.
func chunksOf(r *recording.Response, came []arrival) (chunks []recording.Chunk) {
	times := arrivals{came: came}
	if isEvents(r.Header) {
		for _, p := range tape.EventChunks(r.Body) {
			chunks = append(chunks, times.chunk(p.Len))
		}
		return chunks
	}
	if !r.Chunked {
		return nil
	}
	// Bytes that arrived in the same millisecond are one chunk.
	last := 0
	for i, a := range came {
		if i == len(came)-1 || came[i+1].at.Milliseconds() != a.at.Milliseconds() {
			chunks = append(chunks, times.chunk(a.size-last))
			last = a.size
		}
	}
	return chunks
}

// tee copies a body to the recording while the client reads it.
type tee struct {
	rec  *inFlight
	body io.ReadCloser
	ctx  context.Context //nolint:containedctx // that of the request

	reading sync.Mutex // locked while the body is read
}

func (t *tee) Read(p []byte) (int, error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	n, err := t.body.Read(p)
	t.rec.take(p[:n])
	switch {
	case err == nil && !t.rec.complete():
	case err == nil, errors.Is(err, io.EOF):
		if failed := t.rec.end("", nil); failed != nil {
			err = failed
		}
	case t.ctx.Err() != nil:
		err = and(err, t.rec.end(recording.Canceled, nil))
	default:
		err = and(err, t.rec.end(recording.Truncated, err))
	}
	return n, err
}

// Close also records the rest of the body if it arrives immediately. Many clients stop
// reading at the last brace or event.
func (t *tee) Close() error {
	if rest, ok := t.rest(); ok {
		t.rec.take(rest)
		_ = t.rec.end("", nil) // returned below
	}
	return and(t.body.Close(), t.rec.end(recording.Canceled, nil))
}

// Limits for reading the rest of a body that is closed early.
const (
	restTime = 100 * time.Millisecond
	maxRest  = 256 << 10
)

// rest returns the rest of a body. It returns false if the end does not arrive in time.
func (t *tee) rest() (rest []byte, ok bool) {
	if t.rec.over() || !t.reading.TryLock() {
		return nil, false
	}
	came := make(chan []byte, 1)
	go func() {
		defer t.reading.Unlock()
		defer close(came)
		if rest, err := io.ReadAll(io.LimitReader(t.body, maxRest)); err == nil && len(rest) < maxRest {
			came <- rest
		}
	}()
	timer := time.NewTimer(restTime) //nolint:forbidigo // what it bounds is the network's
	defer timer.Stop()
	select {
	case rest, ok = <-came:
	case <-timer.C:
	case <-t.ctx.Done():
	}
	return rest, ok
}
