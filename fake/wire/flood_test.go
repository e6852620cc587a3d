package wire_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/providers/protocol"
)

// The bounds of the clients that hostile servers are asked with.
const (
	floodEvent    = 16 << 10
	floodResponse = 256 << 10
)

// floodBody is a body without an end: a start, and then a repeated chunk. It counts the bytes
// that are read.
type floodBody struct {
	ctx    context.Context //nolint:containedctx // of the request that it answers
	start  string
	piece  string
	every  time.Duration // between two bytes; 0 is as fast as they are taken
	looked func()        // at each Read; nil is not at all
	more   string        // what is repeated
	rest   string
	taken  int
	closed bool
}

func (h *floodBody) Read(p []byte) (int, error) {
	if h.every > 0 {
		p = p[:1]
	}
	if err := (loop.SystemClock{}).Sleep(h.ctx, h.every); err != nil {
		return 0, err
	}
	if h.looked != nil {
		h.looked()
	}
	if h.more == "" {
		h.more = strings.Repeat(h.piece, 4<<10/len(h.piece))
		h.rest = h.start
	}
	for n := 0; n < len(p); {
		if h.rest == "" {
			h.rest = h.more
		}
		taken := copy(p[n:], h.rest)
		h.rest = h.rest[taken:]
		n += taken
	}
	h.taken += len(p)
	return len(p), nil
}

func (h *floodBody) Close() error {
	h.closed = true
	return nil
}

// tripper is a function that implements http.RoundTripper.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// askFlood sends a request in a protocol and gets such a response. Without limits it uses
// those of the client.
func askFlood(ctx context.Context, proto string, status int, contentType string, bounds bool, h *floodBody) error {
	client := clientsOf("http://hostile.invalid", "", &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		h.ctx = r.Context()
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: h, Request: r}, nil
	})})[proto]
	if bounds {
		client.MaxEvent, client.MaxResponse = floodEvent, floodResponse
	}
	_, err := llm.Collect(client.Stream(ctx, request(llm.Streaming, llm.User("hi"))))
	return err
}

// floods are responses without an end. Most is the maximum number of bytes that a client may
// read.
var floods = []struct {
	name         string
	status       int
	contentType  string
	start, piece string
	most         int
}{
	{"an endless line", 200, "text/event-stream", "data: {", "xxxxxxxx", floodEvent + 16<<10},
	{"an endless event", 200, "text/event-stream", "data: {\n", "data: \"x\":1,\n", floodEvent + 16<<10},
	{"an endless comment", 200, "text/event-stream", ": ", "xxxxxxxx", floodEvent + 16<<10},
	{"an endless name", 200, "text/event-stream", "", "event: ping\n", floodEvent + 16<<10},
	{"endless comments", 200, "text/event-stream", "", ": ping\n\n", floodResponse + 1},
	{"endless empty lines", 200, "text/event-stream", "", "\n", floodResponse + 1},
	{"endless empty events", 200, "text/event-stream", "", "event: ping\ndata: {}\n\n", floodResponse + 1},
	{"endless rubbish", 200, "text/event-stream", "", "rubbish\n\n", floodResponse + 1},
	{"an endless answer", 200, "application/json", `{"choices":[`, `{"index":1},`, floodResponse + 1},
	{"an endless error", 500, "text/html", "", "<p>oh</p>", 64 << 10},
}

// A client reads a limited number of bytes of an endless response, and then closes the
// connection.
func TestFloodBodies(t *testing.T) {
	for _, c := range floods {
		for _, k := range protocols {
			t.Run(c.name+" "+k.name, func(t *testing.T) {
				h := &floodBody{start: c.start, piece: c.piece}
				err := askFlood(t.Context(), k.name, c.status, c.contentType, true, h)
				if e, ok := errors.AsType[*llm.APIError](err); !ok || e.Status != c.status || c.status == 200 && !errors.Is(err, protocol.ErrTooLarge) {
					t.Errorf("the error is %v", err)
				}
				if h.taken > c.most || !h.closed || len(err.Error()) > 1000 {
					t.Errorf("%d bytes were read, want at most %d; closed: %t; the error has %d bytes", h.taken, c.most, h.closed, len(err.Error()))
				}
			})
		}
	}
}

