package general_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/contrib/general"
)

// RA-68: a page is converted from its encoding, and a note says that only a part of it was read.
func TestFetchText(t *testing.T) {
	pages := map[string]struct{ kind, body, want string }{
		"charset": {"text/html; charset=iso-8859-1", "<p>caf\xe9</p>", "caf\u00e9"},
		"xhtml":   {"application/xhtml+xml", "<p>a <b>b</b></p>", "a b"},
		"link":    {"text/html", `<p>See the <a href="/docs">user guide</a>.</p>`, "See the user guide </docs>."},
		"table":   {"text/html", "<p>before<table><caption>C</caption>\n<thead><tr><th>A</th> <th>B</th></tr></thead>\n<tr><td>1</td><td>2 <b>x</b><br>y</td></tr>\n<tr><td></td><td>3</td></tr></table>after", "before\nC\nA | B\n1 | 2 x y\n | 3\nafter"},
		"layout":  {"text/html", "<table><tr><td><table><tr><td>1<td>2<tr><td>3<td>4</table></td><td><p>a</p><p>b</p></td></tr></table>", "1 | 2\n3 | 4\n | \n\na\n\nb"},
		"pre":     {"text/html", "<p>a</p><pre><code>func f()  {\n\treturn &lt;-c\n\n}\n</code></pre>b <pre>  x</pre>", "a\n\nfunc f()  {\n\treturn <-c\n\n}\n\nb\n  x"},
		"indent":  {"text/html", "<pre>  x\n  y</pre>", "  x\n  y"},
		"blocks":  {"text/html", "<div>a</div><div>b<br>c</div><ul><li>d<li>e</ul><section><div><div>f</div></div></section>g <i>h</i>\n<dl><dt>i<dd>j</dl>", "a\nb\nc\nd\ne\nf\ng h\ni\nj"},
		"deep":    {"text/html", strings.Repeat("<div>", 5000) + "deep", "deep"},
		"meta":    {"text/html", "<meta charset=windows-1252><p>\x93q\x94</p>", "\u201cq\u201d"},
		"utf16":   {"text/plain; charset=utf-16le", "h\x00i\x00", "hi"},
		"guess":   {"text/plain", "caf\xe9", "[binary: text/plain, 4 bytes]"},
		"zip":     {"application/zip", "PK\x03\x04\x00", "[binary: application/zip, 5 bytes]"},
		"large":   {"text/html", "<p>words</p><script>" + strings.Repeat("x", 300_000), "words\n[cut: only the first 200000 bytes are here]"},
		"unknown": {"", "\x00\x01", "[binary: of an unknown type, 2 bytes]"},
	}
	made := tools(t, &general.Config{Hosts: []string{"example.org"}, Transport: double(func(r *http.Request) (*http.Response, error) {
		p := pages[r.URL.Path[1:]]
		return response(r, 200, p.kind, p.body), nil
	})})
	for name, p := range pages {
		url := "http://example.org/" + name
		check(t, made, row{"fetch", args{"url": url}, "GET " + url + " 200 OK\n" + p.want})
	}
}

// RA-69: the arguments of curl reach the server for each method, and the headers come sorted by name.
func TestCurlMethods(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, key := range []string{"Z", "B", "A"} {
			w.Header().Set(key, r.Method)
		}
		w.Header()["Date"] = nil
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "%s %s %s", body, r.Header.Get("X-Own"), r.Header.Get("X-Two"))
	})
	made := tools(t, &general.Config{Hosts: []string{"127.0.0.1"}, PrivateHosts: true})
	for _, m := range []string{"", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"} {
		got := m
		if m == "" {
			got = "GET"
		}
		want := "HTTP/1.1 418 I'm a teapot\nA: " + got + "\nB: " + got + "\nContent-Length: 9\nContent-Type: text/plain; charset=utf-8\nZ: " + got + "\n\nb own two"
		if m == "HEAD" {
			want = strings.NewReplacer("b own two", "", "Content-Length: 9\n", "", "Content-Type: text/plain; charset=utf-8\n", "").Replace(want)
		}
		a := args{"url": server, "method": m, "headers": args{"x-own": "own", "x-two": "two"}, "body": "b"}
		if got := call(t, made, "curl", a); m != "HEAD" && got != want || m == "HEAD" && !strings.HasSuffix(got, "\nZ: HEAD\n\n") {
			t.Errorf("%s: got %q, want %q", m, got, want)
		}
	}
	none := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := none[strings.LastIndex(none, ":")+1:]
	check(
		t, made,
		row{"curl", args{"url": "http://127.0.0.1:" + port, "method": "OPTIONS"}, "~Error: the method "},
		row{"curl", args{"url": "http://127.0.0.1:1"}, "~Error: "}, // connection refused
		row{"curl", args{"url": "http://127.0.0.1:1"}, "~refused"},
	)
}

