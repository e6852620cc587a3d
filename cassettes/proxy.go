package cassettes

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/internal/access"
	"github.com/looptape/looptape/internal/visible"
)

// Proxy is an [http.Handler] that connects programs in any language to a cassette. It
// forwards a request for /NAME/path to the server with that name, and a request for
// /session/SESSION/NAME/path in a session. The query of the server URL precedes the query
// of each request. A redirect to one of the servers leads through the proxy.
//
// A request to a loopback address must have a loopback Host, and no browser may have sent it for
// a web page, unless Options.AllowOrigins has the page's origin: otherwise any page could spend
// the keys of the program. With Options.Token, each path begins with /TOKEN. A refused request
// gets status 403.
//
// The proxy answers a miss, and a request for an unknown server, with status 400, which
// clients do not retry. The body has the error text. A Proxy is safe for use by many
// goroutines.
type Proxy struct {
	access    access.Policy
	upstreams map[string]*url.URL
	reverse   httputil.ReverseProxy

	requested atomic.Bool

	mu     sync.Mutex
	failed []error
}

// NewProxy returns a proxy for an open cassette. Its servers are those of Options.Upstreams
// and, in a replay, those of the cassette. The log receives errors of interrupted
// responses. It may be nil.
func NewProxy(c *Cassette, log *log.Logger) (*Proxy, error) {
	p := &Proxy{access: access.Policy{Token: c.opts.Token, AllowOrigins: c.opts.AllowOrigins}, upstreams: map[string]*url.URL{}}
	for _, list := range []map[string]string{c.metadata.Upstreams, c.opts.Upstreams} {
		for name, text := range list {
			u, err := url.Parse(text)
			if err != nil || u.Host == "" || name == "" || strings.ContainsAny(name, "/ ") || name == "session" || name == "lane" {
				if strings.ContainsAny(name, "/ ") { // a URL, which may have a password
					name = ""
				}
				return nil, fmt.Errorf("cassettes: server %q of a proxy: want a name and an absolute URL, such as openai=https://api.openai.com/v1", name)
			}
			p.upstreams[name] = u
		}
	}
	p.reverse = httputil.ReverseProxy{
		Transport:     c,
		FlushInterval: -1, // each event immediately
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host, r.Out.URL.RawQuery = "", r.In.URL.RawQuery // also an invalid query
		},
		ErrorHandler: p.fail,
		ErrorLog:     log,
	}
	return p, nil
}

// Failures returns the errors of requests without a response, such as misses, and of
// redirects to other servers. It does not include those of web pages. It does not include responses that were already missing in
// the recording.
func (p *Proxy) Failures() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.failed)
}

// Requested reports whether a request came that was not refused.
func (p *Proxy) Requested() bool { return p.requested.Load() }

// Names returns the sorted names of the servers.
func (p *Proxy) Names() []string { return slices.Sorted(maps.Keys(p.upstreams)) }

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in, err := p.access.Admit(w, r)
	if err != nil {
		if _, page := errors.AsType[*access.PageError](err); !page {
			p.note(err)
		}
		writeError(w, http.StatusForbidden, "looptape_error", err)
		return
	}
	if in == nil {
		return
	}
	p.requested.Store(true)
	r = in
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	session, before := "", p.access.Prefix()+"/"
	if kind, rest, ok := strings.Cut(path, "/"); ok && (kind == "session" || kind == "lane") { // the older name is still accepted
		session, path, _ = strings.Cut(rest, "/")
		before += kind + "/" + session + "/"
		session, _ = url.PathUnescape(session) // net/http has validated it
	}
	to, err := p.target(path, r.URL.RawQuery)
	if err != nil {
		p.note(err)
		writeError(w, http.StatusBadRequest, "looptape_error", err)
		return
	}
	out := r.Clone(r.Context())
	out.URL = to
	if session != "" {
		out.Header.Set(SessionHeader, session)
	}
	reverse := p.reverse
	reverse.ModifyResponse = func(resp *http.Response) error {
		p.redirect(resp, to, before)
		if resp.Header.Get("Content-Type") == "" {
			w.Header()["Content-Type"] = nil // net/http would guess one
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" { // the server's would be a second value
			maps.DeleteFunc(resp.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Access-Control-") })
		}
		return nil
	}
	reverse.ServeHTTP(w, out)
}

