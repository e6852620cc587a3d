package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// roundTripper is the gate of streamable HTTP. A response that is too long, not JSON-RPC or cut
// becomes an error response to its request, so that other requests of the session continue.
type roundTripper struct {
	base http.RoundTripper
	gate *gate
	end  <-chan struct{}                 // of the session
	wait func(ctx context.Context) error // returns nil after the grace period
}

// RoundTrip implements [http.RoundTripper].
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	call, err := t.sent(req)
	if err != nil {
		return nil, err
	}
	var resp *http.Response
	switch {
	case call == nil && req.Method == http.MethodPost || req.Method == http.MethodDelete: // no call waits for it
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		go func() {
			select {
			case <-t.end:
				_ = t.wait(ctx)
			case <-ctx.Done():
			}
			cancel()
		}()
		resp, err = t.base.RoundTrip(req.WithContext(ctx))
	case req.Method == http.MethodGet && req.Header.Get("Last-Event-Id") == "":
		resp, err = t.listen(req)
	default:
		resp, err = t.base.RoundTrip(req)
	}
	if err != nil {
		return nil, err
	}
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	if req.Header.Get("Mcp-Session-Id") != "" && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest) {
		t.gate.fail(errors.New("the server does not know the session")) // many servers have 400 for it
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if ok && kind == "text/event-stream" && (call != nil || req.Method == http.MethodGet) {
		resp.Body = &events{body: resp.Body, lines: bufio.NewReader(resp.Body), gate: t.gate, call: call}
		return resp, nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(t.gate.limit)+1))
	_ = resp.Body.Close()
	if call != nil && ok {
		if err == nil && kind != "application/json" {
			err = fmt.Errorf("the response has the content type %q: want application/json or text/event-stream", kind)
		}
		resp.Header.Set("Content-Type", "application/json")
		data = t.gate.response(call, data, err)
	}
	resp.Header.Del("Content-Length")
	resp.ContentLength = int64(len(data))
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// listen sends the request for the stream of notifications. Connecting would wait for a server that
// does not answer it, so it becomes one that has no such stream.
func (t *roundTripper) listen(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	answered, done := context.WithCancel(ctx)
	late := make(chan bool)
	go func() {
		is := t.wait(answered) == nil
		if is {
			cancel()
		}
		late <- is
	}()
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	done()
	switch is := <-late; {
	case is && err != nil:
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Body: http.NoBody, Request: req}, nil //nolint:nilerr // it was canceled above
	case err != nil:
		cancel()
		return nil, err
	}
	resp.Body = &closing{resp.Body, cancel}
	return resp, nil
}

// closing is a body that calls a function when it is closed.
type closing struct {
	io.ReadCloser
	close func()
}

func (c *closing) Close() error {
	defer c.close()
	return c.ReadCloser.Close()
}

// sent passes the message of a request to the gate. It returns the message if it needs a response.
func (t *roundTripper) sent(req *http.Request) (*jsonrpc.Request, error) {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return nil, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, err
	}
	t.gate.sent(req.Context(), msg)
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
		return call, nil
	}
	return nil, nil
}

// response returns the JSON of the response to a call.
func (g *gate) response(call *jsonrpc.Request, data []byte, err error) []byte {
	if err == nil && len(data) > g.limit {
		err = g.tooLong()
	}
	var msg jsonrpc.Message
	if err == nil {
		if msg, err = decode(data); err != nil {
			err = fmt.Errorf("the response is not a JSON-RPC message: %w: %.200q", err, data)
		} else if resp, ok := msg.(*jsonrpc.Response); !ok || resp.ID != call.ID {
			err = fmt.Errorf("the response is not that of its request: %.200q", data)
		}
	}
	if err == nil {
		msg, err = g.received(msg)
	}
	if err == nil {
		data, err = jsonrpc.EncodeMessage(msg)
	}
	if err != nil {
		data, _ = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: call.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}})
	}
	return data
}

func (g *gate) tooLong() error {
	return fmt.Errorf("the server sent a message of more than %d bytes (Config.MaxMessage)", g.limit)
}

// events is a stream of server-sent events without those that the gate discards. It ends after the
// response to its call. Ids and retry times stay, because a client continues a stream with them.
type events struct {
	body  io.ReadCloser
	lines *bufio.Reader
	gate  *gate
	call  *jsonrpc.Request // nil for a stream without one
	out   []byte
	err   error // after out
}

// Close implements [io.Closer].
func (e *events) Close() error { return e.body.Close() }

// Read implements [io.Reader].
func (e *events) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		if err := e.next(); err != nil {
			e.end(err)
		}
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}

// end ends the stream. A call gets an error response if the server is to blame.
func (e *events) end(err error) {
	if e.err = err; e.call != nil && errors.As(err, new(*invalidError)) {
		e.out, e.err = append(e.out, event(e.gate.response(e.call, nil, err))...), io.EOF
	}
}

// invalidError is an event that no server may send.
type invalidError struct{ error }

func event(data []byte) string { return "data: " + string(data) + "\n\n" }

// next reads an event into out.
func (e *events) next() error {
	var head, data, name []byte
	for size, some := 0, false; ; {
		line, err := readLine(e.lines, e.gate.limit-size)
		if errors.Is(err, errLineTooLong) {
			return &invalidError{e.gate.tooLong()}
		}
		if err != nil {
			return err // an event without an end is none
		}
		size += len(line)
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		switch string(field) {
		case "data":
			data, some = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n'), true
		case "event":
			name = bytes.TrimSpace(value)
		case "id", "retry":
			head = append(append(head, line...), '\n')
		}
		if len(line) > 0 {
			continue
		}
		if some || len(head) > 0 {
			break
		}
		size = 0
	}
	if len(head) > 0 {
		e.out = append(head, '\n')
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || len(name) > 0 && string(name) != "message" {
		return nil
	}
	msg, err := decode(data)
	if err != nil {
		return &invalidError{fmt.Errorf("the server sent an event that is not a JSON-RPC message: %w: %.200q", err, data)}
	}
	if msg, err = e.gate.received(msg); err != nil {
		return &invalidError{err}
	}
	if msg == nil {
		return nil
	}
	if data, err = jsonrpc.EncodeMessage(msg); err != nil {
		return &invalidError{err}
	}
	e.out = append(e.out, event(data)...)
	if resp, ok := msg.(*jsonrpc.Response); ok && e.call != nil && resp.ID == e.call.ID {
		return io.EOF
	}
	return nil
}
