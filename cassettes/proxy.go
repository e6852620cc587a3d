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
// /session/SESSION puts a request into a session, whose escapes are undone. The query of a server's URL stands before that of
// each request. A Location that leads to one of the servers leads to it through the proxy.
//
// What comes to a loopback address has to name one in its Host, for no page in a browser
// to get at the servers by a name of its own.
//
// A miss of a replay is answered with 400, which clients do not try again, and the
// miss in words; and so is what leads to none of the servers. It is an http.Handler for many
// requests at once.
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
			if err != nil || u.Host == "" || name == "" || strings.ContainsAny(name, "/ ") || name == "session" || name == "lane" {
				return nil, fmt.Errorf("cassettes: %q is not a server of a proxy, such as openai=https://api.openai.com/v1", name+"="+text)
			}
			p.upstreams[name] = u
		}
	}
	p.reverse = httputil.ReverseProxy{
		Transport:     c,
		FlushInterval: -1, // each event as it comes
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host, r.Out.URL.RawQuery = "", r.In.URL.RawQuery // also what cannot be read of it
		},
		ErrorHandler: p.fail,
		ErrorLog:     log,
	}
	return p, nil
}

// Failures are the requests that got no answer, misses among them, and those that were
// answered with a redirect past the proxy. A request that got no answer when it was
// recorded is none of a replay.
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
	session, before := "", "/"
	if kind, rest, ok := strings.Cut(path, "/"); ok && (kind == "session" || kind == "lane") { // lane is the old name
		session, path, _ = strings.Cut(rest, "/")
		before = "/" + kind + "/" + session + "/"
		session, _ = url.PathUnescape(session) // the server has read it
	}
	to, err := p.target(path, r.URL.RawQuery)
	if err == nil {
		err = rebound(r)
	}
	if err != nil {
		p.note(err)
		tell(w, http.StatusBadRequest, "looptape_error", err)
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
		return nil
	}
	reverse.ServeHTTP(w, out)
}

// target is the URL of an upstream to which a path leads, behind its name.
func (p *Proxy) target(path, query string) (*url.URL, error) {
	name, _, _ := strings.Cut(path, "/")
	upstream, ok := p.upstreams[name]
	if !ok {
		return nil, fmt.Errorf("there is no server %q behind this proxy; there are %s", name, strings.Join(p.Names(), ", "))
	}
	below := path[len(name):]
	plain, _ := url.PathUnescape(below) // the server has read it
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

// note keeps what failed.
func (p *Proxy) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, err)
}

// fail answers that there is no answer.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has left
	}
	if errors.Is(err, errLeft) && r.Method == http.MethodPost { // others are sent again by some transports
		panic(http.ErrAbortHandler) // the client that was recorded got nothing either
	}
	if _, played := errors.AsType[*playedError](err); !played {
		p.note(err)
	}
	if _, ok := errors.AsType[*MissError](err); ok {
		tell(w, http.StatusBadRequest, "looptape_miss", err)
	} else {
		tell(w, http.StatusBadGateway, "looptape_error", err)
	}
}

// tell answers with an error, in the ways in which clients read it.
func tell(w http.ResponseWriter, status int, kind string, err error) {
	// Google's clients read code and status, and all read message.
	text, _ := json.Marshal(map[string]any{"error": map[string]any{"message": err.Error(), "type": kind, "code": status, "status": "FAILED_PRECONDITION"}}) // there is nothing in it that JSON cannot say
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}
