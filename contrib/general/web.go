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

	"golang.org/x/net/html/charset"
	"golang.org/x/net/http/httpguts"

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
		transport = &http.Transport{
			DialContext: w.dialer().DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, DisableKeepAlives: true,
			MaxResponseHeaderBytes: maxOutput,
		}
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
		tool("fetch", "Gets a page with HTTP. Returns a line with the method, the final URL and the status, then the body: HTML as text with a line for each row of a table, other text unchanged.", w.fetch),
		tool("curl", "Sends an HTTP request. Returns the status line, the headers, an empty line and the body.", w.curl),
	}}
}

// permitted returns an error if the tools may not ask a URL.
func (w *web) permitted(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("the scheme of %q is not http or https", u.Redacted())
	}
	if u.Hostname() == "" {
		return fmt.Errorf("%q has no host", u.Redacted())
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(w.hosts, func(h string) bool { return matchesHost(h, host) }) {
		return fmt.Errorf("the host %q is not one of those that may be asked: %s", host, strings.Join(w.hosts, ", "))
	}
	switch addr, err := netip.ParseAddr(host); {
	case err != nil && isNumber.MatchString(host):
		return fmt.Errorf("the host %q is a number but no IP address: use the form 192.0.2.1", host)
	case err == nil && !w.private && !isPublic(addr):
		return fmt.Errorf("the address %s is not public", addr)
	}
	return nil
}

// dialer returns a dialer that checks each address at the moment of the connection, so that a later
// answer of a name server is checked, too.
func (w *web) dialer() *net.Dialer { return &net.Dialer{Timeout: 10 * time.Second, Control: w.control} }

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
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("168.63.129.16/32"), // the metadata server of Azure
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

// publicIPv6 has all IPv6 addresses of the Internet. The others contain IPv4 addresses (::/96, 64:ff9b::/96) or
// are for special purposes.
var publicIPv6 = netip.MustParsePrefix("2000::/3")

func isPublic(addr netip.Addr) bool {
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && (addr.Is4() || publicIPv6.Contains(addr)) &&
		!slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(addr) })
}

type fetchArguments struct {
	URL string `json:"url"`
}

func (w *web) fetch(ctx context.Context, a fetchArguments) (string, error) {
	p, err := w.send(ctx, http.MethodGet, a.URL, nil, "")
	if err != nil {
		return "", err
	}
	head := fmt.Sprintf("GET %s %s\n", p.Request.URL.Redacted(), p.Status)
	switch {
	case p.isHTML():
		return head + cut(htmlText(p.body)) + p.note(), nil
	case isBinary(p.body):
		return head + fmt.Sprintf("[binary: %s, %s]", cmp.Or(p.kind, "of an unknown type"), p.size()), nil
	}
	return head + p.body + p.note(), nil
}

// page is a response with the first bytes of its body.
type page struct {
	*http.Response
	kind string // its media type, without parameters
	body string // in UTF-8, if it is text in an encoding that is known
	read int    // number of bytes that were read of it
	more bool   // whether there are more
}

func (p *page) isHTML() bool { return p.kind == "text/html" || p.kind == "application/xhtml+xml" }

// decode sets body. Text in another encoding than UTF-8 is converted.
func (p *page) decode(body string) {
	p.body, p.read = body, len(body)
	if !isBinary(body) || !p.isHTML() && !strings.HasPrefix(p.kind, "text/") {
		return
	}
	encoding, _, certain := charset.DetermineEncoding([]byte(body), p.Header.Get("Content-Type"))
	if text, err := encoding.NewDecoder().String(body); err == nil && (certain || p.isHTML()) {
		p.body = text
	}
}

// note says what is missing of the body.
func (p *page) note() string {
	if !p.more {
		return ""
	}
	return cutNote(p.read)
}

// size describes the length of the body.
func (p *page) size() string {
	switch {
	case p.ContentLength >= 0:
		return fmt.Sprintf("%d bytes", p.ContentLength)
	case p.more:
		return fmt.Sprintf("more than %d bytes", p.read)
	}
	return fmt.Sprintf("%d bytes", p.read)
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
	p, err := w.send(ctx, method, a.URL, a.Headers, a.Body)
	if err != nil {
		return "", err
	}
	var head strings.Builder
	if err := p.Header.Write(&head); err != nil { // sorted
		return "", err
	}
	body := p.body + p.note()
	if isBinary(p.body) {
		body = fmt.Sprintf("[binary: %s]", p.size())
	}
	return fmt.Sprintf("%s %s\n%s\n%s", p.Proto, p.Status, cut(strings.ReplaceAll(head.String(), "\r\n", "\n")), body), nil
}

// send sends a request, and returns the response with at most maxOutput bytes of its body.
func (w *web) send(ctx context.Context, method, address string, headers map[string]string, body string) (*page, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if err := w.permitted(req.URL); err != nil {
		return nil, err
	}
	for key, value := range headers {
		switch {
		case strings.EqualFold(key, "Host"):
			return nil, errors.New("the header Host cannot be set: it is the host of the URL")
		case !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("the header %q with the value %q is not valid: use one line without control characters", key, value)
		}
		req.Header.Set(key, value)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(res.Body, maxOutput+1))
	if err != nil {
		return nil, fmt.Errorf("the body of the response ended early, after %d bytes: %w", len(data), err)
	}
	p := &page{Response: res, more: len(data) > maxOutput}
	p.kind, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type")) // an invalid type is none
	p.decode(firstBytes(string(data)))
	return p, nil
}
