package wire_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace"
)

// planted is a key that must not appear in any output. It has characters that encodings
// change.
const planted = "sk-planted0123+/=&nted-end"

// found finds the key or a part of it, also if most of it was masked, and in base64 as a
// password.
var found = regexp.MustCompile(`sk-pl|planted|nted-end|` + base64.StdEncoding.EncodeToString([]byte("user:sk-plan")))

// notebook collects all output. It is safe for use by many goroutines.
type notebook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notebook) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notebook) notef(format string, args ...any) { _, _ = fmt.Fprintf(n, format+"\n", args...) }

// err notes an error and all that lies beneath it, in each form that people print.
func (n *notebook) err(where string, err error) {
	if err == nil {
		return
	}
	n.notef("%s: %T: %v\n%+v\n%#v\n%q", where, err, err, err, err, err)
	if text, failed := json.Marshal(err); failed == nil {
		n.notef("%s", text)
	}
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		n.err(where, err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range err.Unwrap() {
			n.err(where, e)
		}
	}
}

// json notes a value as its JSON.
func (n *notebook) json(t *testing.T, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	n.notef("%s", text)
}

// checkInvariants fails t if the key, or a chunk of it, was written.
func (n *notebook) checkInvariants(t *testing.T) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.text.Len() == 0 {
		t.Error("nothing was written at all")
	}
	for line := range strings.Lines(n.text.String()) {
		if found.MatchString(line) {
			t.Errorf("the key is in %s", line)
			return // one line reports where
		}
	}
}

// gateway precedes a Server and counts the requests with the key.
type gateway struct {
	server *wire.Server
	manner string // how it behaves; empty is well
	mu     sync.Mutex
	keys   int
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	dump := fmt.Sprint(r.URL, " ", r.URL.Query(), " ", r.Header)
	if strings.Contains(dump, planted) {
		g.mu.Lock()
		g.keys++
		g.mu.Unlock()
	}
	quoted, err := json.Marshal(dump)
	if err != nil {
		panic(err)
	}
	switch g.manner {
	case "quotes":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"a","message":%s,"code":401,"status":%s}}`, quoted, quoted)
	case "masks":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"a","message":"Incorrect API key provided: %s****%s.","code":401}}`, planted[:5], planted[len(planted)-4:])
	case "page":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(520)
		_, _ = fmt.Fprintf(w, "<html>%s</html>", dump)
	case "no answer":
		_, _ = io.WriteString(w, dump)
	case "redirects":
		http.Redirect(w, r, "http://elsewhere.invalid/?key="+url.QueryEscape(planted), http.StatusTemporaryRedirect)
	case "breaks off":
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, dump)
	default:
		g.server.ServeHTTP(w, r)
	}
}

// carriers are the ways in which a client sends its key.
var carriers = map[string]func(own func(string) func(*http.Request) error, r *http.Request) error{
	"its header": func(own func(string) func(*http.Request) error, r *http.Request) error { return own(planted)(r) },
	"a bearer token": func(_ func(string) func(*http.Request) error, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+planted)
		return nil
	},
	"the query": func(own func(string) func(*http.Request) error, r *http.Request) error {
		q := r.URL.Query()
		q.Set("key", planted)
		r.URL.RawQuery = q.Encode()
		return own("some-other-key")(r)
	},
}

// failing is a script of one response that fails in each possible way.
func failing() fake.Response {
	var t fake.Response
	for _, status := range []int{400, 401, 403, 404, 413, 429, 500, 502, 503, 529} {
		t.Attempts = append(t.Attempts, fake.Response{Error: &fake.Failure{Status: status, Message: "no"}})
	}
	return fake.Response{Attempts: append(t.Attempts,
		fake.Response{Text: "so far", Error: &fake.Failure{Status: 503, Message: "gone"}},
		fake.Response{Text: "so far", Error: &fake.Failure{Connection: fake.ConnectionClosed}},
		fake.Response{Text: "so far", Error: &fake.Failure{Connection: fake.ConnectionReset}},
		fake.Response{Error: &fake.Failure{Connection: fake.ConnectionReset}},
		fake.Response{Text: "at last"},
	)}
}

