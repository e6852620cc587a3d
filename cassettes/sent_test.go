package cassettes

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func sentTo(body string) *Request {
	return &Request{Method: "POST", URL: "https://example.com/a", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
}

// All that counts tells requests apart byte by byte, and what does not count does not.
func TestSentKey(t *testing.T) {
	change := map[string]func(lane *string, r *Request){
		"":                 func(*string, *Request) {},
		"lane":             func(lane *string, _ *Request) { *lane = "b" },
		"method":           func(_ *string, r *Request) { r.Method = "PUT" },
		"URL":              func(_ *string, r *Request) { r.URL += "?" },
		"Host":             func(_ *string, r *Request) { r.Header.Set("Host", "other.example") },
		"Content-Type":     func(_ *string, r *Request) { r.Header.Set("Content-Type", "text/plain") },
		"Content-Encoding": func(_ *string, r *Request) { r.Header.Set("Content-Encoding", "gzip") },
		"body":             func(_ *string, r *Request) { r.Body = []byte(`{"a": 1}`) },
		"words that move":  func(lane *string, r *Request) { *lane, r.Method = "aPO", "ST" },
		"a body as a word": func(_ *string, r *Request) { r.URL, r.Body = r.URL+"0 \n0 ", r.Body[1:] },
	}
	seen := map[uint64]string{}
	for name, change := range change {
		lane, r := "a", sentTo(`{"a":1}`)
		change(&lane, r)
		key := sentKey(lane, r)
		if other, known := seen[key]; known {
			t.Errorf("%q has the key of %q", name, other)
		}
		seen[key] = name
	}
	r := sentTo(`{"a":1}`)
	r.Header.Set("X-Request-Id", "7")
	if seen[sentKey("a", r)] != "" {
		t.Error("a header counts that does not")
	}
}

// What is sent again byte by byte is found by that, and what is secret tells nothing.
func TestSentAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tape")
	c, err := Open(path, &Options{Mode: Record, Transport: emptyAnswers{}})
	if err != nil {
		t.Fatal(err)
	}
	plain, secret := `{"b":1,"a":2}`, `{"password":"correct horse"}`
	sendAll(t, c, plain, secret, plain)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range []string{plain, secret, plain} {
		x, err := f.Interaction(i)
		if err != nil {
			t.Fatal(err)
		}
		live := x.Request
		live.Body = []byte(body)
		if got, want := f.entries[i].keys.sent == sentKey(x.Session, &live), body == plain; got != want {
			t.Errorf("interaction %d has the key of what was sent: %t, want %t", i, got, want)
		}
	}
	c, err = Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	sendAll(t, c, plain, secret, `{"a":2,"b":1}`)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func sendAll(t *testing.T, to http.RoundTripper, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "https://example.com/a", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := to.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// emptyAnswers answers with nothing.
type emptyAnswers struct{}

func (emptyAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}
