package protocol_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain is a protocol of plain text: an event is a text, "bye" the end, and an
// event or a body that begins with "error " an error.
type plain struct{ protocol.Protocol }

func (plain) Name() string { return "plain" }

func (plain) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	if len(req.Messages) == 0 {
		return nil, errors.New("there are no messages")
	}
	return &protocol.Request{Path: "/say", Query: "v=1", Header: http.Header{"X-Plain": {"1"}}, Body: []byte(req.Messages[0].Text())}, nil
}

func (plain) DecodeResponse(body []byte, emit func(llm.Event)) error {
	_, err := (&plainDecoder{}).Event("", body, emit)
	return err
}

func (plain) NewDecoder() protocol.Decoder { return &plainDecoder{} }

func (plain) DecodeError(status int, _ http.Header, body []byte) *llm.APIError {
	return &llm.APIError{Status: status, Message: string(body), Retryable: codec.Retryable(status)}
}

type plainDecoder struct{ ended bool }

func (d *plainDecoder) Event(_ string, data []byte, emit func(llm.Event)) (done bool, err error) {
	text := string(data)
	if message, is := strings.CutPrefix(text, "error "); is {
		return false, &llm.APIError{Message: message, Code: "told"}
	}
	d.ended = text == "bye"
	emit(llm.TextDelta{Text: text})
	return d.ended, nil
}

func (d *plainDecoder) End(func(llm.Event)) error {
	if !d.ended {
		return protocol.ErrTruncated
	}
	return nil
}

// client talks to a server of its own.
func client(t *testing.T, serve http.HandlerFunc) *protocol.Client {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	t.Cleanup(s.Client().CloseIdleConnections)
	return &protocol.Client{Protocol: plain{}, BaseURL: s.URL, HTTP: s.Client()}
}

func stream(w http.ResponseWriter, texts ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, t := range texts {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", t)
	}
}

func ask(c *protocol.Client) (string, error) {
	return askIn(context.Background(), c)
}

func askIn(ctx context.Context, c *protocol.Client) (string, error) {
	turn, err := llm.Collect(c.Stream(ctx, &llm.Request{Messages: []llm.Message{llm.User("hello")}}))
	return turn.Text(), err
}

func apiError(t *testing.T, err error) *llm.APIError {
	t.Helper()
	e, ok := errors.AsType[*llm.APIError](err)
	if !ok {
		t.Fatalf("the error is %v (%T), not an *llm.APIError", err, err)
	}
	return e
}

func TestClientRequest(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		stream(w, r.Method, r.URL.String(), r.Header.Get("Content-Type"), r.Header.Get("X-Plain"), r.Header.Get("X-Mine"),
			r.Header.Get("Authorization"), string(body), "bye")
	})
	c.BaseURL += "/base/?api-version=1"
	c.Header = http.Header{"X-Mine": {"2"}}
	c.Authorize = func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer sesame")
		return nil
	}
	got, err := ask(c)
	if want := "POST/base/say?api-version=1&v=1application/json12Bearer sesamehellobye"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestClientURL shows what becomes of the query of a base URL and of a protocol.
func TestClientURL(t *testing.T) {
	for base, want := range map[string]string{"": "/say?v=1", "/": "/say?v=1", "?": "/say?v=1", "/a/b/?x=1&y=2": "/a/b/say?x=1&y=2&v=1"} {
		c := client(t, func(w http.ResponseWriter, r *http.Request) { stream(w, r.URL.String(), "bye") })
		c.BaseURL += base
		if got, err := ask(c); got != want+"bye" || err != nil {
			t.Errorf("%q: got %q, %v, want %q", base, got, err, want)
		}
	}
}

// shared is plain, with the same header for each request.
type shared struct {
	plain
	header http.Header
}

func (s shared) EncodeRequest(*llm.Request) (*protocol.Request, error) {
	return &protocol.Request{Path: "/say", Header: s.header}, nil
}

// An authorizer that adds to the values of a header adds to the request's own.
func TestClientSharesNoHeader(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, fmt.Sprint(r.Header["X-Mine"], r.Header["X-Plain"]), "bye")
	})
	mine, own := append(make([]string, 0, 2), "a"), append(make([]string, 0, 2), "b")
	c.Header, c.Protocol = http.Header{"X-Mine": mine}, shared{header: http.Header{"X-Plain": own}}
	c.Authorize = func(r *http.Request) error {
		r.Header.Add("X-Mine", "c")
		r.Header.Add("X-Plain", "d")
		return nil
	}
	if got, err := ask(c); got != "[a c] [b d]bye" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if mine[:2][1] != "" || own[:2][1] != "" {
		t.Errorf("the authorizer wrote into the headers of others: %q, %q", mine[:2], own[:2])
	}
}

