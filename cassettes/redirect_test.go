package cassettes_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
)

// passed sends requests ("PATH", "HOST PATH" or "POST PATH") through a proxy with a cassette.
// It returns for each the status with the Location and the body, or "broken" if there was no
// response.
func passed(t *testing.T, c *cassettes.Cassette, paths []string) (got []string, failed []error) {
	t.Helper()
	p := proxy(t, c)
	server := httptest.NewServer(p)
	defer server.Close()
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, path := range paths {
		req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host, rest, found := strings.Cut(path, " "); found {
			req.Host, path = host, rest
		}
		if req.Host == "POST" {
			req.Method, req.Host = req.Host, ""
		}
		req.URL.Opaque = path // as it is
		resp, err := client.Do(req)
		if err != nil {
			got = append(got, "broken")
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(resp.Status[:4]+resp.Header.Get("Location")+" "+string(body)))
	}
	return got, p.Failures()
}

// upstreamsAt returns servers of a transport without a network.
func upstreamsAt(urls ...string) map[string]string {
	list := map[string]string{}
	for i, u := range urls {
		list[string(rune('a'+i))] = u
	}
	return list
}

// A Location leads to the servers through the proxy. A redirect to another server is a
// failure.
func TestProxyRedirects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.tape")
	to := answering(func(r *http.Request) (*http.Response, error) {
		resp := reply(r, strings.NewReader(""))
		resp.StatusCode = 307
		if strings.HasSuffix(r.URL.Path, "/made") {
			resp.StatusCode = 201
		}
		if q := r.URL.Query(); q.Has("to") {
			resp.Header.Set("Location", q.Get("to"))
		}
		return resp, nil
	})
	at := func(path, to string) string { return path + "?to=" + url.QueryEscape(to) }
	paths := []string{
		at("/a/x", "http://one.example/v1/y?b=1#c"),
		at("/lane/l/a/x", "http://ONE.example:80/v1"),
		at("/a/x", "/v1/%2Fy"),
		at("/a/x/y", "../z"),
		at("/a/x", "//one.example/v1/sub/deep/y"),
		at("/b/x", "https://two.example/dep/y?api=1&b=2"),
		at("/b/x", "https://two.example/dep?api=1"),
		at("/b/made", "https://three.example/"),
		at("/a/made", "http://%"),
		"/a/x",
	}
	past := []string{
		at("/a/x", "http://one.example/v12"),
		at("/a/x", "https://one.example/v1/y"),
		at("/b/x", "https://two.example/dep/y?api=12"),
		at("/b/x", "https://three.example/y?page=2"),
	}
	want := []string{
		"307 /a/y?b=1#c", "307 /lane/l/a", "307 /a/%2Fy", "307 /a/z", "307 /c/deep/y", "307 /b/y?b=2", "307 /b", "201 https://three.example/", "201 http://%", "307",
		"307 http://one.example/v12", "307 https://one.example/v1/y", "307 https://two.example/dep/y?api=12", "307 https://three.example/y?page=2",
	}
	for _, o := range []cassettes.Options{
		{Mode: cassettes.Record, Transport: to, Upstreams: upstreamsAt("http://one.example/v1/", "https://two.example/dep?api=1", "http://one.example/v1/sub")},
		{},
	} {
		c := open(t, path, o)
		got, failed := passed(t, c, append(paths, past...))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", o.Mode, diff)
		}
		if len(failed) != len(past) {
			t.Fatalf("%q: failures: %q", o.Mode, failed)
		}
		const said = "two.example/dep/x is answered with a redirect to https://three.example, which leads past the proxy; name that server as another upstream, and record again"
		if got := failed[3].Error(); got != said {
			t.Errorf("%q: %s", o.Mode, got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The proxy appends the path and the query of a request unchanged to those of the server.
func TestProxyTargets(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "p.tape"), cassettes.Options{
		Mode:      cassettes.Passthrough,
		Transport: answering(func(r *http.Request) (*http.Response, error) { return reply(r, strings.NewReader(r.URL.String())), nil }),
		Upstreams: upstreamsAt("http://one.example/v1/", "http://two.example/dep?api=1", "http://three.example"),
	})
	got, failed := passed(t, c, []string{
		"/a?x", "/a/?x", "/a", "/a/q?x=1;y=2", "/a/q?q=100%", "/a/q?q=%zz&b=1&", "/b/q", "/b/q?c=2", "/b", "/c", "/c/a%2Fb//c",
		"/a/../admin", "/a/%2e%2e/admin", "/a/x%2f..%2Fadmin", `/a/..%5Cadmin`, "/a/.", "/a/..x/...",
	})
	want := []string{
		"200  http://one.example/v1/?x", "200  http://one.example/v1/?x", "200  http://one.example/v1/", "200  http://one.example/v1/q?x=1;y=2",
		"200  http://one.example/v1/q?q=100%", "200  http://one.example/v1/q?q=%zz&b=1&", "200  http://two.example/dep/q?api=1", "200  http://two.example/dep/q?api=1&c=2",
		"200  http://two.example/dep?api=1", "200  http://three.example", "200  http://three.example/a%2Fb//c",
	}
	if diff := cmp.Diff(want, got[:11]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range got[11:16] {
		if !strings.HasPrefix(text, "400 ") || !strings.Contains(text, `may lead out of the server \"a\"; ask for it without dots`) {
			t.Errorf("a path with dots: %s", text)
		}
	}
	if got[16] != "200  http://one.example/v1/..x/..." || len(failed) != 5 {
		t.Errorf("dots in a name: %s, failures: %q", got[16], failed)
	}
}

// A web page whose name resolves to this machine gets an error.
func TestProxyHosts(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "p.tape"), cassettes.Options{
		Mode:      cassettes.Passthrough,
		Transport: answering(func(r *http.Request) (*http.Response, error) { return reply(r, strings.NewReader("")), nil }),
		Upstreams: upstreamsAt("http://one.example"),
	})
	got, _ := passed(t, c, []string{"localhost /a", "LocalHost:80 /a", "x.localhost:1 /a", "127.0.0.9:2 /a", "[::1]:3 /a", "[::1] /a"})
	if diff := cmp.Diff([]string{"200", "200", "200", "200", "200", "200"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, failed := passed(t, c, []string{"evil.example /a", "notlocalhost:80 /a", "10.0.0.1 /a", "127.0.0.1.evil.example /a"})
	for _, text := range got {
		if !strings.HasPrefix(text, "403 ") {
			t.Errorf("answered: %s", text)
		}
	}
	if len(failed) != 4 || failed[0].Error() != `the Host "evil.example" is not of this machine; ask for 127.0.0.1 or localhost` {
		t.Errorf("failures: %q", failed)
	}
}

// With a token, only paths that begin with it are forwarded, and a redirect leads to such a path.
func TestProxyToken(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "p.tape"), cassettes.Options{
		Mode: cassettes.Passthrough,
		Transport: answering(func(r *http.Request) (*http.Response, error) {
			resp := reply(r, strings.NewReader(r.URL.String()))
			if strings.HasSuffix(r.URL.Path, "/moved") {
				resp.StatusCode = http.StatusTemporaryRedirect
				resp.Header.Set("Location", "/there")
			}
			return resp, nil
		}),
		Upstreams: upstreamsAt("http://one.example"),
		Token:     "token",
	})
	got, failed := passed(t, c, []string{"/token/a/x", "/token/session/s/a/moved", "/a/x", "/tokens/a/x"})
	want := []string{"200  http://one.example/x", "307 /token/session/s/a/there http://one.example/moved"}
	if diff := cmp.Diff(want, got[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range got[2:] {
		if !strings.HasPrefix(text, "403 ") || !strings.Contains(text, "does not begin with the token of this server") {
			t.Errorf("without the token: %s", text)
		}
	}
	if len(failed) != 2 {
		t.Errorf("failures: %q", failed)
	}
}

// A web page gets no response, unless its origin is allowed. Then it can read the response, whatever
// pages the server allows.
func TestProxyPages(t *testing.T) {
	var sent int
	c := open(t, filepath.Join(t.TempDir(), "p.tape"), cassettes.Options{
		Mode: cassettes.Passthrough,
		Transport: answering(func(r *http.Request) (*http.Response, error) {
			sent++
			resp := reply(r, strings.NewReader("text"))
			resp.Header.Set("Access-Control-Allow-Origin", "https://console.example")
			resp.Header.Set("Access-Control-Allow-Credentials", "true")
			return resp, nil
		}),
		Upstreams:    upstreamsAt("http://one.example"),
		AllowOrigins: []string{"http://page.example"},
	})
	p := proxy(t, c)
	for origin, want := range map[string]int{"http://page.example": 200, "http://evil.example": 403} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			sent = 0
			r := httptest.NewRequestWithContext(t.Context(), method, "/a/x", strings.NewReader("{}"))
			r.Header.Set("Origin", origin)
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			status, forwarded, allowed := want, 0, []string(nil)
			if want == 200 {
				allowed = []string{origin}
				if method == http.MethodOptions {
					status = 204
				} else {
					forwarded = 1
				}
			}
			h := w.Header()
			if diff := cmp.Diff(allowed, h.Values("Access-Control-Allow-Origin")); diff != "" || w.Code != status || sent != forwarded || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s from %s: status %d, %d forwarded, header %v (-want +got):\n%s", method, origin, w.Code, sent, h, diff)
			}
		}
	}
	if failed := p.Failures(); len(failed) > 0 {
		t.Errorf("requests of web pages are failures of the program: %q", failed)
	}
}

