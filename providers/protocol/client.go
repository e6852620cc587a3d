package protocol

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/looptape/looptape/internal/responsehook"
	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
)

// Client is an [llm.Model] over HTTP. It sends each request once, because the loop retries and
// records it. It follows no redirect, which would send the credential elsewhere. It is safe for
// concurrent use. Do not change its fields after the first call.
type Client struct {
	Protocol Protocol
	// BaseURL precedes the paths of the protocol, for example https://api.openai.com/v1. Each
	// request has its query, such as ?api-version=2024-10-21 of Azure. Put credentials into
	// Authorize.
	BaseURL string
	// HTTP sends the requests; nil means [http.DefaultClient]. Its CheckRedirect is ignored.
	HTTP *http.Client
	// Authorize adds a credential to a request: a key, a token, a signature. nil adds none.
	// Errors do not contain the values of six or more bytes that it adds to headers and the
	// query, nor a password in BaseURL.
	Authorize func(req *http.Request) error
	// Header is sent with each request. Errors do not contain the values of Authorization,
	// X-Api-Key, Api-Key and X-Goog-Api-Key.
	Header http.Header
	// MaxEvent and MaxResponse limit the bytes of one event of a stream and of a whole response
	// after decompression. 0 means [DefaultMaxEvent] and [DefaultMaxResponse].
	MaxEvent, MaxResponse int
}

// Default limits of a [Client].
const (
	DefaultMaxEvent    = 32 << 20
	DefaultMaxResponse = 256 << 20
)

const maxError = 64 << 10

var (
	// ErrTruncated is the error of a response that ends before it is complete.
	ErrTruncated = errors.New("the response was truncated")
	// ErrTooLarge is the error of a response that exceeds the limits of the [Client].
	ErrTooLarge = errors.New("the response is too large")
)

// Provider returns the name of the protocol.
func (c *Client) Provider() string { return c.Protocol.Name() }

// Model returns the model with this id. The id is that of each request without one, and package
// loop uses it as the default of Config.Model. The method value of a client is a function from ids
// to models.
func (c *Client) Model(id string) llm.Model { return namedModel{c, id} }

type namedModel struct {
	*Client
	id string
}

// ModelID returns the id of the model.
func (m namedModel) ModelID() string { return m.id }

// Stream implements [llm.Model].
func (m namedModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if req != nil && req.Model == "" {
		named := *req
		named.Model, req = m.id, &named
	}
	return m.Client.Stream(ctx, req)
}

// Stream implements [llm.Model]. Each error of the provider or network is an [*llm.APIError].
// errors.Is finds the cause of a connection error. The cause cannot be unwrapped, because it
// may contain the credential.
func (c *Client) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends the connection if the iteration stops
		a := &exchange{client: c, yield: yield, hangUp: cancel}
		if err := a.get(ctx, req); err != nil && !a.stopped {
			yield(nil, err)
		}
	}
}

type exchange struct {
	client  *Client
	yield   func(llm.Event, error) bool
	stopped bool
	hangUp  context.CancelFunc // ends the connection
	secrets []string           // as they were sent; see representations
}

func (a *exchange) emit(ev llm.Event) {
	if !a.stopped {
		a.stopped = !a.yield(ev, nil)
	}
}

func (a *exchange) get(ctx context.Context, req *llm.Request) error {
	hr, err := a.request(ctx, req)
	if err != nil {
		return err
	}
	client := http.Client{}
	if a.client.HTTP != nil {
		client = *a.client.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(hr)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // the URL may hold a key
		}
		return a.connectionError(ctx, 0, err)
	}
	defer func() { _ = resp.Body.Close() }()
	responsehook.Call(ctx, resp.StatusCode)
	body := &limitedReader{from: resp.Body, left: cmp.Or(max(a.client.MaxResponse, 0), DefaultMaxResponse)}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return a.statusError(ctx, resp, body)
	}
	err = a.read(ctx, resp.Header.Get("Content-Type"), body)
	if err == nil || a.stopped {
		return nil
	}
	if failure, ok := errors.AsType[*llm.APIError](err); ok {
		return a.complete(resp, failure)
	}
	return a.connectionError(ctx, resp.StatusCode, err)
}

func (a *exchange) read(ctx context.Context, contentType string, body io.Reader) error {
	if kind, _, _ := mime.ParseMediaType(contentType); kind == "text/event-stream" {
		return a.stream(ctx, body)
	}
	peeked := bufio.NewReader(body)
	if beginsStream(peeked) {
		return a.stream(ctx, peeked)
	}
	data, err := readAll(peeked) // some servers send one for a streaming request
	if err != nil {
		return err
	}
	return a.client.Protocol.DecodeResponse(data, a.emit)
}

