// Package access decides which requests a server on this machine accepts: not those of web pages,
// and only those with the token of the server's URL.
package access

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Policy says which requests are accepted.
type Policy struct {
	// Token is the first element of each accepted path; empty means that none is needed. It
	// consists of letters and digits.
	Token string
	// AllowOrigins are the origins of web pages that may send requests, such as
	// http://localhost:5173, or * for any.
	AllowOrigins []string
}

// MaxBody is the default of the largest body in bytes. It is above what the providers accept and send.
const MaxBody = 64 << 20

// PageError is the error of a request that a browser sends for a web page.
type PageError struct{ text string }

func (e *PageError) Error() string { return e.text }

// ErrToken is the error of a request whose path does not begin with the token.
var ErrToken = errors.New("the path does not begin with the token of this server: use the base URL that looptape printed or passed to the program")

// Prefix returns what precedes each path: a slash and the token, or nothing.
func (p Policy) Prefix() string {
	if p.Token == "" {
		return ""
	}
	return "/" + p.Token
}

// Admit returns a request without the token in its path. It returns nil if it has answered the
// request: a browser asked whether a page may send one. The error may be a [*PageError] or [ErrToken].
func (p Policy) Admit(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if err := checkHost(r); err != nil {
		return nil, err
	}
	for _, name := range []string{"Origin", "Sec-Fetch-Site"} {
		if len(r.Header.Values(name)) > 1 {
			return nil, &PageError{fmt.Sprintf("the request has more than one header %s, which is refused", name)}
		}
	}
	origin := r.Header.Get("Origin")
	if err := p.checkPage(r, origin); err != nil {
		return nil, err
	}
	if origin != "" && p.allow(w.Header(), r, origin) {
		w.WriteHeader(http.StatusNoContent)
		return nil, nil //nolint:nilnil // the request is answered
	}
	if p.Token == "" {
		return r, nil
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if subtle.ConstantTimeCompare([]byte(token), []byte(p.Token)) == 0 {
		return nil, ErrToken
	}
	inner := *r
	to := *r.URL
	inner.URL = &to
	to.Path = withoutPrefix(to.Path, p.Prefix())
	if to.RawPath != "" {
		to.RawPath = withoutPrefix(to.RawPath, p.Prefix())
	}
	return &inner, nil
}

func withoutPrefix(path, prefix string) string {
	if rest := strings.TrimPrefix(path, prefix); rest != "" {
		return rest
	}
	return "/"
}

// checkPage rejects a request that a browser sends for a page whose origin is not allowed. Browsers
// set Sec-Fetch-Site for each request (https://www.w3.org/TR/fetch-metadata/), and Origin for those
// of scripts to another origin (https://fetch.spec.whatwg.org/#origin-header).
func (p Policy) checkPage(r *http.Request, origin string) error {
	if origin != "" {
		if p.allowed(origin) {
			return nil
		}
		return &PageError{fmt.Sprintf("a web page of %q sent this request, which is refused: allow its origin with --allow-origin", origin)}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
		return nil
	default:
		return &PageError{fmt.Sprintf("a web page sent this request (Sec-Fetch-Site: %q), which is refused: only scripts of pages with --allow-origin may", site)}
	}
}

func (p Policy) allowed(origin string) bool {
	return slices.ContainsFunc(p.AllowOrigins, func(one string) bool {
		return one == "*" || strings.EqualFold(strings.TrimSuffix(one, "/"), origin)
	})
}

// allow lets the page at an origin read responses. It reports whether the request only asks what is
// allowed (https://fetch.spec.whatwg.org/#cors-preflight-request).
func (p Policy) allow(h http.Header, r *http.Request, origin string) (preflight bool) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "*")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers")) // * excludes Authorization
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	return true
}

// checkHost rejects a request to a loopback address with another Host. A web page could send it
// after DNS rebinding.
func checkHost(r *http.Request) error {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !isLoopback(at.String()) || r.Host == "" || isLoopback(r.Host) {
		return nil
	}
	return fmt.Errorf("the Host %q is not of this machine; ask for 127.0.0.1 or localhost", r.Host)
}

func isLoopback(host string) bool {
	u := url.URL{Host: strings.ToLower(host)}
	name := u.Hostname()
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name).IsLoopback()
}
