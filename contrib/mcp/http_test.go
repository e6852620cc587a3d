package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptape/looptape/llm"
)

const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`

// faulty is a server of streamable HTTP and 2025-11-25 whose tools misbehave.
type faulty struct {
	sessions atomic.Int64
	silent   bool          // does not answer the request for a stream of notifications
	begun    chan struct{} // gets an element when a call of wait has begun
	release  chan struct{} // ends the call
	canceled chan struct{} // gets an element when the request of the call has ended before; may be nil
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.silent && r.Method == http.MethodGet {
		<-r.Context().Done()
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		panic(err)
	}
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		put(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	reject := func(status int) {
		w.WriteHeader(status)
		put(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no valid session"}}`, m.ID)
	}
	stream := func(text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
	result := fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%s,"result":%s}`+"\n\n", m.ID, text("done"))
	switch {
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("session-%d", f.sessions.Add(1)))
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"faulty","version":"1"}}`)
	case m.Method == "tools/list":
		var tools []string
		for _, name := range []string{"session", "wait", "html", "garbage", "long", "other", "cut", "event", "longevent", "notify", "late", "gone", "bad", "busy", "empty"} {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		answer(`{"tools":[` + strings.Join(tools, ",") + `]}`)
	case m.Method != "tools/call" && m.ID != nil:
		reject(http.StatusBadRequest)
	case m.Method != "tools/call":
		w.WriteHeader(http.StatusAccepted)
	case m.Params.Name == "session":
		answer(text(r.Header.Get("Mcp-Session-Id")))
	case m.Params.Name == "wait":
		f.begun <- struct{}{}
		select {
		case <-f.release:
		case <-r.Context().Done():
			if f.canceled != nil {
				f.canceled <- struct{}{}
			}
		}
		answer(text("waited"))
	case m.Params.Name == "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>")
	case m.Params.Name == "garbage":
		w.Header().Set("Content-Type", "application/json")
		put(w, `{"jsonrpc":"2.0","id":%s,"result":{}} x`, m.ID)
	case m.Params.Name == "long":
		answer(text(strings.Repeat("x", testLimitHTTP)))
	case m.Params.Name == "other":
		m.ID = json.RawMessage(`9999`)
		answer(text("x"))
	case m.Params.Name == "cut":
		stream(strings.TrimSpace(result))
	case m.Params.Name == "event":
		stream("data: {}\n\n" + result)
	case m.Params.Name == "longevent":
		stream("data: " + strings.Repeat("x", testLimitHTTP) + "\n\n" + result)
	case m.Params.Name == "notify":
		stream(strings.Repeat("data: "+progress+"\n\n", 5000) + result)
	case m.Params.Name == "late": // sends without end after the result
		for text := result; r.Context().Err() == nil; text = "data: " + progress + "\n\n" {
			stream(text)
		}
	case m.Params.Name == "gone":
		reject(http.StatusNotFound)
	case m.Params.Name == "bad":
		reject(http.StatusBadRequest)
	case m.Params.Name == "busy":
		w.WriteHeader(http.StatusServiceUnavailable)
	case m.Params.Name == "empty":
		w.Header().Set("Content-Type", "application/json")
		put(w, `{"jsonrpc":"2.0","id":%s}`, m.ID)
	}
}

const testLimitHTTP = 1 << 16

