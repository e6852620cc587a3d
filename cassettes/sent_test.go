package cassettes

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
)

func sentTo(body string) *recording.Request {
	return &recording.Request{Method: "POST", URL: "https://example.com/a", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
}

// An unchanged request matches by its bytes. The key contains no information about secrets.
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
		if got, want := f.tape.Keys()[i].Sent == (match.Matcher{}).Keys(x.Session, &live).Sent, body == plain; got != want {
			t.Errorf("interaction %d has the key of the sent request: %t, want %t", i, got, want)
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

// emptyAnswers responds with an empty body.
type emptyAnswers struct{}

func (emptyAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}
