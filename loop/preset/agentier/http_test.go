package agentier_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentier"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace"
)

const key = "sk-a-very-secret-key"

// provider returns OpenAI's client for a server of the test.
func provider(t *testing.T, handler http.HandlerFunc) *protocol.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := openai.NewChat(key)
	client.BaseURL, client.HTTP = server.URL, &http.Client{Transport: transport}
	return client
}

func chat(message string) string {
	return `{"id":"x","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

const (
	oneCall = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}}]}`
	hello   = `{"role":"assistant","content":"hello"}`
)

// AG-48: the provider sends its key, and the model is that of each request. The key is in no
// trace and in no error. Another provider takes the same key.
func TestProvider(t *testing.T) {
	var got []string
	client := provider(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		model, _, _ := strings.Cut(string(body), `","`)
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization")+" "+model)
		switch {
		case len(got) == 3:
			reply(w, 401, `{"error":{"message":"Incorrect API key provided: `+key+`","type":"invalid_request_error","code":"invalid_api_key"}}`)
		case len(got) == 4:
			reply(w, 200, `{"id":"x","object":"response","status":"completed","model":"gpt-4o","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]}]}`)
		case len(got) == 1:
			reply(w, 200, chat(oneCall))
		default:
			reply(w, 200, chat(hello))
		}
	})
	var mem trace.Memory
	cfg := loop.Config{Model: "gpt-4o", Clock: fake.NewClock(), Tools: []loop.Tool{echo(fake.NewClock())}, Sink: &mem, Deltas: true}
	a, err := agentier.New(client, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	if res := mustRun(t, a, nil); res.Output != "hello" {
		t.Errorf("got %+v", res)
	}
	_, failed := a.Run(t.Context(), loop.Prompt("go"), nil)
	if e, ok := errors.AsType[*agentier.Error](failed); !ok || e.Code != "MODEL_ERROR" {
		t.Errorf("a wrong key: got %v", failed)
	}
	other := openai.NewResponses(key)
	other.BaseURL, other.HTTP = client.BaseURL, client.HTTP
	if a, err = agentier.New(other, &cfg); err != nil {
		t.Fatal(err)
	}
	if res := mustRun(t, a, nil); res.Output != "hello" {
		t.Errorf("another provider: got %+v", res)
	}
	chats := "/chat/completions Bearer " + key + ` {"model":"gpt-4o`
	want := []string{chats, chats, chats, "/responses Bearer " + key + ` {"model":"gpt-4o`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	all := fmt.Sprint(failed)
	for _, ev := range mem.Events() {
		all += string(ev.AppendJSON(nil))
	}
	if !strings.Contains(all, "hello") || strings.Contains(all, key) {
		t.Errorf("a trace or an error contains the key: %s", all)
	}
}

// AG-54: rate limits and network failures are a MODEL_ERROR with its cause. The retry middleware
// retries each of them.
func TestNetworkFailures(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc // of a failed attempt
		dial   string           // address of a failed attempt
		cause  func(error) bool
	}{
		{"rate limit", func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 429, `{"error":{"message":"slow down","type":"requests"}}`)
		}, "", func(err error) bool {
			api, ok := errors.AsType[*llm.APIError](err)
			return ok && api.Status == 429
		}},
		{"connection refused", nil, closed, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
		{"reset in the body", func(w http.ResponseWriter, _ *http.Request) {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
			_ = buffered.Flush()
			_ = conn.(*net.TCPConn).SetLinger(0) // Close then resets the connection
			_ = conn.Close()
		}, "", func(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF) }},
	} {
		for _, failures := range []int{1, 3} { // without and with the retry middleware
			attempts := 0
			client := provider(t, func(w http.ResponseWriter, r *http.Request) {
				if c.answer != nil && attempts <= failures {
					c.answer(w, r)
					return
				}
				reply(w, 200, chat(hello))
			})
			transport := client.HTTP.Transport.(*http.Transport)
			transport.DisableKeepAlives = true
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				if attempts++; c.dial != "" && attempts <= failures {
					address = c.dial
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			cfg := loop.Config{Model: "gpt-4o", Clock: fake.NewClock()}
			if failures > 1 {
				cfg.Middleware = []loop.Middleware{agentier.Retry(loop.Retry{Max: 3})}
			}
			a, err := agentier.New(client, &cfg)
			if err != nil {
				t.Fatal(err)
			}
			res, err := a.Run(t.Context(), loop.Prompt("go"), nil)
			if failures > 1 {
				if err != nil || res.Output != "hello" || attempts != 4 || res.Usage.Iterations != 1 {
					t.Errorf("%s, retried: got %+v, %v after %d attempts", c.name, res, err, attempts)
				}
				continue
			}
			e, ok := errors.AsType[*agentier.Error](err)
			if !ok || e.Code != "MODEL_ERROR" || !c.cause(err) || attempts != 1 {
				t.Errorf("%s: got %v after %d attempts", c.name, err, attempts)
			}
		}
	}
}

