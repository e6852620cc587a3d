package cassettes_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes"
)

// slowEnd is a body whose end comes when its last byte was read.
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

// An answer is on disk when its client has all of it, although its end may not have come.
func TestOnDiskBeforeEnd(t *testing.T) {
	for name, c := range map[string]struct {
		method  string
		resp    http.Response
		body    string
		atOnce  bool // on disk when the body is read
		trailer string
	}{
		"a known length":        {"GET", http.Response{StatusCode: 200, ContentLength: 5, Header: http.Header{"Content-Length": {"5"}}}, "hello", true, ""},
		"no length":             {"GET", http.Response{StatusCode: 200, ContentLength: -1}, "hello", false, ""},
		"a length that is none": {"GET", http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{"Content-Length": {"5"}}}, "hello", false, ""},
		"more to come":          {"GET", http.Response{StatusCode: 200, ContentLength: 6, Header: http.Header{"Content-Length": {"6"}}}, "hello", false, ""},
		"a trailer":             {"GET", http.Response{StatusCode: 200, ContentLength: 5, Header: http.Header{"Content-Length": {"5"}}, Trailer: http.Header{"X-Sum": nil}}, "hello", false, "7"},
		"nothing, of a length":  {"GET", http.Response{StatusCode: 200, Header: http.Header{"Content-Length": {"0"}}}, "", true, ""},
		"nothing":               {"GET", http.Response{StatusCode: 200}, "", false, ""},
		"no content":            {"GET", http.Response{StatusCode: 204, ContentLength: -1}, "", true, ""},
		"not modified":          {"GET", http.Response{StatusCode: 304, ContentLength: -1}, "", true, ""},
		"a header alone":        {"HEAD", http.Response{StatusCode: 200, ContentLength: 5, Header: http.Header{"Content-Length": {"5"}}}, "", true, ""},
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
			f, err := cassettes.ReadFile(path + cassettes.JournalEnd)
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
				t.Errorf("behind the body: %q, %v", rest, err)
			}
			if err := errors.Join(resp.Body.Close(), rec.Close()); err != nil {
				t.Fatal(err)
			}
			if f, err = cassettes.ReadFile(path); err != nil {
				t.Fatal(err)
			}
			x, err := f.Interaction(0)
			if err != nil || x.Response.Ending != "" || string(x.Response.Body) != c.body || x.Response.Trailer.Get("X-Sum") != c.trailer {
				t.Errorf("recorded %+v, %v", x, err)
			}
		})
	}
}
