package cassettes_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// slowEnd is a body whose end arrives when its last byte is read.
type slowEnd struct {
	io.Reader
	end chan struct{}
}

func (s slowEnd) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		<-s.end
	}
	return n, err
}

// A response is on disk when its client has the whole body, even before the end of the stream.
func TestOnDiskBeforeEnd(t *testing.T) {
	for name, c := range map[string]struct {
		method  string
		resp    http.Response
		body    string
		atOnce  bool // on disk when the body is read
		trailer string
	}{
		"a known length":       {"GET", http.Response{StatusCode: 200, ContentLength: 5, Header: http.Header{"Content-Length": {"5"}}}, "hello", true, ""},
		"no length":            {"GET", http.Response{StatusCode: 200, ContentLength: -1}, "hello", false, ""},
		"an invalid length":    {"GET", http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{"Content-Length": {"5"}}}, "hello", false, ""},
		"more to come":         {"GET", http.Response{StatusCode: 200, ContentLength: 6, Header: http.Header{"Content-Length": {"6"}}}, "hello", false, ""},
		"a trailer":            {"GET", http.Response{StatusCode: 200, ContentLength: 5, Header: http.Header{"Content-Length": {"5"}}, Trailer: http.Header{"X-Sum": nil}}, "hello", false, "7"},
		"nothing, of a length": {"GET", http.Response{StatusCode: 200, Header: http.Header{"Content-Length": {"0"}}}, "", true, ""},
		"nothing":              {"GET", http.Response{StatusCode: 200}, "", false, ""},
		"no content":           {"GET", http.Response{StatusCode: 204, ContentLength: -1}, "", true, ""},
		"not modified":         {"GET", http.Response{StatusCode: 304, ContentLength: -1}, "", true, ""},
		"a header alone":       {"HEAD", http.Response{StatusCode: 200, ContentLength: 5, Header: http.Header{"Content-Length": {"5"}}}, "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path, end := filepath.Join(t.TempDir(), "r.tape"), make(chan struct{})
			rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: answering(func(r *http.Request) (*http.Response, error) {
				c.resp.Body, c.resp.Request = io.NopCloser(slowEnd{strings.NewReader(c.body), end}), r
				return &c.resp, nil
			})})
			req, _ := http.NewRequestWithContext(t.Context(), c.method, "http://example.com/", nil)
			resp, err := rec.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, len(c.body))); err != nil {
				t.Fatal(err)
			}
			f, err := cassettes.ReadFile(cassettes.JournalPath(path))
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Len() == 1; got != c.atOnce {
				t.Errorf("on disk before the end: %v, want %v", got, c.atOnce)
			}
			close(end)
			if c.trailer != "" {
				resp.Trailer.Set("X-Sum", c.trailer)
			}
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
				t.Errorf("after the body: %q, %v", rest, err)
			}
			if err := errors.Join(resp.Body.Close(), rec.Close()); err != nil {
				t.Fatal(err)
			}
			if f, err = cassettes.ReadFile(path); err != nil {
				t.Fatal(err)
			}
			x, err := f.Interaction(0)
			if err != nil || x.Response.Termination != "" || string(x.Response.Body) != c.body || x.Response.Trailer.Get("X-Sum") != c.trailer {
				t.Errorf("recorded %+v, %v", x, err)
			}
		})
	}
}

