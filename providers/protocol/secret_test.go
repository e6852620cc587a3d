package protocol_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A key in the headers of the Client is as secret as one of its authorizer.
func TestClientKeepsItsHeaders(t *testing.T) {
	const key = "sesame-open-1234"
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, "wrong key "+r.Header.Get(name)+" of "+r.Header.Get("X-Mine"))
		})
		c.Header = http.Header{name: {key}, "X-Mine": {"somebody"}}
		_, err := ask(c)
		if got := apiError(t, err).Message; got != "wrong key [redacted] of somebody" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A key that comes back as the name of the request is not shown.
func TestClientKeepsKeysOfRequestIDs(t *testing.T) {
	const key = "sesame-open-1234"
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "of "+r.Header.Get("X-Api-Key"))
		w.WriteHeader(401)
	})
	c.Header = http.Header{"X-Api-Key": {key}}
	_, err := ask(c)
	if got := apiError(t, err).RequestID; got != "of [redacted]" {
		t.Errorf("the request is called %q", got)
	}
}

// What a provider shows of a key is not shown, however it has masked the rest.
func TestClientKeepsMaskedKeys(t *testing.T) {
	const key = "sk.or/abcd12345678WXYZ="
	for shown, want := range map[string]string{
		"sk.or/ab****XYZ=":                  "[redacted]",
		"sk.or/ab**XYZ=":                    "[redacted]",
		"sk.or/ab*":                         "[redacted]",
		"sk...YZ=":                          "[redacted]",
		"sk.or/ab...":                       "[redacted]",
		"sk.or…":                            "[redacted]",
		"..WXYZ=":                           "[redacted]",
		"••••XYZ=":                          "[redacted]",
		"(sk.or/ab...XYZ=), (sk.or/a..XYZ=": "([redacted]), ([redacted]",
		"sk.or/ab...XYZ=...XYZ=":            "[redacted][redacted]",
		"s...Z=":                            "s...Z=",
		"wait... or 2*3":                    "wait... or 2*3",
		"another****one":                    "[redacted]",
		"sk.or/abcd":                        "sk.or/abcd",
		key:                                 "[redacted]",
	} {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, "wrong key "+shown)
		})
		for _, value := range []string{key, "Bearer " + key} {
			c.Authorize = func(r *http.Request) error { r.Header.Set("Authorization", value); return nil }
			_, err := ask(c)
			if got := strings.TrimPrefix(apiError(t, err).Message, "wrong key "); got != want {
				t.Errorf("%s: got %s, want %s", shown, got, want)
			}
		}
	}
}