// A call that fails is an error that contains the reason. Other calls of the session continue. After the end of a
// session the next call begins another one.
func TestHTTPCallFails(t *testing.T) {
	f := &faulty{begun: make(chan struct{}), release: make(chan struct{})}
	h := httptest.NewServer(f)
	defer h.Close()
	for _, test := range []struct {
		tool, want string // the error or the text
		session    bool   // a new one
	}{
		{"html", `the response has the content type "text/html": want application/json or text/event-stream`, false},
		{"garbage", "the response is not a JSON-RPC message: the message is not JSON: ", false},
		{"long", "the server sent a message of more than 65536 bytes (Config.MaxMessage)", false},
		{"other", "the response is not that of its request: ", false},
		{"cut", "request terminated without response", false},
		{"event", "the server sent an event that is not a JSON-RPC message: ", false},
		{"longevent", "the server sent a message of more than 65536 bytes (Config.MaxMessage)", false},
		{"notify", "done", false},
		{"late", "done", false},
		{"busy", "Service Unavailable", false},
		{"empty", "the response has no result", false},
		{"gone", "no valid session", true},
		{"bad", "no valid session", true},
	} {
		t.Run(test.tool, func(t *testing.T) {
			c := connect(t, &Config{Servers: []Server{{Namespace: "s", URL: h.URL, HTTPClient: h.Client()}}, MaxMessage: testLimitHTTP, Grace: testGrace})
			session := textOf(t, c, "s__session")
			waited := make(chan string)
			go func() {
				out, err := run(t.Context(), c, "s__wait", "{}")
				waited <- sprint(out.Content, err)
			}()
			<-f.begun
			out, err := run(t.Context(), c, "s__"+test.tool, "{}")
			if got := errorText(err); err == nil && out.Content[0].(llm.Text).Text != test.want || err != nil && !strings.Contains(got, test.want) {
				t.Errorf("got %v and the error %v, want %q", out, err, test.want)
			}
			if got := textOf(t, c, "s__session"); (got != session) != test.session {
				t.Errorf("the session was %s, and is %s", session, got)
			}
			f.release <- struct{}{}
			if got := <-waited; got != "[{waited false []}] <nil>" {
				t.Errorf("the other call: got %s", got)
			}
		})
	}
}

// A server that does not answer the request for a stream of notifications can be used.
func TestHTTPNoStream(t *testing.T) {
	h := httptest.NewServer(&faulty{silent: true})
	defer h.Close()
	c := connect(t, &Config{Servers: []Server{{Namespace: "s", URL: h.URL, HTTPClient: h.Client()}}, Grace: testGrace})
	if got := textOf(t, c, "s__session"); got != "session-1" {
		t.Errorf("got %q", got)
	}
}

// Close does not wait for a server that does not answer.
func TestCloseWhileConnecting(t *testing.T) {
	var silent atomic.Bool
	requests := make(chan struct{}, 10)
	f := &faulty{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // the server then sees the end of the request
			requests <- struct{}{}
			<-r.Context().Done()
			return
		}
		f.ServeHTTP(w, r)
	}))
	defer h.Close()
	c := connect(t, &Config{Servers: []Server{{Namespace: "s", URL: h.URL, HTTPClient: h.Client()}}, Grace: testGrace})
	if _, err := run(t.Context(), c, "s__gone", "{}"); err == nil {
		t.Error("got no error")
	}
	silent.Store(true)
	done := make(chan error)
	go func() {
		_, err := run(t.Context(), c, "s__session", "{}")
		done <- err
	}()
	<-requests
	c.Close()
	if err := <-done; !errors.Is(err, errClosed) {
		t.Errorf("got the error %v", err)
	}
}

// A call ends with its context. A server with sessions gets a notification, and each server sees the
// end of the request.
func TestHTTPCallCanceled(t *testing.T) {
	reason := errors.New("the reason")
	canceled := make(chan string, 2)
	f := &faulty{begun: make(chan struct{}), canceled: make(chan struct{})}
	h := httptest.NewServer(f)
	defer h.Close()
	for _, test := range []struct {
		server   Server
		tool     string
		begun    func()
		canceled func() bool
	}{
		{overHTTP(t, newServer(canceled), nil), "s__hang", func() { <-canceled }, func() bool { return <-canceled == context.Canceled.Error() }},
		{Server{Namespace: "s", URL: h.URL, HTTPClient: h.Client()}, "s__wait", func() { <-f.begun }, func() bool { <-f.canceled; return true }},
	} {
		c := connect(t, &Config{Servers: []Server{test.server}})
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := run(ctx, c, test.tool, "{}")
			done <- err
		}()
		test.begun()
		cancel(reason)
		if err := <-done; !errors.Is(err, reason) {
			t.Errorf("%s: got the error %v", test.tool, err)
		}
		if !test.canceled() {
			t.Errorf("%s: the handler of the server was not canceled", test.tool)
		}
	}
}