func (a *exchange) request(ctx context.Context, req *llm.Request) (*http.Request, error) {
	c := a.client
	if c.Protocol == nil {
		return nil, errors.New("protocol: missing Client.Protocol: set it, for example to anthropic.Messages{}")
	}
	name := c.Protocol.Name()
	if req == nil {
		return nil, fmt.Errorf("%s: missing request: pass an *llm.Request", name)
	}
	r, err := c.Protocol.EncodeRequest(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, target(c.BaseURL, r), bytes.NewReader(r.Body))
	if err != nil || hr.URL.Host == "" { // the URL may hold a password
		return nil, fmt.Errorf("%s: invalid base URL: use one such as https://api.example.com/v1", name)
	}
	maps.Copy(hr.Header, r.Header.Clone()) // an authorizer may add to the values
	maps.Copy(hr.Header, c.Header.Clone())
	hr.Header.Set("Content-Type", "application/json")
	header, query := hr.Header, hr.URL.RawQuery
	if c.Authorize != nil {
		header = header.Clone()
		if err := c.Authorize(hr); err != nil {
			return nil, fmt.Errorf("%s: authorizing the request: %w", name, err)
		}
	}
	a.secrets = added(header, query, hr)
	return hr, nil
}

// target returns the URL of a request. The query of the base URL comes first.
func target(base string, r *Request) string {
	base, query, _ := strings.Cut(base, "?")
	to := strings.TrimSuffix(base, "/") + r.Path
	if query = strings.Trim(query+"&"+r.Query, "&"); query != "" {
		to += "?" + query
	}
	return to
}

// stream reads server-sent events. It emits nothing after the request is canceled.
func (a *exchange) stream(ctx context.Context, body io.Reader) error {
	events := sse.NewReader(body, cmp.Or(max(a.client.MaxEvent, 0), DefaultMaxEvent))
	defer events.Release()
	dec, emit := a.client.Protocol.NewDecoder(), a.emit
	for !a.stopped {
		ev, err := events.Next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			err := dec.End(emit)
			other := bytes.TrimSpace(events.OtherLines())
			if object := bytes.TrimLeft(other, "[ \t\r\n"); err != nil && bytes.HasPrefix(object, []byte("{")) {
				return a.client.Protocol.DecodeError(http.StatusOK, nil, other) // bare, outside any event (quirk QG-12)
			}
			return err
		case errors.Is(err, sse.ErrTooLong):
			return fmt.Errorf("%w: %w, the limit Client.MaxEvent", ErrTooLarge, err)
		case err != nil:
			return err
		}
		if done, err := dec.Event(ev.Name, ev.Data, emit); err != nil {
			return err
		} else if done {
			err := dec.End(emit)
			a.drain(body)
			return err
		}
	}
	return nil
}

const (
	// linger limits the time that the end of a response takes after its last event.
	linger = 50 * time.Millisecond
	// maxRest limits the bytes after the last event.
	maxRest = 64 << 10
)

// drain reads the end of a response, so that the connection can be reused. It closes
// connections that a server leaves open.
func (a *exchange) drain(body io.Reader) {
	late := time.AfterFunc(linger, a.hangUp) //nolint:forbidigo // the response does not depend on it
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, maxRest) // the response is complete
}

// readAll reads a body without its byte order mark.
func readAll(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(body)
	return bytes.TrimPrefix(data, []byte(byteOrderMark)), err
}

func (a *exchange) statusError(ctx context.Context, resp *http.Response, body io.Reader) error {
	data, err := readAll(io.LimitReader(body, maxError))
	e := a.client.Protocol.DecodeError(resp.StatusCode, resp.Header, data)
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		e.Message = "a redirect, which is not followed: set the base URL to its target"
	}
	out := a.complete(resp, e)
	if err != nil {
		out.Err = a.connectionError(ctx, resp.StatusCode, err).Err
		out.Retryable = out.Retryable && ctx.Err() == nil
	}
	return out
}

func (a *exchange) complete(resp *http.Response, e *llm.APIError) *llm.APIError {
	out, h := *e, resp.Header
	out.Provider = a.client.Protocol.Name()
	out.Status = cmp.Or(out.Status, resp.StatusCode)
	out.RetryAfter = cmp.Or(out.RetryAfter, retryAfter(h))
	out.RequestID = cmp.Or(out.RequestID, h.Get("X-Request-Id"), h.Get("Request-Id"), h.Get("X-Amzn-Requestid"), h.Get("Apim-Request-Id"))
	switch h.Get("X-Should-Retry") { // of OpenAI and Anthropic
	case "true":
		out.Retryable = true
	case "false":
		out.Retryable = false
	}
	out.Message, out.Code, out.RequestID = a.redact(out.Message), a.redact(out.Code), a.redact(out.RequestID)
	return &out
}

// connectionError returns the error of an incomplete response.
func (a *exchange) connectionError(ctx context.Context, status int, err error) *llm.APIError {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	for _, why := range []error{context.Cause(ctx), ctx.Err()} {
		if why != nil && !errors.Is(err, why) {
			err = fmt.Errorf("%w: %w", why, err)
		}
	}
	return &llm.APIError{
		Provider: a.client.Protocol.Name(), Status: status, Err: &redacted{err, a.redact(err.Error())},
		Retryable: ctx.Err() == nil && !errors.Is(err, ErrTooLarge),
	}
}

type limitedReader struct {
	from io.Reader
	left int
}

func (b *limitedReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		return 0, fmt.Errorf("%w: more bytes than Client.MaxResponse", ErrTooLarge)
	}
	b.left -= n
	return n, err
}