// A request without a recorded response gets none in a replay. The proxy does not count this
// as a failure.
func TestProxyPlaysFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.tape")
	write := func(method, name string, how recording.Termination, failure string) *recording.Interaction {
		return &recording.Interaction{
			Request:  recording.Request{Method: method, URL: "http://one.example/" + name, Header: http.Header{}},
			Response: recording.Response{Termination: how, Failure: failure},
		}
	}
	list := []*recording.Interaction{write("GET", "refused", recording.Failed, "connection refused"), write("POST", "left", recording.Failed, "context canceled"), write("POST", "gone", recording.Canceled, ""), write("GET", "left", recording.Canceled, "")}
	if err := cassettes.Replace(path, cassettes.Encode(recording.Metadata{Upstreams: upstreamsAt("http://one.example")}, nil, list)); err != nil {
		t.Fatal(err)
	}
	c := open(t, path, cassettes.Options{})
	got, failed := passed(t, c, []string{"/a/refused", "POST /a/left", "POST /a/gone", "/a/left"})
	if failed != nil || !strings.HasPrefix(got[0], "502 ") || !strings.Contains(got[0], "cassettes: recorded: connection refused") || got[1] != "broken" || got[2] != "broken" || !strings.HasPrefix(got[3], "502 ") {
		t.Errorf("got %q, failures: %q", got, failed)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
