package match

import (
	"net/http"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
)

func requestWith(body string) *recording.Request {
	return &recording.Request{Method: "POST", URL: "https://example.com/a", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
}

// The key of the exact bytes depends on all that is compared and on nothing else.
func TestSentKey(t *testing.T) {
	change := map[string]func(session *string, r *recording.Request){
		"":                 func(*string, *recording.Request) {},
		"session":          func(session *string, _ *recording.Request) { *session = "b" },
		"method":           func(_ *string, r *recording.Request) { r.Method = "PUT" },
		"URL":              func(_ *string, r *recording.Request) { r.URL += "?" },
		"Host":             func(_ *string, r *recording.Request) { r.Header.Set("Host", "other.example") },
		"Content-Type":     func(_ *string, r *recording.Request) { r.Header.Set("Content-Type", "text/plain") },
		"Content-Encoding": func(_ *string, r *recording.Request) { r.Header.Set("Content-Encoding", "gzip") },
		"body":             func(_ *string, r *recording.Request) { r.Body = []byte(`{"a": 1}`) },
		"words that move":  func(session *string, r *recording.Request) { *session, r.Method = "aPO", "ST" },
		"a body as a word": func(_ *string, r *recording.Request) { r.URL, r.Body = r.URL+"0 \n0 ", r.Body[1:] },
	}
	seen := map[uint64]string{}
	for name, change := range change {
		session, r := "a", requestWith(`{"a":1}`)
		change(&session, r)
		key := sentKey(session, r)
		if other, known := seen[key]; known {
			t.Errorf("%q has the key of %q", name, other)
		}
		seen[key] = name
	}
	r := requestWith(`{"a":1}`)
	r.Header.Set("X-Request-Id", "7")
	if seen[sentKey("a", r)] != "" {
		t.Error("a header counts that does not")
	}
}
