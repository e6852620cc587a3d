package general

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a name server: the addresses of each name, one for each answer. The last one is repeated.
type names struct {
	mu        sync.Mutex
	addresses map[string][]netip.Addr
}

// next returns the address in the next answer for a name, if it is of the type that was requested.
func (n *names) next(q dnsmessage.Question) (a netip.Addr, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := strings.TrimSuffix(q.Name.String(), ".")
	list := n.addresses[name]
	if len(list) == 0 || (q.Type == dnsmessage.TypeA) != list[0].Is4() {
		return a, false
	}
	if len(list) > 1 {
		n.addresses[name] = list[1:]
	}
	return list[0], true
}

func (n *names) answer(request []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(request); err != nil {
		return nil, err
	}
	q := m.Questions[0]
	m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}, Questions: []dnsmessage.Question{q}}
	if a, ok := n.next(q); ok {
		r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}}
		if a.Is4() {
			r.Body = &dnsmessage.AResource{A: a.As4()}
		} else {
			r.Body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		}
		m.Answers = append(m.Answers, r)
	}
	return m.Pack()
}

// resolve lets this process resolve names with a name server on the loopback interface.
func resolve(t *testing.T, addresses map[string][]string) {
	t.Helper()
	n := &names{addresses: map[string][]netip.Addr{}}
	for name, list := range addresses {
		for _, a := range list {
			n.addresses[name] = append(n.addresses[name], netip.MustParseAddr(a))
		}
	}
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			request := make([]byte, 1500)
			size, from, err := conn.ReadFrom(request)
			if err != nil {
				return
			}
			if reply, err := n.answer(request[:size]); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = conn.Close()
		<-ended
	})
}

// The addresses of names are checked: each private one is refused before a connection, in each form.
func TestPrivateNames(t *testing.T) {
	reached := atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	addresses := map[string][]string{}
	for name, a := range map[string]string{
		"loopback.test": "127.0.0.1", "other.test": "127.8.8.8", "zero.test": "0.0.0.0", "ten.test": "10.0.0.1", "metadata.test": "169.254.169.254", "cgnat.test": "100.64.0.1",
		"six.test": "::1", "mapped.test": "::ffff:127.0.0.1", "compatible.test": "::127.0.0.1", "nat64.test": "64:ff9b::7f00:1", "link.test": "fe80::1", "unique.test": "fd00::1", "any.test": "::", "sixtofour.test": "2002:7f00:1::", "teredo.test": "2001::1",
	} {
		addresses[name] = []string{a}
	}
	resolve(t, addresses)
	g := webGroup(&Config{Hosts: []string{"*"}})
	for name, a := range addresses {
		out, err := g.tools[0].Run(t.Context(), call(`{"url":"http://`+name+":"+port+`/"}`))
		if text := textOf(out); err != nil || !strings.HasPrefix(text, "Error: ") || !strings.Contains(text, "is not public") {
			t.Errorf("%s (%s): got %q, %v", name, a, text, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the server got %d requests", n)
	}
}

// errPermitted is the error of a connection that is permitted. The test connects to its own server instead.
var errPermitted = errors.New("permitted")

// A name whose address changes between two connections is checked each time, also after a redirect.
func TestRebinding(t *testing.T) {
	reached := []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached = append(reached, r.Host)
		http.Redirect(w, r, strings.TrimPrefix(r.URL.Path, "/"), http.StatusFound)
	}))
	defer server.Close()
	const public = "198.41.0.4"
	resolve(t, map[string][]string{"public.test": {public}, "rebind.test": {public, "127.0.0.1"}, "inside.test": {"127.0.0.1"}})
	g := webGroup(&Config{Hosts: []string{"*"}, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		d := (&web{}).dialer()
		check := d.Control
		d.Control = func(network, address string, c syscall.RawConn) error {
			if err := check(network, address, c); err != nil {
				return err
			}
			return errPermitted
		}
		conn, err := d.DialContext(ctx, network, address)
		if errors.Is(err, errPermitted) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}
		return conn, err
	}}})
	for _, path := range []string{"http://inside.test/", "http://rebind.test/http://rebind.test/", "http://127.0.0.1/", "http://[::ffff:7f00:1]/", "file:///etc/passwd"} {
		reached = reached[:0]
		out, err := g.tools[0].Run(t.Context(), call(`{"url":"http://public.test/`+path+`"}`))
		text := textOf(out)
		if err != nil || !strings.HasPrefix(text, "Error: ") || !strings.Contains(text, "not public") && !strings.Contains(text, "scheme") {
			t.Errorf("%s: got %q, %v", path, text, err)
		}
		if want := map[bool]int{true: 2, false: 1}[strings.Contains(path, "rebind")]; len(reached) != want || reached[0] != "public.test" {
			t.Errorf("%s: the server got requests for %q, want %d", path, reached, want)
		}
	}
}
