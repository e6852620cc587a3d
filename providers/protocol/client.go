package protocol

import (
	"bufio"
	"bytes"
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

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
)

// Client is an llm.Model over HTTP. Retrying is the loop's, so that it shows in
// the trace: a Client sends each request once, and follows no redirect, which
// would take the credential along. It is safe for use by many goroutines; its
// fields are not to be changed once it is in use.
type Client struct {
	Protocol Protocol
	// BaseURL is what stands before the paths of the protocol, such as
	// https://api.openai.com/v1. A query behind it goes with each request, such as
	// Azure's ?api-version=2024-10-21; a credential belongs into Authorize.
	BaseURL string
	// HTTP sends the requests; nil is http.DefaultClient. Its CheckRedirect is not
	// used.
	HTTP *http.Client
	// Authorize adds the credential to a request: a key, a bearer token, a
	// signature. nil adds none. The values of six bytes and more that it adds, in
	// headers and the query, are kept out of every error, and so is a password of
	// the BaseURL; shorter ones would make gaps in any text.
	Authorize func(req *http.Request) error
	// Header is sent with each request. Authorization, X-Api-Key, Api-Key and
	// X-Goog-Api-Key in it, in any case, are kept out of every error as those of
	// Authorize are; others are not.
	Header http.Header
	// MaxEvent and MaxResponse bound the bytes of one event of a stream and of a
	// whole answer, both after decompression. 0 is DefaultMaxEvent and
	// DefaultMaxResponse.
	MaxEvent, MaxResponse int
}

// The bounds of a Client that sets none.
const (
	DefaultMaxEvent    = 32 << 20
	DefaultMaxResponse = 256 << 20
)

// maxError is how much of an error's body is read.
const maxError = 64 << 10

var (
	// ErrTruncated is the error of an answer that ends before it is complete.
	ErrTruncated = errors.New("the answer broke off before its end")
	// ErrTooLarge is the error of an answer beyond the bounds of the Client.
	ErrTooLarge = errors.New("the answer is too large")
)

// Stream implements llm.Model. Each error that a provider or the network caused
// is an *llm.APIError. What broke a connection can be asked with errors.Is, but not
// unwrapped, since it may hold the credential.
func (c *Client) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // so that leaving early ends the connection
		a := &answer{client: c, yield: yield, hangUp: cancel}
		if err := a.get(ctx, req); err != nil && !a.left {
			yield(nil, err)
		}
	}
}

// answer is one answer on its way.
type answer struct {
	client  *Client
	yield   func(llm.Event, error) bool
	left    bool
	hangUp  context.CancelFunc // ends the connection
	secrets []string           // as they were sent; see spelled
}

func (a *answer) emit(ev llm.Event) {
	if !a.left {
		a.left = !a.yield(ev, nil)
	}
}

func (a *answer) get(ctx context.Context, req *llm.Request) error {
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
		return a.broken(ctx, 0, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body := &bounded{from: resp.Body, left: orDefault(a.client.MaxResponse, DefaultMaxResponse)}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return a.refusal(ctx, resp, body)
	}
	err = a.read(ctx, resp.Header.Get("Content-Type"), body)
	if err == nil || a.left {
		return nil
	}
	if told, ok := errors.AsType[*llm.APIError](err); ok {
		return a.told(resp, told)
	}
	return a.broken(ctx, resp.StatusCode, err)
}

// read reads the answer of a success.
func (a *answer) read(ctx context.Context, contentType string, body io.Reader) error {
	if kind, _, _ := mime.ParseMediaType(contentType); kind == "text/event-stream" {
		return a.streamed(ctx, body)
	}
	peeked := bufio.NewReader(body)
	if beginsStream(peeked) {
		return a.streamed(ctx, peeked)
	}
	return a.buffered(peeked)
}

// request makes the HTTP request, and takes note of the credential in it.
func (a *answer) request(ctx context.Context, req *llm.Request) (*http.Request, error) {
	c := a.client
	if c.Protocol == nil {
		return nil, errors.New("the client has no protocol; set Client.Protocol, to anthropic.Messages{} for instance")
	}
	name := c.Protocol.Name()
	if req == nil {
		return nil, fmt.Errorf("%s: there is no request; pass an *llm.Request", name)
	}
	r, err := c.Protocol.EncodeRequest(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, target(c.BaseURL, r), bytes.NewReader(r.Body))
	if err != nil || hr.URL.Host == "" { // the URL may hold a password
		return nil, fmt.Errorf("%s: the base URL cannot be used; it has to be one such as https://api.example.com/v1", name)
	}
	maps.Copy(hr.Header, r.Header.Clone()) // an authorizer may add to the values
	maps.Copy(hr.Header, c.Header.Clone())
	hr.Header.Set("Content-Type", "application/json")
	header, query := hr.Header.Clone(), hr.URL.RawQuery
	if c.Authorize != nil {
		if err := c.Authorize(hr); err != nil {
			return nil, fmt.Errorf("%s: authorizing the request: %w", name, err)
		}
	}
	a.secrets = added(header, query, hr)
	return hr, nil
}