// target returns the upstream URL of a path.
func (p *Proxy) target(path, query string) (*url.URL, error) {
	name, _, _ := strings.Cut(path, "/")
	upstream, ok := p.upstreams[name]
	if !ok {
		return nil, fmt.Errorf("unknown server %q: want one of %s", name, strings.Join(p.Names(), ", "))
	}
	below := path[len(name):]
	plain, _ := url.PathUnescape(below) // net/http has validated it
	for part := range strings.SplitSeq(strings.ReplaceAll(plain, `\`, "/"), "/") {
		if part == "." || part == ".." {
			return nil, fmt.Errorf("the path %q may lead out of the server %q; ask for it without dots", below, name)
		}
	}
	base := *upstream
	base.RawQuery = ""
	text := base.String()
	if below != "" {
		text = strings.TrimSuffix(text, "/") + below
	}
	to, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	to.RawQuery = upstream.RawQuery
	if to.RawQuery != "" && query != "" {
		to.RawQuery += "&"
	}
	to.RawQuery += query
	return to, nil
}

func (p *Proxy) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, err)
}

func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has disconnected
	}
	if errors.Is(err, errClientLeft) && r.Method == http.MethodPost { // some transports retry other methods
		panic(http.ErrAbortHandler) // the recorded client got no response either
	}
	if _, played := errors.AsType[*recordedFailure](err); !played {
		p.note(err)
	}
	if _, ok := errors.AsType[*MissError](err); ok {
		writeError(w, http.StatusBadRequest, "looptape_miss", err)
	} else {
		writeError(w, http.StatusBadGateway, "looptape_error", err)
	}
}

// writeError responds with an error in the forms that clients read.
func writeError(w http.ResponseWriter, status int, kind string, err error) {
	// Google's clients read code and status; all clients read message.
	text, _ := json.Marshal(map[string]any{"error": map[string]any{"message": string(visible.Text([]byte(err.Error()))), "type": kind, "code": status, "status": "FAILED_PRECONDITION"}}) // there is nothing in it that JSON cannot say
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}

// redirect rewrites a Location to lead through the proxy, whose paths begin with before. A
// redirect to another server is a failure: a replay cannot answer it.
func (p *Proxy) redirect(resp *http.Response, asked *url.URL, before string) {
	location := resp.Header.Get("Location")
	u, err := asked.Parse(location)
	if location == "" || err != nil {
		return
	}
	if path, found := p.through(u); found {
		resp.Header.Set("Location", before+path)
		return
	}
	if slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, resp.StatusCode) {
		p.note(fmt.Errorf("%s%s is answered with a redirect to %s://%s, which leads past the proxy; name that server as another upstream, and record again", asked.Host, asked.EscapedPath(), u.Scheme, u.Host))
	}
}

// through returns the proxy path of a URL: the name of the most specific server and the
// rest of the path.
func (p *Proxy) through(u *url.URL) (path string, found bool) {
	nearest := 0
	for _, name := range p.Names() {
		base := p.upstreams[name]
		above := strings.TrimSuffix(base.EscapedPath(), "/")
		below, within := belowOf(u.EscapedPath(), above, "/")
		query, same := belowOf(u.RawQuery, base.RawQuery, "&")
		if !within || !same || u.Scheme != base.Scheme || match.Host(u.Scheme, u.Host) != match.Host(base.Scheme, base.Host) || found && len(above) <= nearest {
			continue
		}
		to := url.URL{RawQuery: strings.TrimPrefix(query, "&"), Fragment: u.Fragment, RawFragment: u.RawFragment}
		path, found, nearest = name+below+to.String(), true, len(above)
	}
	return path, found
}

func belowOf(text, above, between string) (below string, found bool) {
	below, found = strings.CutPrefix(text, above)
	return below, found && (above == "" || below == "" || strings.HasPrefix(below, between))
}
