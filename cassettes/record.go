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
	body  bodyBuffer // of the response
	long  bool       // the body is longer than Options.MaxBody and not kept
	came  []arrival  // at most one in a millisecond
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
	return !rec.long && !r.Chunked && r.Header.Get("Content-Length") == strconv.Itoa(rec.body.size)
}

func (rec *inFlight) take(part []byte) {
	if len(part) == 0 {
		return
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.long = rec.long || int64(rec.body.size)+int64(len(part)) > rec.c.opts.maxBody(); rec.long {
		rec.body, rec.came = bodyBuffer{}, nil
		return
	}
	_, _ = rec.body.Write(part)
	now := arrival{rec.c.opts.now().Sub(rec.begun), rec.body.size}
	if n := len(rec.came); n > 0 && rec.came[n-1].at.Milliseconds() == now.at.Milliseconds() {
		rec.came[n-1].size = now.size
		return
	}
	rec.came = append(rec.came, now)
}

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
	if rec.long {
		rec.drop(fmt.Errorf("interaction %d is not recorded: its response has more than %d bytes: set MaxBody (--max-body)", rec.number, rec.c.opts.maxBody()))
		return nil // the client gets the whole response
	}
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
	r.Body = rec.body.whole()
	r.Chunks = chunksOf(r, rec.came)
	rec.err = rec.keep()
	return rec.err
}

// drop ends an interaction that is not recorded. Close returns the error.
func (rec *inFlight) drop(err error) {
	rec.c.mu.Lock()
	defer rec.c.mu.Unlock()
	rec.c.dropped = cmp.Or(rec.c.dropped, err)
	delete(rec.c.open, rec)
}

// keep writes the interaction to the journal unless it has a suspected secret.
func (rec *inFlight) keep() (err error) {
	c := rec.c
	known := c.memory.Len()
	x := c.memory.Redacted(rec.x)
	suspects := c.memory.FindSecrets(x)
	if suspects == nil {
		err = c.journal.Add(rec.number, x, c.opts.matching().Keys(x.Session, &x.Request))
	}
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

// chunksOf returns the chunks of a body. Server-sent events have one chunk each, at the
// time of their last byte.
func chunksOf(r *recording.Response, came []arrival) (chunks []recording.Chunk) {
	at, reported, size := 0, time.Duration(0), 0
	add := func(n int) {
		for size += n; at < len(came)-1 && came[at].size < size; {
			at++
		}
		chunks = append(chunks, recording.Chunk{After: came[at].at - reported, Len: n})
		reported = came[at].at
	}
	if tape.IsEvents(r.Header) && match.ContentEncoding(r.Header) == "" {
		for _, p := range tape.EventChunks(r.Body) {
			add(p.Len)
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
			add(a.size - last)
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
