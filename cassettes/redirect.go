package cassettes

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

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

// checkHost rejects a request to a loopback address with another Host. A web page could send
// it after DNS rebinding.
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
