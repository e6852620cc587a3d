package cassettes_test

import (
	"testing"

	"github.com/looptape/looptape/cassettes"
)

func TestEscapedURL(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"http://a.b/c?d=%20+~#e!": "http://a.b/c?d=%20+~#e!",
		"http://a.b/ c\x00\x7f":   "http://a.b/%20c%00%7F",
		"http://a.b/ü\xff":        "http://a.b/%C3%BC%FF",
	} {
		if got := cassettes.EscapedURL(text); got != want {
			t.Errorf("%q is escaped as %q, want %q", text, got, want)
		}
	}
}