// target is the URL of a request: what the base URL has as a query comes first.
func target(base string, r *Request) string {
	base, query, _ := strings.Cut(base, "?")
	to := strings.TrimSuffix(base, "/") + r.Path
	if query = strings.Trim(query+"&"+r.Query, "&"); query != "" {
		to += "?" + query
	}
	return to
}

// streamed reads an answer that comes as server-sent events. What was read ahead is not
// told once the request is cancelled.
func (a *answer) streamed(ctx context.Context, body io.Reader) error {
	events := sse.NewReader(body, orDefault(a.client.MaxEvent, DefaultMaxEvent))
	dec := a.client.Protocol.NewDecoder()
	for !a.left {
		ev, err := events.Next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			err := dec.End(a.emit)
			stray := bytes.TrimSpace(events.Stray())
			if object := bytes.TrimLeft(stray, "[ \t\r\n"); err != nil && bytes.HasPrefix(object, []byte("{")) {
				return a.client.Protocol.DecodeError(http.StatusOK, nil, stray) // bare, outside any event (quirk QG-12)
			}
			return err
		case errors.Is(err, sse.ErrTooLong):
			return fmt.Errorf("%w: %w, the bound of Client.MaxEvent", ErrTooLarge, err)
		case err != nil:
			return err
		}
		if done, err := dec.Event(ev.Name, ev.Data, a.emit); err != nil {
			return err
		} else if done {
			err := dec.End(a.emit)
			a.drain(body)
			return err
		}
	}
	return nil
}

const (
	// linger is how long the end of an answer may take behind the mark that ends it.
	linger = 50 * time.Millisecond
	// maxRest is how much may stand behind the mark.
	maxRest = 64 << 10
)

// drain reads the end of an answer behind its mark, so that the connection can be used
// again. Some servers leave it open: it is closed after a short time.
func (a *answer) drain(body io.Reader) {
	late := time.AfterFunc(linger, a.hangUp) //nolint:forbidigo // nothing that was said depends on it
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, maxRest) // the answer is whole
}

// buffered reads an answer that comes in one piece, also where a stream was asked
// for: some servers know none.
func (a *answer) buffered(body io.Reader) error {
	data, err := readAll(body)
	if err != nil {
		return err
	}
	return a.client.Protocol.DecodeResponse(data, a.emit)
}

// readAll reads what there is of a body, without the mark that may stand before its text.
func readAll(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(body)
	return bytes.TrimPrefix(data, []byte(byteOrderMark)), err
}

// refusal is the error of a status that is none of success.
func (a *answer) refusal(ctx context.Context, resp *http.Response, body io.Reader) error {
	data, err := readAll(io.LimitReader(body, maxError))
	e := a.client.Protocol.DecodeError(resp.StatusCode, resp.Header, data)
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		e.Message = "a redirect, which is not followed; set the base URL to where it leads"
	}
	out := a.told(resp, e)
	if err != nil {
		out.Err = a.broken(ctx, resp.StatusCode, err).Err
		out.Retryable = out.Retryable && ctx.Err() == nil
	}
	return out
}

// told completes an error that the provider told.
func (a *answer) told(resp *http.Response, e *llm.APIError) *llm.APIError {
	out := *e
	out.Provider = a.client.Protocol.Name()
	if out.Status == 0 {
		out.Status = resp.StatusCode
	}
	if out.RetryAfter == 0 {
		out.RetryAfter = retryAfter(resp.Header)
	}
	if out.RequestID == "" {
		out.RequestID = requestID(resp.Header)
	}
	switch resp.Header.Get("X-Should-Retry") { // of OpenAI and Anthropic
	case "true":
		out.Retryable = true
	case "false":
		out.Retryable = false
	}
	out.Message, out.Code, out.RequestID = a.redact(out.Message), a.redact(out.Code), a.redact(out.RequestID)
	return &out
}

// broken is the error of an answer that did not come whole.
func (a *answer) broken(ctx context.Context, status int, err error) *llm.APIError {
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

// bounded reads so many bytes, and then fails.
type bounded struct {
	from io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		return 0, fmt.Errorf("%w: it has more bytes than Client.MaxAnswer", ErrTooLarge)
	}
	b.left -= n
	return n, err
}

func orDefault(n, standard int) int {
	if n <= 0 {
		return standard
	}
	return n
}
