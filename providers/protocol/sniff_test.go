package protocol_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// A stream is recognized by its first bytes, whatever its Content-Type is.
func TestClientStreamOfAnotherType(t *testing.T) {
	const events = "data: one\n\ndata: bye\n\n"
	blank := strings.Repeat("\n", 5000)
	for _, kind := range []string{"", "text/plain", "text/event-stream, text/event-stream"} {
		for body, want := range map[string]string{
			events:                       "onebye",
			"\ufeff" + events:            "onebye",
			"\r\n\n" + events:            "onebye",
			": hello\n" + events:         "onebye",
			"event: x\n" + events:        "onebye",
			"id: 7\nretry: 9\n" + events: "onebye",
			"retry:9\n" + events:         "onebye",
			"data":                       "data",
			"dat":                        "dat",
			"database":                   "database",
			"\ufeff":                     "",
			"\ufeff{}":                   "{}",
			"events: 1":                  "events: 1",
			" data: x":                   " data: x",
			`{"data:":1}`:                `{"data:":1}`,
			"\n\n{}":                     "\n\n{}",
			blank + events:               blank + events,
			"":                           "",
		} {
			c := client(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{kind}
				_, _ = io.WriteString(w, body)
			})
			for _, rt := range []http.RoundTripper{c.HTTP.Transport, slow{c.HTTP.Transport}} {
				c.HTTP.Transport = rt
				if got, err := ask(c); got != want || err != nil {
					t.Errorf("%q, %.40q: got %.40q, %v, want %.40q", kind, body, got, err, want)
				}
			}
		}
	}
}

// slow gives bodies byte by byte.
type slow struct{ http.RoundTripper }

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = readCloser{iotest.OneByteReader(resp.Body), resp.Body}
	}
	return resp, err
}

type readCloser struct {
	io.Reader
	io.Closer
}
