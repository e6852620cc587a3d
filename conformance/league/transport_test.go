package league

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
)

// Base URLs of the transport.
const (
	openAIURL = "http://looptape.invalid/v1"
	geminiURL = "http://looptape.invalid"
)

// transport is an [http.RoundTripper] that lets an [llm.Model] answer requests of Chat Completions and of Gemini. As
// with [http.Transport], a streaming response comes as the model sends it, and the end of the context ends the wait
// for a response and the reading of its body.
//
// A response that the protocol cannot represent is a failed model call with status 501.
type transport struct{ model llm.Model }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a := &answer{ctx: ctx, codec: gemini.GenerateContent{}, status: http.StatusOK, begun: make(chan struct{}), changed: make(chan struct{})}
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		a.codec = chat.Protocol{}
	}
	go func() { a.end(a.play(t.model, strings.TrimPrefix(r.URL.Path, "/v1beta"), body)) }()
	select {
	case <-a.begun:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.out.Len() == 0 && a.err != nil {
		return nil, a.err
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {a.contentType}}, Body: io.NopCloser(a), ContentLength: -1, Request: r,
	}, nil
}

// answer is a response and its body.
type answer struct {
	ctx   context.Context
	codec protocol.Protocol

	mu          sync.Mutex
	status      int
	contentType string
	out         bytes.Buffer
	err         error         // after out; nil if more may come
	begun       chan struct{} // closed by the first write, or the end
	isBegun     bool
	changed     chan struct{} // closed and replaced by each change
}

// Read implements [io.Reader] for the body.
func (a *answer) Read(p []byte) (int, error) {
	for {
		a.mu.Lock()
		n, err, changed := 0, a.err, a.changed
		if a.out.Len() > 0 {
			n, err = a.out.Read(p)
		}
		a.mu.Unlock()
		if ended := a.ctx.Err(); ended != nil {
			return 0, ended
		}
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-changed:
		case <-a.ctx.Done():
		}
	}
}

func (a *answer) write(contentType string, data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.contentType = contentType
	a.out.Write(data)
	a.notify()
}

func (a *answer) notify() {
	if !a.isBegun {
		a.isBegun = true
		close(a.begun)
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

// end ends the response. An error with a status before the first write is an error response.
func (a *answer) end(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := errors.AsType[*llm.APIError](err)
	switch {
	case err == nil:
		err = io.EOF
	case ok && e.Err == nil && !a.isBegun:
		a.status, a.contentType, err = e.Status, "application/json", io.EOF
		a.out.Write(a.codec.EncodeError(e))
	case ok && e.Err == nil:
		if a.codec.Name() == "openai-chat" {
			a.out.WriteString("data: ") // Google's SDK expects the error alone
		}
		a.out.Write(append(a.codec.EncodeError(e), "\n\n"...))
		err = io.EOF
	case ok && errors.Is(e.Err, io.ErrUnexpectedEOF):
		err = io.ErrUnexpectedEOF
	case ok:
		err = syscall.ECONNRESET
	}
	a.err = err
	a.notify()
}

// play lets the model answer a request.
func (a *answer) play(model llm.Model, path string, body []byte) error {
	req, err := a.codec.DecodeRequest(path, body)
	if err != nil {
		return &llm.APIError{Status: http.StatusBadRequest, Message: err.Error()}
	}
	meta := protocol.ResponseMeta{ID: "response-1", Model: req.Model, Created: 1}
	var events []llm.Event
	var whole []byte
	enc := a.codec.NewEncoder(meta)
	write := func(_ string, data []byte) { a.write("text/event-stream", fmt.Appendf(nil, "data: %s\n\n", data)) }
	for ev, err := range model.Stream(a.ctx, req) {
		if err != nil {
			return err
		}
		events = append(events, ev)
		// The check comes before the model has ended: a model call that is stopped has failed.
		if err := a.check(events); err != nil {
			return err
		}
		if req.ResponseMode == llm.Streaming {
			if err := enc.Event(ev, write); err != nil {
				return unrepresentable(err)
			}
		} else if _, is := ev.(llm.Finish); is {
			if whole, err = a.codec.EncodeResponse(nil, meta, collect(events)); err != nil {
				return unrepresentable(err)
			}
		}
	}
	if req.ResponseMode == llm.Streaming {
		return enc.End(write)
	}
	if whole == nil {
		whole, err = a.codec.EncodeResponse(nil, meta, collect(events))
	}
	if err == nil {
		a.write("application/json", whole)
	}
	return err
}

// unrepresentable is the error of a response that the protocol cannot represent.
func unrepresentable(err error) error {
	return &llm.APIError{Status: http.StatusNotImplemented, Message: err.Error()}
}

func collect(events []llm.Event) *llm.Response {
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	return acc.Response()
}

// check returns an error for a call of Gemini whose arguments are no object.
func (a *answer) check(events []llm.Event) error {
	if a.codec.Name() != "gemini" {
		return nil
	}
	_, begins := events[len(events)-1].(llm.ToolCallDelta)
	for _, c := range collect(events).Calls() {
		valid := json.Unmarshal([]byte(c.Arguments), &map[string]any{}) == nil
		if c.Arguments != "" && !valid && !(begins && strings.HasPrefix(c.Arguments, "{")) {
			return unrepresentable(fmt.Errorf("the arguments %s are no object", c.Arguments))
		}
	}
	return nil
}