// A client without limits of its own stops soon after DefaultMaxEvent and reports that limit.
// The first two floods show it.
func TestFloodDefaults(t *testing.T) {
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, c := range floods[:2] {
		for _, k := range protocols {
			t.Run(c.name+" "+k.name, func(t *testing.T) {
				before, most, next := live(), 0, 0
				h := &floodBody{start: c.start, piece: c.piece}
				h.looked = func() {
					if h.taken >= next {
						most, next = max(most, live()-before), h.taken+4<<20
					}
				}
				err := askFlood(t.Context(), k.name, c.status, c.contentType, false, h)
				if !errors.Is(err, protocol.ErrTooLarge) || !strings.Contains(err.Error(), "over 33554432 bytes, the limit Client.MaxEvent") {
					t.Errorf("the error is %v", err)
				}
				if h.taken <= protocol.DefaultMaxEvent || h.taken > protocol.DefaultMaxEvent+16<<10 || !h.closed {
					t.Errorf("%d bytes were read; closed: %t", h.taken, h.closed)
				}
				if most > 2*protocol.DefaultMaxEvent {
					t.Errorf("%d bytes are in memory", most)
				}
			})
		}
	}
}

// The deadline ends a response that sends one byte per second.
func TestFloodSlowBody(t *testing.T) {
	for _, c := range floods {
		for _, k := range protocols {
			t.Run(c.name+" "+k.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const limit = 59500 * time.Millisecond
					clock := loop.SystemClock{}
					ctx, cancel := clock.WithTimeout(t.Context(), limit, loop.ErrDeadline)
					defer cancel()
					begun := clock.Now()
					h := &floodBody{start: c.start, piece: c.piece, every: time.Second}
					err := askFlood(ctx, k.name, c.status, c.contentType, true, h)
					if took := clock.Now().Sub(begun); took != limit || h.taken != 59 || !h.closed {
						t.Errorf("after %v and %d bytes: %v; closed: %t", took, h.taken, err, h.closed)
					}
					if c.status == 200 && !errors.Is(err, loop.ErrDeadline) {
						t.Errorf("the error is %v", err)
					}
				})
			})
		}
	}
}

// A compressed response is not decompressed beyond the limits.
func TestFloodGzip(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 4*floodResponse)) // a buffer takes all
	_ = z.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		for r.Context().Err() == nil {
			if _, err := w.Write(bomb.Bytes()); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	for _, k := range protocols {
		client := clientsOf(server.URL, "", server.Client())[k.name]
		client.MaxEvent, client.MaxResponse = floodEvent, floodResponse
		if _, err := ask(client, request(llm.Streaming, llm.User("hi"))); !errors.Is(err, protocol.ErrTooLarge) {
			t.Errorf("%s: got %v", k.name, err)
		}
	}
	server.CloseClientConnections()
}

// Endless headers are an error.
func TestFloodHeaders(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed below
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n") // the next write fails, if this one does
			for i := 0; err == nil; i++ {
				_, err = fmt.Fprintf(conn, "X-%d: %01000d\r\n", i, i)
			}
			_ = conn.Close()
		}
		served <- err
	}()
	transport := &http.Transport{MaxResponseHeaderBytes: 1 << 20}
	client := clientsOf("http://"+listener.Addr().String(), "", &http.Client{Transport: transport})["openai-chat"]
	_, err = ask(client, request(llm.Streaming, llm.User("hi")))
	if e, ok := errors.AsType[*llm.APIError](err); !ok || e.Status != 0 {
		t.Errorf("got %v", err)
	}
	transport.CloseIdleConnections()
	if err := <-served; err == nil {
		t.Error("the client took headers without end")
	}
	_ = listener.Close()
}