// No error, report, trace or log contains a key, whatever fails.
func TestKeysNotWritten(t *testing.T) {
	for _, k := range protocols {
		for name, carry := range carriers {
			t.Run(k.name+" in "+name, func(t *testing.T) {
				authorize := func(r *http.Request) error { return carry(k.key, r) }
				for _, manner := range []string{"", "wrong key", "quotes", "masks", "page", "no answer", "redirects", "breaks off"} {
					written := &notebook{}
					cfg := wire.Config{Model: fake.NewModel(failing())}
					if manner == "wrong key" {
						cfg.Key = "the-right-key"
					}
					g := &gateway{server: wire.New(cfg), manner: manner}
					client := handlerClient(t, g, written, k.name)
					client.Authorize = authorize
					for range len(failing().Attempts) {
						_, err := ask(client, request(llm.Streaming, llm.User("hi")))
						written.err(manner, err)
					}
					_, err := ask(client, request(llm.NonStreaming, llm.User("hi")))
					written.err(manner, err)
					written.json(t, g.server.Report())
					written.checkInvariants(t)
					if g.keys == 0 {
						t.Errorf("%q: the server never got the key", manner)
					}
				}
			})
		}
	}
}

// handlerClient returns a client of a handler, whose log goes to written.
func handlerClient(t *testing.T, h http.Handler, written io.Writer, protocol string) *protocol.Client {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(written, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	t.Cleanup(s.Client().CloseIdleConnections)
	return clientsOf(s.URL, "", s.Client())[protocol]
}

// password is a base URL that contains the key.
const password = "http://user:sk-planted0123@fake.invalid"

// The error of a request that reached no server does not contain the key.
func TestKeysOfFailedRequests(t *testing.T) {
	for _, k := range protocols {
		for name, carry := range carriers {
			written := &notebook{}
			authorize := func(r *http.Request) error { return carry(k.key, r) }
			for where, c := range map[string]protocol.Client{
				"a transport that reports everything": {BaseURL: "http://fake.invalid", HTTP: &http.Client{Transport: talkative{}}},
				"a malformed URL":                     {BaseURL: "http://" + planted + ":%zz"},
				"a password in the URL":               {BaseURL: password, HTTP: &http.Client{Transport: talkative{}}},
				"no scheme":                           {BaseURL: "://" + planted},
				"an unknown scheme":                   {BaseURL: "gopher://fake.invalid"},
				"no port":                             {BaseURL: "http://127.0.0.1:0"},
			} {
				c.Protocol, c.Authorize = k.proto, authorize
				_, err := ask(&c, request(llm.Streaming, llm.User("hi")))
				if err == nil {
					t.Errorf("%s: no error", where)
				}
				written.err(k.name+" in "+name+", "+where, err)
			}
			_, err := ask(&protocol.Client{Protocol: k.proto, BaseURL: password, HTTP: &http.Client{Transport: talkative{}}}, request(llm.Streaming, llm.User("hi")))
			written.err("a password alone", err)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("too late"))
			c := &protocol.Client{Protocol: k.proto, Authorize: authorize, BaseURL: "http://127.0.0.1:0"}
			_, err = llm.Collect(c.Stream(ctx, request(llm.Streaming, llm.User("hi"))))
			written.err("cancelled", err)
			written.checkInvariants(t)
		}
	}
}

// talkative fails with an error that contains all its data.
type talkative struct{}

func (talkative) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("cannot reach %s (%v) with %v", r.URL, r.URL.Query(), r.Header)
}

// The trace of a run does not contain the key.
func TestKeysNotInTrace(t *testing.T) {
	quirk, err := wire.ParseQuirk("QT-06")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range protocols {
		for name, carry := range carriers {
			written := &notebook{}
			var g *gateway
			o, err := scenario.Run(t.Context(), loadScenario(t, "calls"), &scenario.Options{Adjust: func(c *loop.Config) { c.Model = "some-model" }, Model: func(script *fake.Model) llm.Model {
				g = &gateway{server: wire.New(wire.Config{Model: script, Quirks: []wire.Quirk{quirk}})}
				c := handlerClient(t, g, written, k.name)
				c.BaseURL = strings.Replace(c.BaseURL, "/"+string(k.provider), "/lane/main/"+string(k.provider), 1)
				c.Authorize = func(r *http.Request) error { return carry(k.key, r) }
				return c
			}})
			if err != nil {
				t.Fatal(err)
			}
			w := trace.NewWriter(written, trace.Header{})
			for _, ev := range o.Events {
				if err := w.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			written.err("the run", o.Err)
			written.notef("%s", o.Trace())
			written.json(t, g.server.Report())
			written.checkInvariants(t)
			if g.keys == 0 {
				t.Errorf("%s in %s: the server never got the key", k.name, name)
			}
		}
	}
}