func TestClientNonStreaming(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "whole") })
	if got, err := ask(c); got != "whole" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestClientErrors(t *testing.T) {
	for name, c := range map[string]struct {
		serve     http.HandlerFunc
		text      string // what came before
		message   string
		status    int
		retryable bool
		wait      time.Duration
		is        error
	}{
		"a refusal": {
			serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(429)
				_, _ = io.WriteString(w, "slow down")
			}, message: "plain: status 429: slow down", status: 429, retryable: true, wait: 7 * time.Second,
		},
		"a refusal without end": {
			serve: func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(500)
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
						return
					}
				}
			}, status: 500, retryable: true,
		},
		"an error in the stream": {
			serve: func(w http.ResponseWriter, _ *http.Request) { stream(w, "so far", "error enough", "lost") },
			text:  "so far", message: "plain: status 200 told: enough", status: 200,
		},
		"a cut stream": {
			serve: func(w http.ResponseWriter, _ *http.Request) { stream(w, "so far") },
			text:  "so far", status: 200, retryable: true, is: protocol.ErrTruncated,
		},
		"a broken connection": {
			serve: func(w http.ResponseWriter, _ *http.Request) {
				stream(w, "so far")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, text: "so far", status: 200, retryable: true, is: protocol.ErrTruncated,
		},
		"no answer": {
			serve:     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			retryable: true, is: io.EOF,
		},
		"a redirect": {
			serve: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			},
			message: "plain: status 307: a redirect, which is not followed: set the base URL to its target", status: 307,
		},
		"too long an event": {
			serve:  func(w http.ResponseWriter, _ *http.Request) { stream(w, "so far", strings.Repeat("x", 2000), "bye") },
			text:   "so far",
			status: 200, is: protocol.ErrTooLarge,
		},
		"too long a response": {
			serve:  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 5001)) },
			status: 200, is: protocol.ErrTooLarge,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cl := client(t, c.serve)
			cl.MaxEvent, cl.MaxResponse = 1000, 5000
			text, err := ask(cl)
			e := apiError(t, err)
			if text != c.text || e.Status != c.status || e.Retryable != c.retryable || e.RetryAfter != c.wait || e.Provider != "plain" {
				t.Errorf("after %q: %+v", text, e)
			}
			if c.message != "" && err.Error() != c.message {
				t.Errorf("the error is %q, want %q", err, c.message)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the error is %v, want one that is %v", err, c.is)
			}
		})
	}
}

// The end marker ends the response, although the connection stays open.
func TestClientEndsAtTheMark(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, "so far", "bye", "error late")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	if got, err := ask(c); got != "so farbye" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// The client reads the data after the last event, so that the connection can be used
// again.
func TestClientReadsToTheEnd(t *testing.T) {
	for text, want := range map[string]bool{"": true, "data: late\n\n": true, strings.Repeat("data: late\n\n", 10000): false} {
		body := &noting{Reader: strings.NewReader("data: so far\n\ndata: bye\n\n" + text)}
		c := &protocol.Client{Protocol: plain{}, BaseURL: "http://example.com", HTTP: &http.Client{Transport: answering(func(r *http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}
		})}}
		if got, err := ask(c); got != "so farbye" || err != nil || body.ended != want || !body.closed {
			t.Errorf("%d bytes after the end marker: got %q, %v; to the end: %t, want %t; closed: %t", len(text), got, err, body.ended, want, body.closed)
		}
	}
}

type answering func(*http.Request) *http.Response

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// noting notes what is done with a body.
type noting struct {
	io.Reader
	ended, closed bool
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p)
	n.ended = n.ended || errors.Is(err, io.EOF)
	return k, err
}

func (n *noting) Close() error {
	n.closed = true
	return nil
}

// The server's word on whether to try again counts.
func TestClientShouldRetry(t *testing.T) {
	for word, want := range map[string]bool{"true": true, "false": false, "": true} {
		status := 500
		if want {
			status = 400
		}
		if word == "" {
			status = 500
		}
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Should-Retry", word)
			w.WriteHeader(status)
		})
		_, err := ask(c)
		if e := apiError(t, err); e.Retryable != want {
			t.Errorf("status %d and x-should-retry %q: retryable is %t", status, word, e.Retryable)
		}
	}
}

