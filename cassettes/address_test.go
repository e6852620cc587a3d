package cassettes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

func TestEscapedURL(t *testing.T) {
	for text, want := range map[string]struct{ escaped, written string }{
		"":                         {"", ""},
		"http://a.b/c?d=%20+~#e!":  {"http://a.b/c?d=%20+~#e!", "http://a.b/c?d=%20+~#e!"},
		"http://a.b/ c\x00\x7f":    {"http://a.b/%20c%00%7F", "http://a.b/%20c%00%7F"},
		"http://a.b/ü\xffß☕x":      {"http://a.b/%C3%BC%FF%C3%9F%E2%98%95x", "http://a.b/ü%FFß☕x"},
		"\u00a0\u0085\u2028\ufffd": {"%C2%A0%C2%85%E2%80%A8%EF%BF%BD", "%C2%A0%C2%85%E2%80%A8%EF%BF%BD"},
	} {
		if got := tape.EscapedURL(text); got != want.escaped {
			t.Errorf("%q is escaped as %q, want %q", text, got, want.escaped)
		}
		if got := tape.WrittenURL(text); got != want.written {
			t.Errorf("%q is written as %q, want %q", text, got, want.written)
		}
	}
}

// A Host header that differs from the host of the URL is recorded and matched.
func TestOtherHost(t *testing.T) {
	for _, c := range []struct{ url, host, want string }{
		{"http://a.b/", "", ""},
		{"http://A.b:80/", "a.B", ""},
		{"https://a.b/", "A.B:443", ""},
		{"https://a.b/", "a.b:80", "a.b:80"},
		{"http://a.b/", "C.d:80", "c.d"},
		{":", "C.d:80", "C.d:80"},
	} {
		x := &recording.Interaction{Request: recording.Request{URL: c.url, Header: http.Header{"Host": {c.host}}}}
		if got := match.OtherHost(&x.Request); got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.url, c.host, got, c.want)
		}
		text := string(cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{x}))
		if got := strings.Contains(text, "\n> Host: "+c.host+"\n"); got != (c.want != "") || strings.Contains(text, "> Host:\n") {
			t.Errorf("%s with %q is written as\n%s", c.url, c.host, text)
		}
		if x.Request.Header["Host"] == nil {
			t.Errorf("%s with %q: the request was changed", c.url, c.host)
		}
	}
}