// A stream is filtered in the same way, however it is cut into reads. Ids and retry times stay.
func TestEvents(t *testing.T) {
	const (
		response = `{"jsonrpc":"2.0","id":1,"result":{}}`
		other    = `{"jsonrpc":"2.0","id":2,"result":{}}`
		ping     = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
		changed  = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	)
	call := &jsonrpc.Request{Method: "tools/call"}
	call.ID, _ = jsonrpc.MakeID(1.0)
	for _, test := range []struct {
		name, in, want string
		call           *jsonrpc.Request
		err            string
	}{
		{"the response ends the stream", "data: " + response + "\n\ndata: " + ping + "\n\n", "data: " + response + "\n\n", call, "<nil>"},
		{"carriage returns", "event: message\r\ndata: " + response + "\r\n\r\n", "data: " + response + "\n\n", call, "<nil>"},
		{"a response in two fields", "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n", "data: " + response + "\n\n", call, "<nil>"},
		{"notifications", "id: a\ndata: " + progress + "\n\ndata:" + changed + "\n\nid: b\nretry: 5\n\n", "id: a\n\nid: b\nretry: 5\n\n", nil, "<nil>"},
		{"other events and comments", ": hi\n\nevent: x\ndata: " + ping + "\n\nfoo\n\n", "", nil, "<nil>"},
		{"a response to a resumed call", "data: " + other + "\n\ndata: " + ping + "\n\n", "data: " + other + "\n\ndata: " + ping + "\n\n", nil, "<nil>"},
		{"no end", "data: " + response + "\n", "", call, "<nil>"},
		{"not JSON", "data: x\n\n", "", nil, `the server sent an event that is not a JSON-RPC message: the message is not JSON: "x"`},
		{"not JSON in a call", "id: a\ndata: x\n\ndata: " + response + "\n\n", "id: a\n\ndata: " + `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server sent an event that is not a JSON-RPC message: the message is not JSON: \"x\""}}` + "\n\n", call, "<nil>"},
		{"too long", ": " + strings.Repeat("x", 300) + "\n\n", "", nil, "the server sent a message of more than 200 bytes (Config.MaxMessage)"},
		{"too long in lines", strings.Repeat("data: "+strings.Repeat("x", 50)+"\n", 4) + "\n", "", nil, "the server sent a message of more than 200 bytes (Config.MaxMessage)"},
	} {
		for name, reader := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader} {
			g := &gate{limit: 200, changed: func() {}}
			got, err := io.ReadAll(&events{body: io.NopCloser(nil), lines: bufio.NewReaderSize(reader(strings.NewReader(test.in)), 16), gate: g, call: test.call})
			if diff := cmp.Diff(test.want, string(got)); diff != "" || errorText(err) != test.err {
				t.Errorf("%s, %s: got the error %v (-want +got):\n%s", test.name, name, err, diff)
			}
		}
	}
}

// No notification of a server reaches the SDK, which would queue them without limit.
func TestGateDiscardsNotifications(t *testing.T) {
	n := 0
	from := &source{next: func() (jsonrpc.Message, error) {
		if n++; n > 100_000 {
			return &jsonrpc.Response{Result: json.RawMessage("{}")}, nil
		}
		return &jsonrpc.Request{Method: []string{"notifications/progress", "notifications/message", "notifications/tools/list_changed", "x"}[n%4]}, nil
	}}
	changes := 0
	msg, err := (&gated{from, &gate{changed: func() { changes++ }}}).Read(t.Context())
	if _, ok := msg.(*jsonrpc.Response); !ok || err != nil || changes != 25_000 {
		t.Errorf("got %v, %d changes and the error %v", msg, changes, err)
	}
}

// source is a connection that is only read.
type source struct {
	sdk.Connection
	next func() (jsonrpc.Message, error)
}

func (s *source) Read(context.Context) (jsonrpc.Message, error) { return s.next() }