// The web tools ask nothing for URLs that hide another host, and for headers that would add others.
func TestURLsOfAttackers(t *testing.T) {
	asked := false
	refused := func(hosts string, rows ...row) {
		t.Helper()
		check(t, tools(t, &general.Config{Hosts: []string{hosts}, Transport: double(func(r *http.Request) (*http.Response, error) {
			asked = true
			return response(r, 200, "text/plain", "secret"), nil
		})}), rows...)
		if asked {
			t.Errorf("%s: asked for one of %v", hosts, rows)
			asked = false
		}
	}
	for _, host := range []string{
		"127.0.0.1", "127.1", "0", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "169.254.169.254", "0xa9fea9fe",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::1]", "[fe80::1]", "[fe80::1%25lo]", "[fc00::1]", "[fec0::1]", "[2002:7f00:1::]", "[2002:7f00:1::%25lo]", "[2001:0:1::1]", "[100::1]", "[ff02::1]",
		"user:password@127.0.0.1", "example.org@127.0.0.1",
	} {
		for _, tool := range []string{"fetch", "curl"} {
			refused("*", row{tool, args{"url": "http://" + host + "/"}, "~Error: the "})
		}
	}
	for _, url := range []string{
		"http://example.org@elsewhere.org/", "http://example.org:80@elsewhere.org/", "http://elsewhere.org/?example.org", "http://elsewhere.org#@example.org/", `http://elsewhere.org\@example.org/`,
		"http://example.org.elsewhere.org/", "http://xexample.org/", "http://example.org%2eelsewhere.org/", "http://example.org\r\nX: y/", "//elsewhere.org/", "gopher://example.org/", "unix:///x", "javascript:1", "http:example.org", "",
	} {
		refused("example.org", row{"fetch", args{"url": url}, "~Error: "})
	}
	for name, value := range map[string]string{"A": "b\r\nC: d", "B": "b\nC: d", "C\r\nD": "e", "E F": "g", "": "h", "G": "\x00", "HOST": "elsewhere.org"} {
		refused("example.org", row{"curl", args{"url": "http://example.org/", "headers": args{name: value}}, "~Error: the header "})
	}
	refused("example.org", row{"curl", args{"url": "http://example.org/", "method": "GET / HTTP/1.1\r\nX: y"}, "~Error: the method "})
}

// The secret of a URL is not repeated in the result.
func TestFetchUserinfo(t *testing.T) {
	made := tools(t, &general.Config{Hosts: []string{"example.org"}, Transport: double(func(r *http.Request) (*http.Response, error) {
		return response(r, 200, "text/plain", "ok"), nil
	})})
	check(
		t, made,
		row{"fetch", args{"url": "http://user:password@example.org/"}, "GET http://user:xxxxx@example.org/ 200 OK\nok"},
		row{"fetch", args{"url": "ftp://user:password@example.org/"}, `Error: the scheme of "ftp://user:xxxxx@example.org/" is not http or https`},
	)
}

// The web tools read a limited number of bytes of a body without end, of a compressed one and of headers.
func TestLargeResponses(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 100 {
		_, _ = z.Write(bytes.Repeat([]byte("x"), 100_000))
	}
	_ = z.Close()
	var written atomic.Int64
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 500_000))
		case "/short":
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("short"))
		default:
			for chunk := bytes.Repeat([]byte("x"), 10_000); ; {
				n, err := w.Write(chunk)
				if written.Add(int64(n)); err != nil {
					return
				}
			}
		}
	})
	made := tools(t, &general.Config{Hosts: []string{"127.0.0.1"}, PrivateHosts: true})
	const cut = "\n[cut: only the first 200000 bytes are here]"
	for _, path := range []string{"/endless", "/bomb"} {
		for _, tool := range []string{"fetch", "curl"} {
			got := call(t, made, tool, args{"url": server + path})
			if x := strings.Count(got, "x"); !strings.HasSuffix(got, "x"+cut) || x < 200_000 || x > 200_100 {
				t.Errorf("%s %s: got %d bytes that end with %q", tool, path, len(got), got[max(0, len(got)-100):])
			}
		}
	}
	check(
		t, made,
		row{"curl", args{"url": server + "/headers"}, "~Error: "},
		row{"fetch", args{"url": server + "/short"}, "~ended early, after 5 bytes"},
	)
}

