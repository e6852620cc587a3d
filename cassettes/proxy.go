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
)

// Proxy puts a cassette between programs in any language and the servers that they
// call: a request to /NAME/path goes to the server of that name. In front of it,
// /lane/LANE puts a request into a lane.
//
// A miss of a replay is answered with 400, which clients do not try again, and the
// miss in words. It is an http.Handler for many requests at once.
type Proxy struct {
	upstreams map[string]*url.URL
	reverse   httputil.ReverseProxy

	mu     sync.Mutex
	failed []error
}

// NewProxy returns a proxy over an open cassette to its Options.Upstreams and, in a
// replay, those that the cassette tells of. Errors of answers that break off go to the
// log, which may be nil.
func NewProxy(c *Cassette, log *log.Logger) (*Proxy, error) {
	p := &Proxy{upstreams: map[string]*url.URL{}}
	for _, list := range []map[string]string{c.head.Upstreams, c.opts.Upstreams} {
		for name, text := range list {
			u, err := url.Parse(text)
			if err != nil || u.Host == "" || name == "" || strings.ContainsAny(name, "/ ") || name == "lane" {
				return nil, fmt.Errorf("cassettes: %q is not a server of a proxy, such as openai=https://api.openai.com/v1", name+"="+text)
			}
			p.upstreams[name] = u
		}
	}
	p.reverse = httputil.ReverseProxy{
		Transport:     c,
		FlushInterval: -1, // each event as it comes
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.Host = "" },
		ErrorHandler:  p.fail,
		ErrorLog:      log,
	}
	return p, nil
}

// Failures are the requests that got no answer, misses among them.
func (p *Proxy) Failures() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.failed)
}

// Names are those of the servers, in order.
func (p *Proxy) Names() []string { return slices.Sorted(maps.Keys(p.upstreams)) }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	lane := ""
	if rest, ok := strings.CutPrefix(path, "lane/"); ok {
		lane, path, _ = strings.Cut(rest, "/")
	}
	name, path, _ := strings.Cut(path, "/")
	upstream, ok := p.upstreams[name]
	if !ok {
		p.fail(w, r, fmt.Errorf("there is no server %q behind this proxy; there are %s", name, strings.Join(p.Names(), ", ")))
		return
	}
	to, err := url.Parse(strings.TrimSuffix(upstream.String(), "/") + "/" + path)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	to.RawQuery = r.URL.RawQuery
	out := r.Clone(r.Context())
	out.URL = to
	if lane != "" {
		out.Header.Set(LaneHeader, lane)
	}
	p.reverse.ServeHTTP(w, out)
}

// fail answers that there is no answer.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has left
	}
	p.mu.Lock()
	p.failed = append(p.failed, err)
	p.mu.Unlock()
	kind, status := "looptape_error", http.StatusBadGateway
	if _, ok := errors.AsType[*MissError](err); ok {
		kind, status = "looptape_miss", http.StatusBadRequest
	}
	// Google's clients read code and status, and all read message.
	text, _ := json.Marshal(map[string]any{"error": map[string]any{"message": err.Error(), "type": kind, "code": status, "status": "FAILED_PRECONDITION"}}) // there is nothing in it that JSON cannot say
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}
