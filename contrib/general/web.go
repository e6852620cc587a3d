package general

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/k3a/html2text"

	"github.com/looptape/looptape/loop"
)

// web makes the requests of the web tools.
type web struct {
	client  *http.Client
	hosts   []string
	private bool
}

const maxRedirects = 10

func webGroup(cfg *Config) group {
	w := &web{hosts: cfg.Hosts, private: cfg.PrivateHosts}
	transport := cfg.Transport
	if transport == nil {
		dialer := &net.Dialer{Timeout: 10 * time.Second, Control: w.control}
		transport = &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, DisableKeepAlives: true}
	}
	w.client = &http.Client{
		Transport: transport, Timeout: cmp.Or(cfg.WebTimeout, 30*time.Second),
		CheckRedirect: func(next *http.Request, past []*http.Request) error {
			if len(past) >= maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return w.permitted(next.URL)
		},
	}
	return group{tools: []loop.Tool{
		tool("fetch", "Gets a page with HTTP. Returns a line with the method, the final URL and the status, then the body: HTML as text, other text unchanged.", w.fetch),
		tool("curl", "Sends an HTTP request. Returns the status line, the headers, an empty line and the body.", w.curl),
	}}
}

// permitted returns an error if the tools may not ask a URL.
func (w *web) permitted(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("the scheme of %q is not http or https", u.Redacted())
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "" {
		return fmt.Errorf("%q has no host", u.Redacted())
	}
	if !slices.ContainsFunc(w.hosts, func(h string) bool { return matchesHost(strings.ToLower(h), host) }) {
		return fmt.Errorf("the host %q is not one of those that may be asked: %s", host, strings.Join(w.hosts, ", "))
	}
	if addr, err := netip.ParseAddr(host); err == nil && !w.private && !isPublic(addr) {
		return fmt.Errorf("the address %s is not public", addr)
	}
	return nil
}

func matchesHost(rule, host string) bool {
	below, wild := strings.CutPrefix(rule, "*.")
	return rule == "*" || rule == host || wild && strings.HasSuffix(host, "."+below)
}

// control refuses a connection to an address that is not public, whatever the host is called.
func (w *web) control(_, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !w.private && !isPublic(addr.Addr()) {
		return fmt.Errorf("the address %s is not public", addr.Addr())
	}
	return nil
}

// notPublic are networks that are not for the public Internet, from the registries of special-purpose
// addresses (RFC 6890), without those that netip.Addr has methods for.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"),
}

func isPublic(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(addr) })
}

type fetchArguments struct {
	URL string `json:"url"`
}

func (w *web) fetch(ctx context.Context, a fetchArguments) (string, error) {
	res, body, err := w.send(ctx, http.MethodGet, a.URL, nil, "") //nolint:bodyclose // send has read and closed it
	if err != nil {
		return "", err
	}
	head := fmt.Sprintf("GET %s %s\n", res.Request.URL.Redacted(), res.Status)
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // an invalid type is none
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		return head + cut(html2text.HTML2Text(body)), nil
	case isBinary(body):
		return head + fmt.Sprintf("[binary: %s, %s]", cmp.Or(kind, "of an unknown type"), size(res, body)), nil
	}
	return head + cut(body), nil
}

// size describes the length of a body, of which there may be more.
func size(res *http.Response, body string) string {
	switch {
	case res.ContentLength >= 0:
		return fmt.Sprintf("%d bytes", res.ContentLength)
	case len(body) > maxOutput:
		return fmt.Sprintf("more than %d bytes", maxOutput)
	}
	return fmt.Sprintf("%d bytes", len(body))
}

type curlArguments struct {
	URL     string            `json:"url"`
	Method  string            `json:"method,omitempty" jsonschema:"GET (the default), POST, PUT, PATCH, DELETE or HEAD"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead}

func (w *web) curl(ctx context.Context, a curlArguments) (string, error) {
	method := strings.ToUpper(cmp.Or(a.Method, http.MethodGet))
	if !slices.Contains(methods, method) {
		return "", fmt.Errorf("the method %q is not one of %s", a.Method, strings.Join(methods, ", "))
	}
	res, body, err := w.send(ctx, method, a.URL, a.Headers, a.Body) //nolint:bodyclose // send has read and closed it
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", res.Proto, res.Status)
	if err := res.Header.Write(&out); err != nil { // sorted
		return "", err
	}
	if isBinary(body) {
		body = fmt.Sprintf("[binary: %s]", size(res, body))
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n") + "\n" + cut(body), nil
}

// send sends a request, and returns the response with one byte more than maxOutput of its body at most.
func (w *web) send(ctx context.Context, method, address string, headers map[string]string, sent string) (res *http.Response, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(sent))
	if err != nil {
		return nil, "", err
	}
	if err := w.permitted(req.URL); err != nil {
		return nil, "", err
	}
	for key, value := range headers {
		if strings.EqualFold(key, "Host") {
			return nil, "", errors.New("the header Host cannot be set: it is the host of the URL")
		}
		req.Header.Set(key, value)
	}
	res, err = w.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(res.Body, maxOutput+utf8.UTFMax))
	if err != nil {
		return nil, "", fmt.Errorf("the body of the response ended early, after %d bytes: %w", len(data), err)
	}
	for n := 0; len(data) > maxOutput && n < utf8.UTFMax && !utf8.Valid(data); n++ { // a character may be cut
		data = data[:len(data)-1]
	}
	return res, string(data), nil
}
