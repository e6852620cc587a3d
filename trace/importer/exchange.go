package importer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// IsHTTP reports whether recordings in a format are of what went over HTTP: they have
// Exchanges.
func (f Format) IsHTTP() bool {
	switch f {
	case FormatCassette, FormatGoVCR1, FormatGoVCR2, FormatHAR, FormatVCRPy, FormatHTTPRR:
		return true
	default:
		return false
	}
}

// Exchange is a request that went over HTTP, with its answer.
type Exchange struct {
	// Number is that of the interaction in the recording, from 1.
	Number  int
	Line    int    // where it begins in the file; 0 if that is not known
	Session string // of the client; may be empty
	// Title is the method and the URL, without its query.
	Title string
	// Protocol is nil if the request was to no model, or in a protocol that is not
	// known: then there is no Request and no Answer.
	Protocol protocol.Protocol
	// Request is nil beside an error.
	Request *llm.Request
	// Answer is nil if it was refused, with a status of 400 or more, or if it cannot be read
	// to its end, which Broken tells.
	Response   *llm.Response
	Incomplete error
}

// Exchanges yields what went over HTTP, in the order of the recording. An error is an
// *Error for the body of a request that cannot be read, beside its Exchange, or for what
// is lost of a recording that was not closed. Of a source whose Format is not IsHTTP
// there are none. Either Exchanges or Runs may be ranged over, once.
func (s *Source) Exchanges() iter.Seq2[Exchange, error] {
	return func(yield func(Exchange, error) bool) {
		if s.http == nil {
			return
		}
		for i, x := range s.http.Interactions {
			e := Exchange{Number: i + 1, Session: x.Session, Title: title(x)}
			if s.http.Lines != nil {
				e.Line = s.http.Lines[i]
			}
			var err error
			if why := e.read(x); why != nil {
				err = &Error{File: s.name, Line: e.Line, Path: "interaction " + strconv.Itoa(e.Number), Err: why}
			}
			if !yield(e, err) {
				return
			}
		}
		if broken, ok := errors.AsType[*cassettes.IncompleteError](s.http.Incomplete); ok && broken.TrailingBytes > 0 {
			yield(Exchange{}, &Error{File: s.name, Err: fmt.Errorf("the recording was not closed; %d bytes at its end are not whole", broken.TrailingBytes)})
		}
	}
}

// openHTTP reads all that went over HTTP.
func (s *Source) openHTTP() error {
	src, err := s.in.all()
	if err != nil {
		return &Error{File: s.name, Err: err}
	}
	s.http, err = convert.Parse(s.name, src)
	if wrong, ok := errors.AsType[*cassettes.FormatError](err); ok {
		return &Error{File: s.name, Line: wrong.Line, Err: wrong.Err}
	}
	s.Format = Format(cmp.Or(string(s.http.Format), s.http.Metadata.Recorder)) // what is not written is named by who wrote it
	return nil
}

// title tells of a request without its query, which may hold a key.
func title(x *cassettes.Interaction) string {
	to, _, _ := strings.Cut(x.Request.URL, "?")
	return x.Request.Method + " " + to
}

// read reads the request and its answer, if they are a model's.
func (e *Exchange) read(x *cassettes.Interaction) error {
	p, path := ProtocolOf(x.Request.URL)
	body := cassettes.Decompress(x.Request.Header, x.Request.Body)
	if p == nil || !asks(p, x.Request.Method, body) {
		return nil
	}
	e.Protocol = p
	req, err := p.DecodeRequest(path, body)
	if err != nil {
		return err
	}
	e.Request = req
	client := &protocol.Client{Protocol: p, BaseURL: "http://recorded.invalid", HTTP: &http.Client{Transport: (*recorded)(&x.Response)}}
	turn, err := llm.Collect(client.Stream(context.Background(), req))
	if err == nil {
		e.Response = turn
	} else if x.Response.Status < http.StatusBadRequest {
		e.Incomplete = err
	}
	return nil
}

// recorded answers any request with a recorded response.
type recorded cassettes.Response

// RoundTrip implements http.RoundTripper.
func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.Termination != "" {
		return nil, errors.New("the answer has no end")
	}
	return &http.Response{
		StatusCode: r.Status, Header: r.Header, Request: req,
		Body: io.NopCloser(bytes.NewReader(cassettes.Decompress(r.Header, r.Body))),
	}, nil
}

// exchanges gives each request with its answer as a run.
func (w *walker) exchanges() {
	for e, err := range w.Exchanges() {
		switch {
		case err != nil:
			w.give(Run{}, err)
		case e.Request != nil:
			w.give(e.run(), nil)
		}
		if w.stopped {
			return
		}
	}
}

// run is the conversation of an exchange. Beside it stand the model that was asked, the
// tools that it was offered, and of the answer its id and its finish reason.
func (e *Exchange) run() Run {
	r := Run{Name: "interaction-" + strconv.Itoa(e.Number), Line: e.Line, Epoch: NoEpoch}
	if e.Request.System != "" {
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: e.Request.System}}})
	}
	r.Messages = append(r.Messages, e.Request.Messages...)
	r.Meta = map[string]json.RawMessage{}
	if e.Response != nil {
		r.Messages = append(r.Messages, e.Response.Message())
		r.Meta["finish_reason"] = jsonio.AppendString(nil, string(e.Response.FinishReason))
		r.Meta["response_id"] = jsonio.AppendString(nil, e.Response.ResponseID)
	}
	for name, raw := range membersOf(e.Request.AppendJSON(nil)) {
		if name == "model" || name == "tools" {
			r.Meta[name] = raw
		}
	}
	return r
}
