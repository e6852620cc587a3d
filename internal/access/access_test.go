package access_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/looptape/looptape/internal/access"
)

// What browsers and other clients send, and whether it is accepted.
func TestPages(t *testing.T) {
	const page = "http://localhost:5173"
	for name, c := range map[string]struct {
		host          string
		header        map[string]string
		origins       []string
		refused, asks bool
		rebound       bool // the Host is refused
	}{
		"a program":                    {},
		"a program by name":            {host: "localhost:80"},
		"fetch of Node":                {header: map[string]string{"Sec-Fetch-Mode": "cors"}},
		"the address bar":              {header: map[string]string{"Sec-Fetch-Site": "none"}},
		"a link from this server":      {header: map[string]string{"Sec-Fetch-Site": "same-origin"}},
		"a script":                     {header: map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": page}, refused: true},
		"a script of an old browser":   {header: map[string]string{"Origin": page}, refused: true},
		"a script of a file":           {header: map[string]string{"Origin": "null"}, refused: true},
		"a script of an allowed page":  {header: map[string]string{"Sec-Fetch-Site": "same-site", "Origin": page}, origins: []string{page + "/"}},
		"a script of another port":     {header: map[string]string{"Origin": page + "0"}, origins: []string{page}, refused: true},
		"a script, and any is allowed": {header: map[string]string{"Origin": "null"}, origins: []string{"*"}},
		"an image":                     {header: map[string]string{"Sec-Fetch-Site": "cross-site"}, refused: true},
		"an image of an allowed page":  {header: map[string]string{"Sec-Fetch-Site": "same-site"}, origins: []string{page}, refused: true},
		"another value":                {header: map[string]string{"Sec-Fetch-Site": "x"}, refused: true},
		"DNS rebinding":                {host: "evil.example", header: map[string]string{"Sec-Fetch-Site": "same-origin"}, rebound: true},
		"DNS rebinding, and any":       {host: "127.0.0.1.evil.example", origins: []string{"*"}, rebound: true},
		"a preflight":                  {header: map[string]string{"Origin": page, "Access-Control-Request-Method": "POST"}, refused: true},
		"a preflight of an allowed":    {header: map[string]string{"Origin": page, "Access-Control-Request-Method": "POST"}, origins: []string{page}, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			method := http.MethodPost
			if c.header["Access-Control-Request-Method"] != "" {
				method = http.MethodOptions
			}
			ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})
			r := httptest.NewRequestWithContext(ctx, method, "/t/x", http.NoBody)
			r.Host = "127.0.0.1:80"
			if c.host != "" {
				r.Host = c.host
			}
			for key, value := range c.header {
				r.Header.Set(key, value)
			}
			w := httptest.NewRecorder()
			in, err := access.Policy{Token: "t", AllowOrigins: c.origins}.Admit(w, r)
			_, page := errors.AsType[*access.PageError](err)
			switch {
			case page != c.refused, (err != nil) != (c.refused || c.rebound):
				t.Errorf("the error is %v, want one: %v", err, c.refused)
			case err == nil && (in == nil) != c.asks:
				t.Errorf("it is answered: %v, want %v", in == nil, c.asks)
			case in != nil && in.URL.Path != "/x":
				t.Errorf("the path is %q", in.URL.Path)
			}
			if allows := w.Header().Get("Access-Control-Allow-Origin"); (allows != "") != (err == nil && c.header["Origin"] != "") {
				t.Errorf("the server allows %q", allows)
			}
		})
	}
}

// The token is compared as a whole and removed from both forms of a path.
func TestToken(t *testing.T) {
	for target, want := range map[string]string{
		"/token/a%2Fb?q=/token/": "/a%2Fb?q=/token/", "/token": "/", "/token/": "/", "/token//x": "//x", "/token/token/x": "/token/x",
		"/": "", "/x": "", "/toke/x": "", "/tokens/x": "", "/TOKEN/x": "", "//token/x": "", "/x/token": "", "/x?token": "",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		in, err := access.Policy{Token: "token"}.Admit(httptest.NewRecorder(), r)
		switch {
		case want == "" && !errors.Is(err, access.ErrToken):
			t.Errorf("%s: %v, want no access", target, err)
		case want != "" && (err != nil || in.URL.String() != want):
			t.Errorf("%s: %v, %v, want %s", target, in, err, want)
		case r.URL.String() != target:
			t.Errorf("%s: the caller's request now has %s", target, r.URL)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x", http.NoBody)
	if in, err := (access.Policy{}).Admit(httptest.NewRecorder(), r); in != r || err != nil {
		t.Errorf("without a token: %v, %v", in, err)
	}
}

// A request with two origins is refused, whichever is first. Browsers send one.
func TestTwoOrigins(t *testing.T) {
	const page = "http://localhost:5173"
	for _, h := range []http.Header{
		{"Origin": {page, "https://evil.example"}},
		{"Sec-Fetch-Site": {"none", "cross-site"}},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/x", http.NoBody)
		r.Header = h
		_, err := access.Policy{AllowOrigins: []string{page}}.Admit(httptest.NewRecorder(), r)
		if _, ok := errors.AsType[*access.PageError](err); !ok {
			t.Errorf("with %v: %v, want a PageError", h, err)
		}
	}
}
