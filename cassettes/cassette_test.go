package cassettes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/cassettes"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		var upstream http.RoundTripper = echo{}
		if os.Getenv(http2Env) != "" {
			upstream = overHTTP2()
		}
		fmt.Fprintln(os.Stderr, recordForEver(path, upstream))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// open opens a cassette of the test.
func open(t *testing.T, path string, o cassettes.Options) *cassettes.Cassette {
	t.Helper()
	c, err := cassettes.Open(path, &o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is a response with its body.
type answer struct {
	*http.Response
	text string
}

// send sends a request and reads the response.
func send(t *testing.T, to http.RoundTripper, method, url, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := to.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer{resp, string(text)}
}

// counting responds to each request with its number.
func counting(t *testing.T) *httptest.Server {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Session", r.Header.Get(cassettes.SessionHeader))
		w.Header().Set("Trailer", "X-Sum")
		_, _ = fmt.Fprintf(w, "%d: %s", n, body)
		w.Header().Set("X-Sum", "7")
	}))
	t.Cleanup(func() {
		s.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return s
}

func TestRecordAndReplay(t *testing.T) {
	server := counting(t)
	path := filepath.Join(t.TempDir(), "sub", "one.tape")
	rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Recorder: "a test"})
	one := send(t, rec, "POST", server.URL+"/x?b=2&a=1", `{"a":1,"b":[true]}`)
	two := send(t, rec, "POST", server.URL+"/x?b=2&a=1", `{"a":1,"b":[true]}`)
	three := send(t, rec, "POST", server.URL+"/x?b=2&a=1", `{"a":1,"b":[false]}`)
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".journal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is left: %v", err)
	}
	play := open(t, path, cassettes.Options{})
	var missed *cassettes.MissError
	for i, c := range []struct{ url, body, want string }{
		{"/x?a=1&b=2", ` { "b": [true], "a": 1 }`, one.text},
		{"/x?a=1&b=2", `{"a":1,"b":[false]}`, three.text},
		{"/x?a=1&b=2", `{"a":1,"b":[true]}`, two.text},
	} {
		got := send(t, play, "POST", server.URL+c.url, c.body)
		if got.text != c.want {
			t.Errorf("request %d is answered by %q, want %q", i, got.text, c.want)
		}
		if i == 0 {
			for _, r := range []*http.Response{one.Response, got.Response} {
				r.Body, r.Request = nil, nil
			}
			if diff := cmp.Diff(one.Response, got.Response, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".TLS" }, cmp.Ignore())); diff != "" {
				t.Errorf("response (-recorded +replayed):\n%s", diff)
			}
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/x?a=1&b=2", strings.NewReader(`{"a":1,"b":[true]}`))
	if _, err := play.RoundTrip(req); !errors.As(err, &missed) { //nolint:bodyclose // there is none
		t.Errorf("a request too many gives %v", err)
	}
	if err := play.Close(); err != nil {
		t.Error(err)
	}
}

// streaming sends one event per second.
type streaming struct{ events []string }

func (s streaming) RoundTrip(r *http.Request) (*http.Response, error) {
	from, to := io.Pipe()
	go func() {
		for _, ev := range s.events {
			time.Sleep(time.Second) //nolint:forbidigo // of a bubble
			if _, err := io.WriteString(to, ev); err != nil {
				return
			}
		}
		_ = to.CloseWithError(io.ErrUnexpectedEOF)
	}()
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: from, ContentLength: -1, Request: r}, nil
}

// A stream is forwarded while it is recorded. A replay has the recorded delays and the
// recorded truncation.
func TestStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.tape")
		events := []string{"data: 1\n\n", "event: a\nda", "ta: 2\n\n", "data: 3"}
		// read reads a stream, and notes when its parts came.
		read := func(c *cassettes.Cassette, ctx context.Context) (parts []string, end error) {
			from := time.Now() //nolint:forbidigo // of a bubble
			req, _ := http.NewRequestWithContext(ctx, "GET", "http://example.com/", nil)
			resp, err := c.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }() // read or canceled
			buf := make([]byte, 100)
			for {
				n, err := resp.Body.Read(buf)
				if n > 0 {
					parts = append(parts, fmt.Sprintf("%v %q", time.Since(from), buf[:n])) //nolint:forbidigo // of a bubble
				}
				if err != nil {
					return parts, err
				}
			}
		}
		rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: streaming{events}})
		got, end := read(rec, t.Context())
		if diff := cmp.Diff([]string{`1s "data: 1\n\n"`, `2s "event: a\nda"`, `3s "ta: 2\n\n"`, `4s "data: 3"`}, got); diff != "" || !errors.Is(end, io.ErrUnexpectedEOF) {
			t.Errorf("while recording (-want +got):\n%s%v", diff, end)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			pace float64
			want []string
		}{
			{1, []string{`1s "data: 1\n\n"`, `3s "event: a\ndata: 2\n\n"`, `4s "data: 3"`}},
			{0.5, []string{`500ms "data: 1\n\n"`, `1.5s "event: a\ndata: 2\n\n"`, `2s "data: 3"`}},
			{0, []string{`0s "data: 1\n\n"`, `0s "event: a\ndata: 2\n\n"`, `0s "data: 3"`}},
		} {
			play := open(t, path, cassettes.Options{DelayFactor: c.pace})
			got, end := read(play, t.Context())
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(end, io.ErrUnexpectedEOF) {
				t.Errorf("delay factor %g (-want +got):\n%s%v", c.pace, diff, end)
			}
			if err := play.Close(); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) //nolint:forbidigo // of a bubble
		defer cancel()
		play := open(t, path, cassettes.Options{DelayFactor: 1})
		got, end = read(play, ctx)
		if len(got) != 1 || !errors.Is(end, context.DeadlineExceeded) {
			t.Errorf("with a deadline: %q, %v", got, end)
		}
	})
}

// A client that works between the events of a stream gets each event at its recorded time
// since the header. Its own work does not delay later events.
func TestDelayOfSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.tape")
		rec := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: streaming{[]string{"data: 1\n\n", "data: 2\n\n", "data: 3\n\n", "data: 4\n\n"}}})
		play := func(c *cassettes.Cassette, work time.Duration) (came []time.Duration) {
			from := time.Now() //nolint:forbidigo // of a bubble
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
			resp, err := c.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }() // it was read
			buf := make([]byte, 100)
			for {
				if _, err := resp.Body.Read(buf); err != nil {
					return came
				}
				came = append(came, time.Since(from)) //nolint:forbidigo // of a bubble
				time.Sleep(work)                      //nolint:forbidigo // of a bubble
			}
		}
		play(rec, 0)
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			pace float64
			work time.Duration
			want []time.Duration
		}{
			{1, 800 * time.Millisecond, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}},
			{1, 1700 * time.Millisecond, []time.Duration{time.Second, 2700 * time.Millisecond, 4400 * time.Millisecond, 6100 * time.Millisecond}},
			{0.5, 400 * time.Millisecond, []time.Duration{500 * time.Millisecond, time.Second, 1500 * time.Millisecond, 2 * time.Second}},
		} {
			if diff := cmp.Diff(c.want, play(open(t, path, cassettes.Options{DelayFactor: c.pace}), c.work)); diff != "" {
				t.Errorf("delay factor %g, %v of work (-want +got):\n%s", c.pace, c.work, diff)
			}
		}
	})
}
