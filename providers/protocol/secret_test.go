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
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "x-api-key", "AUTHORIZATION"} {
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

// Six bytes are as few as a key can have; shorter ones would make gaps in any text.
func TestClientKeepsShortKeys(t *testing.T) {
	for key, want := range map[string]string{"sesame": "wrong key [redacted]", "sesam": "wrong key sesam"} {
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, "wrong key "+r.Header.Get("X-Api-Key"))
		})
		c.Header = http.Header{"X-Api-Key": {key}}
		_, err := ask(c)
		if got := apiError(t, err).Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A password is secret also in clear text, and so is a name without a password.
func TestClientKeepsBasicAuth(t *testing.T) {
	for _, who := range [][2]string{{"somebody", "sesame-open"}, {"sesame-open", ""}} {
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			name, pass, _ := r.BasicAuth()
			_, _ = io.WriteString(w, "wrong "+name+" "+pass+" "+r.Header.Get("Authorization"))
		})
		c.Authorize = func(r *http.Request) error { r.SetBasicAuth(who[0], who[1]); return nil }
		_, err := ask(c)
		want := strings.Replace("wrong "+who[0]+" "+who[1], "sesame-open", "[redacted]", 1) + " [redacted]"
		if got := apiError(t, err).Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// An error never contains the key, even if the response quotes it.
func TestClientKeepsQuotedKeys(t *testing.T) {
	const key = `open/sesame<&>"1234"`
	for _, shown := range []string{
		key,
		`open\/sesame<&>"1234"`,
		`open/sesame&lt;&amp;&gt;&#34;1234&#34;`,
		`open/sesame\u003c\u0026\u003e\"1234\"`,
		`open%2Fsesame%3C%26%3E%221234%22`,
	} {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, "wrong key "+shown)
		})
		c.Authorize = func(r *http.Request) error { r.Header.Set("Authorization", "Bearer "+key); return nil }
		_, err := ask(c)
		if got := apiError(t, err).Message; got != "wrong key [redacted]" {
			t.Errorf("%s: %s", shown, got)
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
