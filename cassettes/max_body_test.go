package cassettes_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes"
)

// sized responds with one byte for each byte of the path after the slash, with or without a Content-Length.
func sized(known bool) http.RoundTripper {
	return answering(func(r *http.Request) (*http.Response, error) {
		body := strings.Repeat("x", len(r.URL.Path)-1)
		resp := reply(r, strings.NewReader(body))
		if known {
			resp.ContentLength = int64(len(body))
			resp.Header.Set("Content-Length", "10")
		}
		return resp, nil
	})
}

// A response above the limit reaches the client as a whole and is not recorded. The recording stays in
// the journal, with the other responses.
func TestLongResponse(t *testing.T) {
	for _, known := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "x.tape")
		c := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: sized(known), MaxBody: 10})
		for _, n := range []int{3, 10, 11, 5000, 4} {
			if got := send(t, c, "GET", "http://example.com/"+strings.Repeat("x", n), "").text; len(got) != n {
				t.Errorf("the client got %d bytes of %d", len(got), n)
			}
		}
		const want = "interaction 3 is not recorded: its response has more than 10 bytes: set MaxBody (--max-body)"
		if err := c.Close(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "the recording is in "+cassettes.JournalPath(path)) {
			t.Errorf("Close returned %v, want %q", err, want)
		}
		c = open(t, path, cassettes.Options{AllowUnused: true})
		for n, recorded := range map[int]bool{3: true, 10: true, 11: false, 5000: false, 4: true} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/"+strings.Repeat("x", n), strings.NewReader(""))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := c.RoundTrip(r)
			if (err == nil) != recorded {
				t.Errorf("%d bytes: %v, recorded: %v", n, err, recorded)
			}
			if err == nil {
				if text, err := io.ReadAll(resp.Body); len(text) != n || err != nil {
					t.Errorf("the replay has %d bytes of %d, %v", len(text), n, err)
				}
				_ = resp.Body.Close() // it was read
			}
		}
	}
}

// A request above the limit is an error and is not sent.
func TestLongRequest(t *testing.T) {
	sent := 0
	c := open(t, filepath.Join(t.TempDir(), "x.tape"), cassettes.Options{
		Mode: cassettes.Record, MaxBody: 10,
		Transport: answering(func(r *http.Request) (*http.Response, error) {
			sent++
			return reply(r, r.Body), nil
		}),
	})
	for name, body := range map[string]io.Reader{"known": strings.NewReader("12345678901"), "unknown": io.MultiReader(strings.NewReader("12345678901"))} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://example.com/", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close() // it should not be there
		}
		if err == nil || !strings.Contains(err.Error(), "the request has more than 10 bytes: set MaxBody") {
			t.Errorf("%s length: %v", name, err)
		}
	}
	if sent > 0 {
		t.Errorf("%d requests were sent", sent)
	}
	if got := send(t, c, "POST", "http://example.com/", "1234567890").text; got != "1234567890" {
		t.Errorf("got %q", got)
	}
}