// A body that is closed early is recorded as complete if the rest arrives immediately, and
// otherwise as far as the client read it.
func TestCloseBeforeEnd(t *testing.T) {
	ending := func(text string) func(*io.PipeWriter) {
		return func(w *io.PipeWriter) {
			_, _ = io.WriteString(w, text)    // the reader may have closed it
			time.Sleep(20 * time.Millisecond) //nolint:forbidigo // of a bubble
			_ = w.Close()
		}
	}
	for name, c := range map[string]struct {
		write  func(*io.PipeWriter)
		body   string
		ending recording.Termination
		chunks []recording.Chunk
	}{
		"the end is near": {ending("data: 1\n\n"), "data: 1\n\n", "", []recording.Chunk{{Len: 9}}},
		"and so is more":  {ending("data: 1\n\ndata: 2\n\n"), "data: 1\n\ndata: 2\n\n", "", []recording.Chunk{{Len: 9}, {After: 20 * time.Millisecond, Len: 9}}},
		"more than little": {func(w *io.PipeWriter) {
			_, _ = io.WriteString(w, "data: 1\n\n"+strings.Repeat(" ", 256<<10))
			_ = w.Close()
		}, "data: 1\n\n", recording.Canceled, []recording.Chunk{{Len: 9}}},
		"it breaks": {func(w *io.PipeWriter) {
			_, _ = io.WriteString(w, "data: 1\n\ndata")
			_ = w.CloseWithError(io.ErrUnexpectedEOF)
		}, "data: 1\n\n", recording.Canceled, []recording.Chunk{{Len: 9}}},
		"it does not come": {func(w *io.PipeWriter) {
			_, _ = io.WriteString(w, "data: 1\n\n")
			time.Sleep(time.Second) //nolint:forbidigo // of a bubble
			_ = w.Close()
		}, "data: 1\n\n", recording.Canceled, []recording.Chunk{{Len: 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "r.tape")
				var server sync.WaitGroup
				defer server.Wait()
				rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: answering(func(r *http.Request) (*http.Response, error) {
					from, to := io.Pipe()
					server.Go(func() { c.write(to) })
					return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: from, Request: r}, nil
				})})
				req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
				resp, err := rec.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(resp.Body, make([]byte, 9)); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(resp.Body.Close(), rec.Close()); err != nil {
					t.Fatal(err)
				}
				f, err := cassettes.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				x, err := f.Interaction(0)
				if err != nil {
					t.Fatal(err)
				}
				want := recording.Response{Status: 200, Header: x.Response.Header, Body: []byte(c.body), Chunked: true, Termination: c.ending, Chunks: c.chunks}
				if diff := cmp.Diff(want, x.Response); diff != "" {
					t.Errorf("recorded (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Close of a body does not wait for a concurrent Read.
func TestCloseWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "r.tape")
		from, to := io.Pipe()
		rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: answering(func(r *http.Request) (*http.Response, error) { return reply(r, from), nil })})
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
		resp, err := rec.RoundTrip(req) //nolint:bodyclose // it is closed below
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() {
			_, err := resp.Body.Read(make([]byte, 9))
			read <- err
		}()
		synctest.Wait()
		begin := time.Now() //nolint:forbidigo // of a bubble
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 0 { //nolint:forbidigo // of a bubble
			t.Errorf("it took %v", took)
		}
		_ = to.Close() // reply hides the Close of the reader
		if err := <-read; !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if err := rec.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A request whose body does not end fails at its deadline.
func TestEndlessBody(t *testing.T) {
	path := recorded(t, cassettes.Options{}, "1")
	for _, mode := range []cassettes.Mode{cassettes.Record, cassettes.Replay} {
		synctest.Test(t, func(t *testing.T) {
			from, to := io.Pipe()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) //nolint:forbidigo // of a bubble
			defer cancel()
			c := open(t, path, cassettes.Options{Mode: mode, Transport: echo{}})
			req, _ := http.NewRequestWithContext(ctx, "POST", "http://example.com/", from)
			if _, err := c.RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) { //nolint:bodyclose // there is none
				t.Errorf("%s: %v", mode, err)
			}
			synctest.Wait()
			if _, err := to.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s: the body is not closed: %v", mode, err)
			}
			if err := c.Abandon(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A request that is canceled before it is sent is not recorded and gets no response. The
// recording remains for the next request.
func TestCanceledRequest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.tape")
	for _, mode := range []cassettes.Mode{cassettes.Record, cassettes.Replay} {
		c := open(t, path, cassettes.Options{Mode: mode, Transport: echo{}})
		left, leave := context.WithCancel(t.Context())
		leave()
		for _, body := range []io.Reader{http.NoBody, strings.NewReader("1"), io.MultiReader(strings.NewReader("1"))} {
			req, _ := http.NewRequestWithContext(left, "POST", "http://example.com/", body)
			if _, err := c.RoundTrip(req); !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none
				t.Errorf("%s: %v", mode, err)
			}
		}
		send(t, c, "POST", "http://example.com/", "1")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	f, err := cassettes.ReadFile(path)
	if err != nil || f.Len() != 1 {
		t.Errorf("%d interactions are recorded, want 1: %v", f.Len(), err)
	}
}

// RoundTrip closes a connection that switches protocols and returns an error, also in a
// replay.
func TestUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.tape")
	from, to := io.Pipe()
	ask := func(c *cassettes.Cassette) error {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
		_, err := c.RoundTrip(req) //nolint:bodyclose // there is none
		return err
	}
	const want = `cassettes: the server switched to the protocol "websocket", which cannot be recorded: disable the upgrade in the client`
	rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: answering(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: http.Header{"Upgrade": {"websocket"}}, Body: from, Request: r}, nil
	})})
	if err := ask(rec); err == nil || err.Error() != want {
		t.Errorf("recorded: %v", err)
	}
	if _, err := to.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the connection is left open: %v", err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	play := open(t, path, cassettes.Options{})
	if err := ask(play); err == nil || err.Error() != "cassettes: recorded: "+want {
		t.Errorf("replayed: %v", err)
	}
}
