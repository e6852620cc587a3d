package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// Client returns a client that calls the server of a [World] in this process, without a connection, whatever the
// URL is. A read of a response body returns one chunk at most. The client is safe for use by many goroutines.
func (s *Server) Client() *http.Client { return &http.Client{Transport: direct{s}} }

// direct is a transport that calls the server of an explored run.
type direct struct{ server *Server }

// RoundTrip implements [http.RoundTripper]. It returns when the response is delivered.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	in := *r
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer func() { _ = in.Body.Close() }()
	ctx := r.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w := &directWriter{header: http.Header{}, status: http.StatusOK}
	d.server.ServeHTTP(w, &in)
	a := w.answer
	out := &http.Response{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1}
	switch {
	case a == nil: // the request was rejected
		out.StatusCode, out.Header, out.Body = w.status, w.header, io.NopCloser(bytes.NewReader(w.body))
		out.ContentLength = int64(len(w.body))
	case a.err != nil:
		return nil, a.err
	case a.Status == 0:
		a.sent()
		return nil, io.EOF // as from a connection that ends
	default:
		out.StatusCode, out.Header = a.Status, a.Header.Clone()
		out.Body = &directBody{exploredAnswer: a, ctx: ctx}
		if a.pause == 0 {
			a.sent()
		}
	}
	out.Status = http.StatusText(out.StatusCode)
	return out, nil
}

// directWriter keeps what the server writes for a request.
type directWriter struct {
	status int
	header http.Header
	body   []byte
	answer *exploredAnswer
}

func (w *directWriter) Header() http.Header    { return w.header }
func (w *directWriter) WriteHeader(status int) { w.status = status }
func (w *directWriter) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// directBody is the body of a response.
type directBody struct {
	*exploredAnswer
	ctx context.Context //nolint:containedctx // of the request, as in net/http

	read   int // bytes
	chunk  int // the number of chunks that were read
	paused bool
	err    error
}

// Read implements [io.Reader].
func (b *directBody) Read(p []byte) (int, error) {
	if b.err == nil && b.ctx.Err() != nil && !b.late {
		b.err = context.Cause(b.ctx)
	}
	switch {
	case b.err != nil:
		return 0, b.err
	case b.read == len(b.body):
		b.err = b.end()
		return 0, b.err
	case b.pause > 0 && b.read == b.pause && !b.paused:
		if b.paused, b.err = true, b.rest(); b.err != nil {
			return 0, b.err
		}
		b.sent()
	}
	for b.ends[b.chunk] <= b.read {
		b.chunk++
	}
	n := copy(p, b.body[b.read:b.ends[b.chunk]])
	b.read += n
	return n, nil
}

// end returns the error after the last byte.
func (b *directBody) end() error {
	switch b.End {
	case reply.Reset:
		return io.ErrUnexpectedEOF
	case reply.Hang:
		b.hang(b.ctx)
		if b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
		return io.ErrUnexpectedEOF
	case reply.EndBody:
	}
	return io.EOF
}

// Close implements [io.Closer].
func (b *directBody) Close() error {
	b.err = http.ErrBodyReadAfterClose
	return nil
}