// An error that comes bare, outside any event, is read, also in an array. Other
// words are not an error.
func TestClientBareError(t *testing.T) {
	for bare, want := range map[string]string{
		"{\n  \"error\": 7\n}":        "{\n  \"error\": 7\n}",
		"[{\n  \"error\": 7\n}\n]":    "[{\n  \"error\": 7\n}\n]",
		"[\r\n\t {\"error\": 7}\r\n]": "[\n\t {\"error\": 7}\n]",
		"[DONE]":                      "",
	} {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			stream(w, "so far")
			_, _ = io.WriteString(w, bare+"\n")
		})
		got, err := ask(c)
		if e := apiError(t, err); got != "so far" || e.Message != want || e.Status != 200 {
			t.Errorf("%q: got %q, %+v", bare, got, e)
		}
	}
}

// A mark before the text of an error is not of it.
func TestClientErrorWithMark(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, "\ufeffno")
	})
	_, err := ask(c)
	if e := apiError(t, err); e.Message != "no" {
		t.Errorf("got %q", e.Message)
	}
}

// A response of exactly the maximum size is valid.
func TestClientBounds(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 5000)) })
	c.MaxResponse = 5000
	if got, err := ask(c); len(got) != 5000 || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestClientCanceled(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, "so far")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	n := 0
	for ev, err := range c.Stream(ctx, &llm.Request{Messages: []llm.Message{llm.User("hello")}}) {
		switch n++; {
		case n == 1 && ev != nil:
			cancel(enough)
		case n == 2:
			if e := apiError(t, err); e.Retryable || !errors.Is(err, enough) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v (retryable: %t)", err, e.Retryable)
			}
		default:
			t.Fatalf("event %d: %v, %v", n, ev, err)
		}
	}
}

// The client emits nothing after the request is canceled, not even the end.
func TestClientCanceledAhead(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, "one", "two", "bye") })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for ev, err := range c.Stream(ctx, &llm.Request{Messages: []llm.Message{llm.User("hello")}}) {
		cancel()
		if n++; n == 2 && !errors.Is(err, context.Canceled) || n > 2 {
			t.Errorf("event %d: %v, %v", n, ev, err)
		}
	}
	if n != 2 {
		t.Errorf("got %d events, want one and the error", n)
	}
}

// The same applies to the body of an error response; the error contains what arrived.
func TestClientCanceledInRefusal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(429)
		_, _ = io.WriteString(w, "slow do")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	c.HTTP.Transport = reading{c.HTTP.Transport, cancel}
	_, err := askIn(ctx, c)
	if e := apiError(t, err); e.Retryable || e.Status != 429 || e.Message != "slow do" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v (retryable: %t)", err, e.Retryable)
	}
}

// reading calls what it has once a body has been read from.
type reading struct {
	http.RoundTripper
	read func()
}

func (r reading) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = readBody{resp.Body, r.read}
	}
	return resp, err
}

type readBody struct {
	io.ReadCloser
	read func()
}

func (b readBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read()
	return n, err
}

// A truncated error response is reported and may be retried.
func TestClientCutRefusal(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(429)
		_, _ = io.WriteString(w, "slow do")
	})
	_, err := ask(c)
	if e := apiError(t, err); !e.Retryable || e.Message != "slow do" || !errors.Is(err, protocol.ErrTruncated) {
		t.Errorf("got %v (retryable: %t)", err, e.Retryable)
	}
}

// Stopping the iteration ends the connection.
func TestClientDisconnected(t *testing.T) {
	gone := make(chan struct{})
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, "one", "two", "three")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for ev, err := range c.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hello")}}) {
		if ev == nil || err != nil {
			t.Errorf("got %v, %v", ev, err)
		}
		break
	}
	<-gone
}