// A request ends after the timeout, with its body, and with the run.
func TestWebTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		set  time.Duration
		want time.Duration
		body bool
	}{"default": {0, 30 * time.Second, false}, "set": {time.Second, time.Second, false}, "body": {0, 30 * time.Second, true}} {
		synctest.Test(t, func(t *testing.T) {
			made := tools(t, &general.Config{Hosts: []string{"example.org"}, WebTimeout: c.set, Transport: double(func(r *http.Request) (*http.Response, error) {
				res := response(r, 200, "text/plain", "")
				if res.Body = io.NopCloser(waiting{r.Context()}); c.body {
					return res, nil
				}
				<-r.Context().Done()
				return nil, r.Context().Err()
			})})
			start := time.Now() //nolint:forbidigo // the clock of synctest
			got := call(t, made, "fetch", args{"url": "http://example.org/"})
			took := time.Since(start) //nolint:forbidigo // the clock of synctest
			if !strings.HasPrefix(got, "Error: ") || took != c.want {
				t.Errorf("%s: got %q after %s, want an error after %s", name, got, took, c.want)
			}
		})
	}
}

// waiting is a body of which no byte comes.
type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

// RA-83: an element of Hosts that no host can match is an error with the forms to write.
func TestHostsThatNeverMatch(t *testing.T) {
	for _, host := range []string{
		"", "*.", ".", "*.*", "**", "a*.org", "*example.org", "example.org:8080", "https://example.org", "example.org/", "example.org/x", "//example.org", "user@example.org", "exa mple.org", " example.org",
		".example.org", "example..org", "-example.org", "example-.org", "example.org?x", "*.192.0.2.1", "[2001:500:2::c]", "127.1", "2130706433", "0x7f.1", "example.1", "xn--a.\u00e9\u0301\u0000", strings.Repeat("a", 64) + ".org", "\u2028.org",
	} {
		_, err := general.New(&general.Config{Hosts: []string{"example.org", host}, PrivateHosts: true})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("general: Config.Hosts[1]: %q is not a host: write a name such as ", host)) {
			t.Errorf("%q: got the error %v", host, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"} {
		if _, err := general.New(&general.Config{Hosts: []string{host}}); err == nil || !strings.Contains(err.Error(), "is not public: set Config.PrivateHosts, or remove it") {
			t.Errorf("%q: got the error %v", host, err)
		}
		tools(t, &general.Config{Hosts: []string{host}, PrivateHosts: true})
	}
	for _, host := range []string{"localhost", "LocalHost.", "a.localhost", "*.localhost"} { // its addresses are always refused
		if _, err := general.New(&general.Config{Hosts: []string{host}}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("Config.Hosts[0]: the addresses of %q are not public: set Config.PrivateHosts, or remove it", host)) {
			t.Errorf("%q: got the error %v", host, err)
		}
		tools(t, &general.Config{Hosts: []string{host}, PrivateHosts: true})
	}
}

// Hosts are compared without regard to case, the final dot, and the form of a name or an address.
func TestHostForms(t *testing.T) {
	for host, names := range map[string][]string{
		"Example.ORG.":        {"example.org", "EXAMPLE.org.", "example.org:8080", "example.org.:80", "\uff45xample.org", "example\u3002org"},
		"*.Example.Org":       {"a.example.org", "A.B.EXAMPLE.ORG."},
		"b\u00fccher.example": {"b\u00fccher.example", "B\u00dcCHER.example", "xn--bcher-kva.example", "XN--BCHER-KVA.example."},
		"xn--bcher-kva.test":  {"b\u00fccher.test", "bu\u0308cher.test"},
		"*.b\u00fccher.org":   {"a.xn--bcher-kva.org"},
		"198.41.0.4":          {"198.41.0.4", "198.41.0.4.", "\uff1198.41.0.4"},
		"2001:500:2:0:0::C":   {"[2001:500:2::c]", "[2001:0500:2:0:0:0:0:c]"},
		"_service.example.nu": {"_service.example.nu"},
		"localhost":           {"LOCALHOST:1"},
	} {
		made := tools(t, &general.Config{Hosts: []string{host}, Transport: double(func(r *http.Request) (*http.Response, error) {
			return response(r, 200, "text/plain", "ok"), nil
		})})
		for _, name := range names {
			check(t, made, row{"fetch", args{"url": "http://" + name + "/"}, "~ 200 OK\nok"})
		}
		for _, name := range []string{"example.com", "xexample.org", "b\u00fcch.example", "xn--bcher-kv.example", "198.41.0.5", "[2001:500:2::d]", "example.org.org"} {
			check(t, made, row{"fetch", args{"url": "http://" + name + "/"}, "~ is not one of those that may be asked: "})
		}
	}
	made := tools(t, &general.Config{Hosts: []string{"*"}, Transport: double(func(r *http.Request) (*http.Response, error) {
		return response(r, 200, "text/plain", "secret"), nil
	})})
	for _, host := range []string{"\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "\u2460\u2461\u2466.0.0.1", "\uff12130706433", "127.\uff11"} { // names that package http sends as addresses
		check(t, made, row{"fetch", args{"url": "http://" + host + "/"}, "~Error: the "})
	}
}