// triggered is the clock of the machine with deadlines that pass on demand.
type triggered struct {
	loop.SystemClock
	pass *func()
}

func (c triggered) WithTimeout(ctx context.Context, _ time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	*c.pass = func() { cancel(cause) }
	return ctx, func() { cancel(nil) }
}

// pipes is a listener in a bubble: it accepts what Dial connects.
type pipes struct {
	conns chan net.Conn
	ctx   context.Context
	close context.CancelFunc
}

func (p pipes) Dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.conns <- there
	return here, nil
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	p.close()
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "example.org"} }

// AG-56: the cancel and the time limit end the HTTP request of a model call, before and in its
// response, and the contexts of all running tools.
func TestRequestsAborted(t *testing.T) {
	for where, n := range map[string]int{"before the head": 1, "in the stream": 1, "in two tools": 2} {
		for _, code := range []string{"ABORTED", "TIMEOUT"} {
			t.Run(where+", "+code, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testAborted(t, where, n, code) }) })
		}
	}
}

// testAborted ends a run when n requests or tools wait for the end of their contexts.
func testAborted(t *testing.T, where string, n int, code string) {
	waiting, ended, requests := 0, 0, 0
	var mu sync.Mutex
	count := func(n *int) {
		mu.Lock()
		defer mu.Unlock()
		*n++
	}
	over := make(chan struct{}) // closed when nothing more happens
	wait := func(ctx context.Context) {
		count(&waiting)
		select {
		case <-ctx.Done():
			count(&ended)
		case <-over:
		}
	}
	p := pipes{conns: make(chan net.Conn)}
	p.ctx, p.close = context.WithCancel(t.Context())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // only this process can connect
		count(&requests)
		_, _ = io.Copy(io.Discard, r.Body) // the server then sees the end of the connection
		switch where {
		case "in two tools":
			call := strings.TrimSuffix(strings.TrimPrefix(oneCall, `{"role":"assistant","tool_calls":[`), "]}")
			reply(w, 200, chat(`{"role":"assistant","tool_calls":[`+call+","+strings.Replace(call, "c1", "c2", 1)+"]}"))
			return
		case "in the stream":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}`+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		wait(r.Context())
	})}
	go func() { _ = server.Serve(p) }()
	defer server.Close() //nolint:errcheck // that of the listener
	transport := &http.Transport{DialContext: p.Dial}
	defer transport.CloseIdleConnections()
	client := openai.NewChat(key)
	client.BaseURL, client.HTTP = "http://example.org", &http.Client{Transport: transport}
	tool := loop.Tool{Name: "a", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		wait(ctx)
		return loop.Output{}, ctx.Err()
	}}
	pass := func() {}
	a, err := agentier.New(client, &loop.Config{Model: "gpt-4o", Clock: triggered{pass: &pass}, Tools: []loop.Tool{tool}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(over)
		synctest.Wait()
		if waiting != n || ended != 0 {
			t.Errorf("%d contexts wait and %d have ended, want %d and 0", waiting, ended, n)
		}
		if code == "ABORTED" {
			cancel()
		} else {
			pass()
		}
		synctest.Wait()
		if ended != n {
			t.Errorf("%d of %d contexts have ended", ended, n)
		}
	}()
	_, err = a.Run(ctx, loop.Prompt("go"), &agentier.RunOptions{OnToken: func(string) {}})
	<-over
	if e, ok := errors.AsType[*agentier.Error](err); !ok || e.Code != code || requests != 1 {
		t.Errorf("got %v after %d requests, want %s", err, requests, code)
	}
}