func TestClientWithoutRequest(t *testing.T) {
	c := client(t, func(http.ResponseWriter, *http.Request) { t.Error("the server got a request") })
	no := errors.New("no key")
	const noURL = "plain: invalid base URL: use one such as https://api.example.com/v1"
	for _, c := range []struct {
		client protocol.Client
		want   string
	}{
		{protocol.Client{Protocol: plain{}, BaseURL: c.BaseURL, Authorize: func(*http.Request) error { return no }}, "plain: authorizing the request: no key"},
		{protocol.Client{Protocol: plain{}, BaseURL: "http://x:sesame@ h"}, noURL},
		{protocol.Client{Protocol: plain{}, BaseURL: "localhost:8000/v1"}, noURL},
		{protocol.Client{Protocol: plain{}}, noURL},
		{protocol.Client{BaseURL: c.BaseURL}, "protocol: missing Client.Protocol: set it, for example to anthropic.Messages{}"},
	} {
		if _, err := ask(&c.client); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.client.BaseURL, err, c.want)
		}
	}
	for want, req := range map[string]*llm.Request{
		"plain: there are no messages":                 {},
		"plain: missing request: pass an *llm.Request": nil,
	} {
		for _, err := range c.Stream(t.Context(), req) {
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}

// A credential, wherever it was put, comes back in no error.
func TestClientKeepsSecrets(t *testing.T) {
	const key = "sk-sesame-open/+you"
	for name, authorize := range map[string]func(r *http.Request){
		"bearer":       func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) },
		"header":       func(r *http.Request) { r.Header.Set("X-Api-Key", key) },
		"added header": func(r *http.Request) { r.Header.Add("X-Plain", key) },
		"query": func(r *http.Request) {
			q := r.URL.Query()
			q.Set("key", key)
			r.URL.RawQuery = q.Encode()
		},
	} {
		for _, way := range []string{"refusal", "in the stream", "no server", "masked", "cut", "a piece"} {
			c := client(t, func(w http.ResponseWriter, r *http.Request) {
				all, _ := json.Marshal(r.Header)
				quoted := r.URL.String() + " " + r.URL.Query().Get("key") + " " + strings.ReplaceAll(string(all), `\u002f`, "/") + r.Header.Get("Authorization")
				switch way {
				case "refusal":
					w.WriteHeader(401)
					_, _ = io.WriteString(w, "wrong key "+quoted)
				case "masked":
					w.WriteHeader(401)
					_, _ = io.WriteString(w, "wrong key sk-ses****-you.")
				case "a piece":
					w.WriteHeader(401)
					_, _ = io.WriteString(w, "wrong key sk-sesame-op… or sk-s…")
				case "cut":
					stream(w, "so far")
				default:
					stream(w, "error "+quoted)
				}
			})
			c.Authorize = func(r *http.Request) error { authorize(r); return nil }
			if way == "no server" {
				c.HTTP = &http.Client{Transport: broken{}}
			}
			_, err := ask(c)
			text := fmt.Sprintf("%+v", *apiError(t, err))
			for e := err; e != nil; e = errors.Unwrap(e) { // as some logs do
				text += e.Error()
			}
			if strings.Contains(text, "sesame") || strings.Contains(text, "sk-s") {
				t.Errorf("%s, %s: the error shows the key: %s", name, way, text)
			}
		}
	}
}

// broken fails and names the URL.
type broken struct{}

func (broken) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("cannot reach %s with %v", r.URL, r.Header)
}

// The limits also apply to a response that was compressed to a few bytes.
func TestClientGzipBomb(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("the client takes no gzip")
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 1000 {
			_, _ = io.WriteString(z, strings.Repeat("x", 10_000))
		}
		_ = z.Close()
	})
	c.MaxResponse = 50_000
	if _, err := ask(c); !errors.Is(err, protocol.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestClientRetryAfter(t *testing.T) {
	for _, c := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{map[string]string{"Retry-After": "2"}, 2 * time.Second},
		{map[string]string{"Retry-After": "0.5"}, time.Second / 2},
		{map[string]string{"Retry-After": "2", "Retry-After-Ms": "150"}, 150 * time.Millisecond},
		{map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:10 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 10 * time.Second},
		{map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT", "Date": "Wed, 21 Oct 2015 07:28:10 GMT"}, 0},
		{map[string]string{"Retry-After": "soon"}, 0},
		{map[string]string{"Retry-After": "-1"}, 0},
		{map[string]string{"Retry-After": "NaN"}, 0},
		{map[string]string{"Retry-After": "1e300"}, 24 * time.Hour},
		{nil, 0},
	} {
		cl := client(t, func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.Header().Set("X-Request-Id", "req_1")
			w.WriteHeader(503)
		})
		_, err := ask(cl)
		if e := apiError(t, err); e.RetryAfter != c.want || e.RequestID != "req_1" {
			t.Errorf("%v: wait %v, want %v; request %q", c.header, e.RetryAfter, c.want, e.RequestID)
		}
	}
}
